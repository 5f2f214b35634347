import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ1_M(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq1
    for i in 0..<(count / BlockIQ1_M.values) {
        let block = BlockIQ1_M(source + i * BlockIQ1_M.bytes)
        let out = destination + i * BlockIQ1_M.values
        let (d, qs, qh) = (block.d, block.qs, block.qh)
        for group in 0..<16 {  // of 16 values
            let scale = d * Float(2 * block.scale(group) + 1)
            for k in 0..<2 {
                let nibble = qh[group] &>> UInt8(truncatingIfNeeded: 4 * k)
                let shift: Float = nibble & 8 == 0 ? 0.125 : -0.125
                let point = grid[Int(qs[2 * group + k]) | Int(nibble & 7) << 8]
                storeShifted(point, shift, scale, to: out + 16 * group + 8 * k)
            }
        }
    }
}
