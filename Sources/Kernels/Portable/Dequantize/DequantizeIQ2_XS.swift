import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ2_XS(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq2_xs
    for i in 0..<(count / BlockIQ2_XS.values) {
        let block = BlockIQ2_XS(source + i * BlockIQ2_XS.bytes)
        let out = destination + i * BlockIQ2_XS.values
        let d = block.d
        for group in 0..<16 {  // of 16 values
            let nibble = (block.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * (0.5 + Float(nibble)) * 0.25
            for k in (2 * group)..<(2 * group + 2) {
                let q = block.qs(k)
                storeSigned(grid[Int(q & 511)], IQGrid.signs(UInt32(q >> 9)), scale, to: out + 8 * k)
            }
        }
    }
}
