// Formats whose codes are points of grids, or levels of IQ4.

import KernelFormats

extension BlockIQ1_S: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq1
        let (d, qs) = (self.d, self.qs)
        for group in 0..<8 {  // of 32 values
            let qh = self.qh(group)
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

extension BlockIQ1_M: ReferenceBlock {
    var hasFiniteScales: Bool { d.isFinite }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq1
        let (d, qs, qh) = (self.d, self.qs, self.qh)
        for group in 0..<16 {  // of 16 values
            let scale = d * Float(2 * self.scale(group) + 1)
            for k in 0..<2 {
                let nibble = qh[group] &>> UInt8(truncatingIfNeeded: 4 * k)
                let shift: Float = nibble & 8 == 0 ? 0.125 : -0.125
                let point = grid[Int(qs[2 * group + k]) | Int(nibble & 7) << 8]
                storeShifted(point, shift, scale, to: out + 16 * group + 8 * k)
            }
        }
    }
}

extension BlockIQ2_XXS: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq2_xxs
        let d = self.d
        for group in 0..<8 {  // of 32 values
            let (indices, word) = (self.indices(group), self.signsAndScale(group))
            let scale = d * (0.5 + Float(word >> 28)) * 0.25
            for k in 0..<4 {
                let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
                storeSigned(grid[Int(indices[k])], signs, scale, to: out + 32 * group + 8 * k)
            }
        }
    }
}

extension BlockIQ2_XS: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq2_xs
        let d = self.d
        for group in 0..<16 {  // of 16 values
            let nibble = (self.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * (0.5 + Float(nibble)) * 0.25
            for k in (2 * group)..<(2 * group + 2) {
                let q = self.qs(k)
                storeSigned(grid[Int(q & 511)], IQGrid.signs(UInt32(q >> 9)), scale, to: out + 8 * k)
            }
        }
    }
}

extension BlockIQ2_S: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq2_s
        let (d, qs, qh) = (self.d, self.qs, self.qh)
        for group in 0..<16 {  // of 16 values
            let nibble = (self.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * (0.5 + Float(nibble)) * 0.25
            for k in (2 * group)..<(2 * group + 2) {
                let high = (qh[k >> 2] &>> UInt8(truncatingIfNeeded: 2 * (k & 3))) & 3
                storeSigned(grid[Int(qs[k]) | Int(high) << 8], self.signs[k], scale, to: out + 8 * k)
            }
        }
    }
}

extension BlockIQ3_XXS: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq3_xxs
        let (d, qs) = (self.d, self.qs)
        for group in 0..<8 {  // of 32 values
            let word = self.signsAndScale(group)
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

extension BlockIQ3_S: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let grid = IQGrid.iq3_s
        let (d, qs, qh) = (self.d, self.qs, self.qh)
        for group in 0..<8 {  // of 32 values
            let nibble = (self.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * Float(1 + 2 * nibble)
            for k in 0..<4 {
                let q = qs + 8 * group + 2 * k
                let high = Int(qh[group] &>> UInt8(truncatingIfNeeded: 2 * k))
                let low = UInt64(grid[Int(q[0]) | (high & 1) << 8])
                let point = low | UInt64(grid[Int(q[1]) | (high & 2) << 7]) << 32
                storeSigned(point, self.signs[4 * group + k], scale, to: out + 32 * group + 8 * k)
            }
        }
    }
}

extension BlockIQ4_NL: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(iq4Levels[Int(qs[j] & 15)])
            out[16 + j] = d * Float(iq4Levels[Int(qs[j] >> 4)])
        }
    }
}

extension BlockIQ4_XS: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<8 {  // of 32 values
            let (scale, qs) = (d * Float(self.scale(group)), self.qs + 16 * group)
            for j in 0..<16 {
                out[32 * group + j] = scale * Float(iq4Levels[Int(qs[j] & 15)])
                out[32 * group + 16 + j] = scale * Float(iq4Levels[Int(qs[j] >> 4)])
            }
        }
    }
}

/// Writes `scale · (byte + shift)` for each of the eight signed bytes of `point`.
@inline(__always)
private func storeShifted(_ point: UInt64, _ shift: Float, _ scale: Float, to out: UnsafeMutablePointer<Float>) {
    for j in 0..<8 {
        let value = Float(Int8(truncatingIfNeeded: point &>> UInt64(truncatingIfNeeded: 8 * j)))
        out[j] = scale * (value + shift)
    }
}

/// Writes `scale · byte` for each of the eight unsigned bytes of `point`, negated if its bit in `signs` is set.
@inline(__always)
private func storeSigned(_ point: UInt64, _ signs: UInt8, _ scale: Float, to out: UnsafeMutablePointer<Float>) {
    for j in 0..<8 {
        let value = scale * Float(UInt8(truncatingIfNeeded: point &>> UInt64(truncatingIfNeeded: 8 * j)))
        let sign = UInt32(signs) &<< UInt32(truncatingIfNeeded: 31 - j) & 0x8000_0000
        out[j] = Float(bitPattern: value.bitPattern ^ sign)
    }
}
