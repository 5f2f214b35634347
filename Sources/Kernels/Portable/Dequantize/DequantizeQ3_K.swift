import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeQ3_K(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ3_K.values) {
        let block = BlockQ3_K(source + i * BlockQ3_K.bytes)
        let out = destination + i * BlockQ3_K.values
        let d = block.d
        for group in 0..<16 {  // of 16 values: two for each shift, eight for each 32 bytes
            let scale = d * Float(block.scale(group))
            let qs = block.qs + 32 * (group >> 3) + 16 * (group & 1)
            let hmask = block.hmask + 16 * (group & 1)
            let shift = UInt8(truncatingIfNeeded: group & 6)
            let highShift = UInt8(truncatingIfNeeded: group >> 1)
            for j in 0..<16 {
                let q = ((qs[j] &>> shift) & 3) | (((hmask[j] &>> highShift) & 1) << 2)
                out[16 * group + j] = scale * Float(Int32(q) - 4)
            }
        }
    }
}
