import KernelFormats

/// - Precondition: `count` is a multiple of 128.
public func dequantizeQ1_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ1_0.values) {
        let block = BlockQ1_0(source + i * BlockQ1_0.bytes)
        let out = destination + i * BlockQ1_0.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<BlockQ1_0.values {
            let bit = (qs[j >> 3] &>> UInt8(truncatingIfNeeded: j & 7)) & 1
            out[j] = bit == 1 ? d : -d
        }
    }
}
