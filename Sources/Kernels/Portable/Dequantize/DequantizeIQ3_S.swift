import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ3_S(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq3_s
    for i in 0..<(count / BlockIQ3_S.values) {
        let block = BlockIQ3_S(source + i * BlockIQ3_S.bytes)
        let out = destination + i * BlockIQ3_S.values
        let (d, qs, qh) = (block.d, block.qs, block.qh)
        for group in 0..<8 {  // of 32 values
            let nibble = (block.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * Float(1 + 2 * nibble)
            for k in 0..<4 {
                let q = qs + 8 * group + 2 * k
                let high = Int(qh[group] &>> UInt8(truncatingIfNeeded: 2 * k))
                let low = UInt64(grid[Int(q[0]) | (high & 1) << 8])
                let point = low | UInt64(grid[Int(q[1]) | (high & 2) << 7]) << 32
                storeSigned(point, block.signs[4 * group + k], scale, to: out + 32 * group + 8 * k)
            }
        }
    }
}
