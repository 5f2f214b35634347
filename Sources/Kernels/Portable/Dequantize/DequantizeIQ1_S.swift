import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeIQ1_S(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    let grid = IQGrid.iq1
    for i in 0..<(count / BlockIQ1_S.values) {
        let block = BlockIQ1_S(source + i * BlockIQ1_S.bytes)
        let out = destination + i * BlockIQ1_S.values
        let (d, qs) = (block.d, block.qs)
        for group in 0..<8 {  // of 32 values
            let qh = block.qh(group)
            let scale = d * Float(2 * ((qh >> 12) & 7) + 1)
            let shift: Float = qh & 0x8000 == 0 ? 0.125 : -0.125
            for k in 0..<4 {
                let high = Int(qh &>> UInt16(truncatingIfNeeded: 3 * k)) & 7
                let point = grid[Int(qs[4 * group + k]) | high << 8]
                storeShifted(point, shift, scale, to: out + 32 * group + 8 * k)
            }
        }
    }
}
