// Formats whose codes are points of grids, or levels of IQ4.

import KernelFormats

extension BlockIQ1_S: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<4 {
            // The fourth bit makes the shift negative.
            let (first, second) = (qh(2 * register) >> 12, qh(2 * register + 1) >> 12)
            row.storeScale(UInt8(truncatingIfNeeded: first | second << 4), register, after: 1)
        }
        for part in 0..<8 {
            let qh = self.qh(part)
            var codes = PartCodes()
            for k in 0..<4 {
                let high = Int(qh &>> UInt16(truncatingIfNeeded: 3 * k)) & 7
                codes[k] = fromOne(IQGrid.iq1[Int(qs[4 * part + k]) | high << 8])
            }
            packTwoBits(codes, row.part(part))
        }
    }
}

extension BlockIQ1_M: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(halfBits, 0)
        for register in 0..<8 {
            let both = scale(2 * register) | scale(2 * register + 1) << 4
            row.storeScale(UInt8(truncatingIfNeeded: both), register, after: 1)
        }
        for part in 0..<8 {
            var codes = PartCodes()
            for k in 0..<4 {
                let nibble = qh[2 * part + (k >> 1)] &>> UInt8(truncatingIfNeeded: 4 * (k & 1))
                let point = IQGrid.iq1[Int(qs[4 * part + k]) | Int(nibble & 7) << 8]
                codes[k] = fromOne(point) | (nibble & 8 == 0 ? ones << 2 : 0)
            }
            packThreeBits(codes, row.part(part))
        }
    }
}

extension BlockIQ2_XXS: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        // 32 columns share a scale; both segments get it.
        for part in 0..<8 {
            row.storeScale(UInt8(truncatingIfNeeded: (signsAndScale(part) >> 28) * 0x11), part, after: 1)
        }
        for part in 0..<8 {
            let (indices, word) = (self.indices(part), signsAndScale(part))
            var codes = PartCodes()
            for k in 0..<4 {
                let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
                codes[k] = threeLevels(IQGrid.iq2_xxs[Int(indices[k])], signs)
            }
            packThreeBits(codes, row.part(part))
        }
    }
}

extension BlockIQ2_XS: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<8 { row.storeScale(scales[register], register, after: 1) }
        for part in 0..<8 {
            var codes = PartCodes()
            for k in 0..<4 {
                let q = qs(4 * part + k)
                codes[k] = threeLevels(IQGrid.iq2_xs[Int(q & 511)], IQGrid.signs(UInt32(q >> 9)))
            }
            packThreeBits(codes, row.part(part))
        }
    }
}

extension BlockIQ2_S: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<8 { row.storeScale(scales[register], register, after: 1) }
        for part in 0..<8 {
            var codes = PartCodes()
            for k in 0..<4 {
                let high = (qh[part] &>> UInt8(truncatingIfNeeded: 2 * k)) & 3
                let point = IQGrid.iq2_s[Int(qs[4 * part + k]) | Int(high) << 8]
                codes[k] = threeLevels(point, signs[4 * part + k])
            }
            packThreeBits(codes, row.part(part))
        }
    }
}

extension BlockIQ3_XXS: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<4 {
            let (first, second) = (signsAndScale(2 * register) >> 28, signsAndScale(2 * register + 1) >> 28)
            row.storeScale(UInt8(truncatingIfNeeded: first | second << 4), register, after: 1)
        }
        for part in 0..<8 {
            let word = signsAndScale(part)
            var codes = PartCodes()
            for k in 0..<4 {
                let q = qs + (8 * part + 2 * k)
                let point = UInt64(IQGrid.iq3_xxs[Int(q[0])]) | UInt64(IQGrid.iq3_xxs[Int(q[1])]) << 32
                // The levels 4, 12, …, 52, 62 are 8 apart, except the last.
                let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
                codes[k] = (point >> 3) & (7 * ones) | spread(signs) << 3
            }
            packNibbles(codes, row.part(part))
        }
    }
}

extension BlockIQ3_S: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<4 { row.storeScale(scales[register], register, after: 1) }
        for part in 0..<8 {
            var codes = PartCodes()
            for k in 0..<4 {
                let q = qs + (8 * part + 2 * k)
                let high = Int(qh[part] &>> UInt8(truncatingIfNeeded: 2 * k))
                let low = UInt64(IQGrid.iq3_s[Int(q[0]) | (high & 1) << 8])
                let point = low | UInt64(IQGrid.iq3_s[Int(q[1]) | (high & 2) << 7]) << 32
                // The levels are 2i + 1: (15 + (2i + 1)) / 2 = 8 + i, and (15 - (2i + 1)) / 2 = 7 - i = 15 - (8 + i).
                codes[k] = (point >> 1) & (7 * ones) ^ (8 * ones) ^ (15 * spread(signs[4 * part + k]))
            }
            packNibbles(codes, row.part(part))
        }
    }
}

extension BlockIQ4_NL: PortableBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(iq4Levels[Int(qs[j] & 15)])
            out[16 + j] = d * Float(iq4Levels[Int(qs[j] >> 4)])
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        packNibbles(load16(qs), row.part(0))
    }
}

extension BlockIQ4_XS: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        packSixBits(8, row) { UInt8(truncatingIfNeeded: scale($0) &+ 32) }
        for part in 0..<8 { packNibbles(load16(qs + 16 &* part), row.part(part)) }
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

/// A 1 in each byte.
private let ones: UInt64 = 0x0101_0101_0101_0101

/// Eight signed bytes -1, 0 or 1, plus 1.
@inline(__always)
private func fromOne(_ point: UInt64) -> UInt64 { ((point & (3 * ones)) &+ ones) & (3 * ones) }

/// Maps eight magnitudes 8, 25 or 43 to 0, 1 and 2, with their signs in bit 2.
@inline(__always)
private func threeLevels(_ point: UInt64, _ signs: UInt8) -> UInt64 {
    // Bit 4 is set only in 25, bit 5 only in 43.
    (point >> 4) & (3 * ones) | spread(signs) << 2
}

/// Spreads bit j to byte j, as 0 or 1.
@inline(__always)
private func spread(_ bits: UInt8) -> UInt64 {
    let single = (UInt64(bits) &* ones) & 0x8040_2010_0804_0201
    return ((single &+ 0x7f * ones) >> 7) & ones
}
