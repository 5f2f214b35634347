import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeQ6_K(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ6_K.values) {
        let block = BlockQ6_K(source + i * BlockQ6_K.bytes)
        let out = destination + i * BlockQ6_K.values
        let (d, scales) = (block.d, block.scales)
        for group in 0..<16 {  // of 16 values: eight for each half
            let scale = d * Float(scales[group])
            let (half, inHalf) = (group >> 3, group & 7)
            let ql = block.ql + 64 * half + 16 * (inHalf & 3)
            let qh = block.qh + 32 * half + 16 * (inHalf & 1)
            let shift = UInt8(truncatingIfNeeded: inHalf & 4)
            let highShift = UInt8(truncatingIfNeeded: inHalf & 6)
            for j in 0..<16 {
                let q = ((ql[j] &>> shift) & 15) | (((qh[j] &>> highShift) & 3) << 4)
                out[16 * group + j] = scale * Float(Int32(q) - 32)
            }
        }
    }
}
