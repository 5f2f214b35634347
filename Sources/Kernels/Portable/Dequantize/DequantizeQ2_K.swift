import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeQ2_K(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ2_K.values) {
        let block = BlockQ2_K(source + i * BlockQ2_K.bytes)
        let out = destination + i * BlockQ2_K.values
        let (d, dmin, scales) = (block.d, block.dmin, block.scales)
        for group in 0..<16 {  // of 16 values: two for each shift, eight for each 32 bytes
            let scale = d * Float(scales[group] & 15)
            let minimum = dmin * Float(scales[group] >> 4)
            let qs = block.qs + 32 * (group >> 3) + 16 * (group & 1)
            let shift = UInt8(truncatingIfNeeded: group & 6)
            for j in 0..<16 { out[16 * group + j] = scale * Float((qs[j] &>> shift) & 3) - minimum }
        }
    }
}
