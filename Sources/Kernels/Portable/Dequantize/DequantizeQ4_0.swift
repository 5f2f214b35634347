import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeQ4_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ4_0.values) {
        let block = BlockQ4_0(source + i * BlockQ4_0.bytes)
        let out = destination + i * BlockQ4_0.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<16 {
            out[j] = d * Float(Int32(qs[j] & 15) - 8)
            out[16 + j] = d * Float(Int32(qs[j] >> 4) - 8)
        }
    }
}
