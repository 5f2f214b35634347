import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ2_XXS(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq2_xxs
    for i in 0..<(count / BlockIQ2_XXS.values) {
        let block = BlockIQ2_XXS(source + i * BlockIQ2_XXS.bytes)
        let out = destination + i * BlockIQ2_XXS.values
        let d = block.d
        for group in 0..<8 {  // of 32 values
            let (indices, word) = (block.indices(group), block.signsAndScale(group))
            let scale = d * (0.5 + Float(word >> 28)) * 0.25
            for k in 0..<4 {
                let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
                storeSigned(grid[Int(indices[k])], signs, scale, to: out + 32 * group + 8 * k)
            }
        }
    }
}
