import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ4_XS(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockIQ4_XS.values) {
        let block = BlockIQ4_XS(source + i * BlockIQ4_XS.bytes)
        let out = destination + i * BlockIQ4_XS.values
        let d = block.d
        for group in 0..<8 {  // of 32 values
            let (scale, qs) = (d * Float(block.scale(group)), block.qs + 16 * group)
            for j in 0..<16 {
                out[32 * group + j] = scale * Float(iq4Levels[Int(qs[j] & 15)])
                out[32 * group + 16 + j] = scale * Float(iq4Levels[Int(qs[j] >> 4)])
            }
        }
    }
}
