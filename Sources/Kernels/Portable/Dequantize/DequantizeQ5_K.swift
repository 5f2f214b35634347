import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeQ5_K(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ5_K.values) {
        let block = BlockQ5_K(source + i * BlockQ5_K.bytes)
        let out = destination + i * BlockQ5_K.values
        let (d, dmin, qh) = (block.d, block.dmin, block.qh)
        for group in 0..<8 {  // of 32 values: two for each 32 bytes
            let qs = block.qs + 32 * (group >> 1)
            let (scale, minimum) = (d * Float(block.scale(group)), dmin * Float(block.minimum(group)))
            let shift = UInt8(truncatingIfNeeded: 4 * (group & 1))
            let highShift = UInt8(truncatingIfNeeded: group)
            for j in 0..<32 {
                let q = ((qs[j] &>> shift) & 15) | (((qh[j] &>> highShift) & 1) << 4)
                out[32 * group + j] = scale * Float(q) - minimum
            }
        }
    }
}
