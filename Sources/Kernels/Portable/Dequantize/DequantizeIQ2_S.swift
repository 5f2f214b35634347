import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ2_S(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq2_s
    for i in 0..<(count / BlockIQ2_S.values) {
        let block = BlockIQ2_S(source + i * BlockIQ2_S.bytes)
        let out = destination + i * BlockIQ2_S.values
        let (d, qs, qh) = (block.d, block.qs, block.qh)
        for group in 0..<16 {  // of 16 values
            let nibble = (block.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * (0.5 + Float(nibble)) * 0.25
            for k in (2 * group)..<(2 * group + 2) {
                let high = (qh[k >> 2] &>> UInt8(truncatingIfNeeded: 2 * (k & 3))) & 3
                storeSigned(grid[Int(qs[k]) | Int(high) << 8], block.signs[k], scale, to: out + 8 * k)
            }
        }
    }
}
