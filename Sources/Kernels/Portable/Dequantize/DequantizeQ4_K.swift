import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeQ4_K(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ4_K.values) {
        let block = BlockQ4_K(source + i * BlockQ4_K.bytes)
        let out = destination + i * BlockQ4_K.values
        let (d, dmin) = (block.d, block.dmin)
        for group in 0..<4 {  // of 64 values
            let qs = block.qs + 32 * group
            let low = out + 64 * group
            let high = low + 32
            let (scale0, minimum0) = (d * Float(block.scale(2 * group)), dmin * Float(block.minimum(2 * group)))
            for j in 0..<32 { low[j] = scale0 * Float(qs[j] & 15) - minimum0 }
            let (scale1, minimum1) = (d * Float(block.scale(2 * group + 1)), dmin * Float(block.minimum(2 * group + 1)))
            for j in 0..<32 { high[j] = scale1 * Float(qs[j] >> 4) - minimum1 }
        }
    }
}
