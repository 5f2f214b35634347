import KernelFormats

/// - Precondition: `count` is a multiple of 64.
public func dequantizeQ2_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ2_0.values) {
        let block = BlockQ2_0(source + i * BlockQ2_0.bytes)
        let out = destination + i * BlockQ2_0.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<BlockQ2_0.values {
            let q = (qs[j >> 2] &>> UInt8(truncatingIfNeeded: 2 * (j & 3))) & 3
            out[j] = d * Float(Int32(q) - 1)
        }
    }
}
