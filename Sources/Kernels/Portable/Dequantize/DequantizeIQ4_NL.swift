import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeIQ4_NL(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockIQ4_NL.values) {
        let block = BlockIQ4_NL(source + i * BlockIQ4_NL.bytes)
        let out = destination + i * BlockIQ4_NL.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<16 {
            out[j] = d * Float(iq4Levels[Int(qs[j] & 15)])
            out[16 + j] = d * Float(iq4Levels[Int(qs[j] >> 4)])
        }
    }
}
