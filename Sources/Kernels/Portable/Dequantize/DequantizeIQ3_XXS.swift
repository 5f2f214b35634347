import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ3_XXS(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq3_xxs
    for i in 0..<(count / BlockIQ3_XXS.values) {
        let block = BlockIQ3_XXS(source + i * BlockIQ3_XXS.bytes)
        let out = destination + i * BlockIQ3_XXS.values
        let (d, qs) = (block.d, block.qs)
        for group in 0..<8 {  // of 32 values
            let word = block.signsAndScale(group)
            let scale = d * (0.5 + Float(word >> 28)) * 0.5
            for k in 0..<4 {
                let q = qs + 8 * group + 2 * k
                let point = UInt64(grid[Int(q[0])]) | UInt64(grid[Int(q[1])]) << 32
                let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
                storeSigned(point, signs, scale, to: out + 32 * group + 8 * k)
            }
        }
    }
}
