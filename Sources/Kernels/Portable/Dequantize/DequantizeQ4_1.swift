import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeQ4_1(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ4_1.values) {
        let block = BlockQ4_1(source + i * BlockQ4_1.bytes)
        let out = destination + i * BlockQ4_1.values
        let (d, m, qs) = (block.d, block.m, block.qs)
        for j in 0..<16 {
            out[j] = d * Float(qs[j] & 15) + m
            out[16 + j] = d * Float(qs[j] >> 4) + m
        }
    }
}
