import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeQ5_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ5_0.values) {
        let block = BlockQ5_0(source + i * BlockQ5_0.bytes)
        let out = destination + i * BlockQ5_0.values
        let (d, qh, qs) = (block.d, block.qh, block.qs)
        for j in 0..<16 {
            let shift = UInt32(truncatingIfNeeded: j)
            let (low, high) = ((qh &>> shift) & 1, (qh &>> (shift &+ 16)) & 1)
            out[j] = d * Float(Int32(qs[j] & 15) + Int32(low << 4) - 16)
            out[16 + j] = d * Float(Int32(qs[j] >> 4) + Int32(high << 4) - 16)
        }
    }
}
