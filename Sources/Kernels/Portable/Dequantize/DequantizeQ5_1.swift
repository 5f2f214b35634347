import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeQ5_1(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ5_1.values) {
        let block = BlockQ5_1(source + i * BlockQ5_1.bytes)
        let out = destination + i * BlockQ5_1.values
        let (d, m, qh, qs) = (block.d, block.m, block.qh, block.qs)
        for j in 0..<16 {
            let shift = UInt32(truncatingIfNeeded: j)
            let (low, high) = ((qh &>> shift) & 1, (qh &>> (shift &+ 16)) & 1)
            out[j] = d * Float(UInt32(qs[j] & 15) | (low << 4)) + m
            out[16 + j] = d * Float(UInt32(qs[j] >> 4) | (high << 4)) + m
        }
    }
}
