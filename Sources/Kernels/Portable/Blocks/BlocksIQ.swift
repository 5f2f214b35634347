// Formats whose codes are points of grids, or levels of IQ4.

import KernelFormats

extension BlockIQ1_S: PortableBlock {
    /// Values `8 * index ..< 8 * index + 8`, without scale and shift.
    @inline(__always)
    private func point(_ index: Int) -> UInt64 {
        let high = Int(qh(index >> 2) &>> UInt16(truncatingIfNeeded: 3 * (index & 3))) & 7
        return IQGrid.iq1[Int(qs[index]) | high << 8]
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<8 {  // of 32 values
            let qh = self.qh(group)
            let scale = d * Float(2 * ((qh >> 12) & 7) + 1)
            let shift: Float = qh & 0x8000 == 0 ? 0.125 : -0.125
            for k in 0..<4 {
                storeShifted(point(4 * group + k), shift, scale, to: out + 32 * group + 8 * k)
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
            packTwoBits(partCodes(part) { fromOne(point($0)) }, row.part(part))
        }
    }
}

extension BlockIQ1_M: PortableBlock {
    var hasFiniteScales: Bool { d.isFinite }

    /// Values `8 * index ..< 8 * index + 8`, without scale and shift, and whether the shift is positive.
    @inline(__always)
    private func eight(_ index: Int) -> (point: UInt64, isRaised: Bool) {
        let nibble = qh[index >> 1] &>> UInt8(truncatingIfNeeded: 4 * (index & 1))
        return (IQGrid.iq1[Int(qs[index]) | Int(nibble & 7) << 8], nibble & 8 == 0)
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<16 {  // of 16 values
            let scale = d * Float(2 * self.scale(group) + 1)
            for k in 0..<2 {
                let (point, isRaised) = eight(2 * group + k)
                storeShifted(point, isRaised ? 0.125 : -0.125, scale, to: out + 16 * group + 8 * k)
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
            let codes = partCodes(part) {
                let (point, isRaised) = eight($0)
                return fromOne(point) | (isRaised ? ones << 2 : 0)
            }
            packThreeBits(codes, row.part(part))
        }
    }
}

extension BlockIQ2_XXS: PortableBlock {
    /// The magnitudes of values `8 * index ..< 8 * index + 8`, without scale, and their signs.
    @inline(__always)
    private func eight(_ index: Int) -> (point: UInt64, signs: UInt8) {
        let (part, k) = (index >> 2, index & 3)
        let signs = IQGrid.signs(signsAndScale(part) &>> UInt32(truncatingIfNeeded: 7 * k))
        return (IQGrid.iq2_xxs[Int(indices(part)[k])], signs)
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<8 {  // of 32 values
            let scale = d * (0.5 + Float(signsAndScale(group) >> 28)) * 0.25
            for k in 0..<4 {
                storeSigned(eight(4 * group + k), scale, to: out + 32 * group + 8 * k)
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
            packThreeBits(partCodes(part) { threeLevels(eight($0)) }, row.part(part))
        }
    }
}

extension BlockIQ2_XS: PortableBlock {
    /// The magnitudes of values `8 * index ..< 8 * index + 8`, without scale, and their signs.
    @inline(__always)
    private func eight(_ index: Int) -> (point: UInt64, signs: UInt8) {
        let q = qs(index)
        return (IQGrid.iq2_xs[Int(q & 511)], IQGrid.signs(UInt32(q >> 9)))
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<16 {  // of 16 values
            let nibble = (self.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * (0.5 + Float(nibble)) * 0.25
            for k in (2 * group)..<(2 * group + 2) { storeSigned(eight(k), scale, to: out + 8 * k) }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<8 { row.storeScale(scales[register], register, after: 1) }
        for part in 0..<8 {
            packThreeBits(partCodes(part) { threeLevels(eight($0)) }, row.part(part))
        }
    }
}

extension BlockIQ2_S: PortableBlock {
    /// The magnitudes of values `8 * index ..< 8 * index + 8`, without scale, and their signs.
    @inline(__always)
    private func eight(_ index: Int) -> (point: UInt64, signs: UInt8) {
        let high = (qh[index >> 2] &>> UInt8(truncatingIfNeeded: 2 * (index & 3))) & 3
        return (IQGrid.iq2_s[Int(qs[index]) | Int(high) << 8], signs[index])
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<16 {  // of 16 values
            let nibble = (self.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * (0.5 + Float(nibble)) * 0.25
            for k in (2 * group)..<(2 * group + 2) { storeSigned(eight(k), scale, to: out + 8 * k) }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<8 { row.storeScale(scales[register], register, after: 1) }
        for part in 0..<8 {
            packThreeBits(partCodes(part) { threeLevels(eight($0)) }, row.part(part))
        }
    }
}

extension BlockIQ3_XXS: PortableBlock {
    /// The magnitudes of values `8 * index ..< 8 * index + 8`, without scale, and their signs.
    @inline(__always)
    private func eight(_ index: Int) -> (point: UInt64, signs: UInt8) {
        let signs = IQGrid.signs(signsAndScale(index >> 2) &>> UInt32(truncatingIfNeeded: 7 * (index & 3)))
        let (low, high) = (IQGrid.iq3_xxs[Int(qs[2 * index])], IQGrid.iq3_xxs[Int(qs[2 * index + 1])])
        return (UInt64(low) | UInt64(high) << 32, signs)
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<8 {  // of 32 values
            let scale = d * (0.5 + Float(signsAndScale(group) >> 28)) * 0.5
            for k in 0..<4 {
                storeSigned(eight(4 * group + k), scale, to: out + 32 * group + 8 * k)
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
            let codes = partCodes(part) {
                let (point, signs) = eight($0)
                // The levels 4, 12, …, 52, 62 are 8 apart, except the last.
                return (point >> 3) & (7 * ones) | spread(signs) << 3
            }
            packNibbles(codes, row.part(part))
        }
    }
}

extension BlockIQ3_S: PortableBlock {
    /// The magnitudes of values `8 * index ..< 8 * index + 8`, without scale, and their signs.
    @inline(__always)
    private func eight(_ index: Int) -> (point: UInt64, signs: UInt8) {
        let bits = Int(qh[index >> 2] &>> UInt8(truncatingIfNeeded: 2 * (index & 3)))
        let low = IQGrid.iq3_s[Int(qs[2 * index]) | (bits & 1) << 8]
        let high = IQGrid.iq3_s[Int(qs[2 * index + 1]) | (bits & 2) << 7]
        return (UInt64(low) | UInt64(high) << 32, signs[index])
    }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<8 {  // of 32 values
            let nibble = (self.scales[group >> 1] &>> UInt8(truncatingIfNeeded: 4 * (group & 1))) & 15
            let scale = d * Float(1 + 2 * nibble)
            for k in 0..<4 {
                storeSigned(eight(4 * group + k), scale, to: out + 32 * group + 8 * k)
            }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for register in 0..<4 { row.storeScale(scales[register], register, after: 1) }
        for part in 0..<8 {
            let codes = partCodes(part) {
                let (point, signs) = eight($0)
                // The levels are 2i + 1: (15 + (2i + 1)) / 2 = 8 + i, and (15 - (2i + 1)) / 2 = 7 - i = 15 - (8 + i).
                return (point >> 1) & (7 * ones) ^ (8 * ones) ^ (15 * spread(signs))
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

/// Writes `scale · byte` for each of the eight magnitudes, negated if its bit of the signs is set.
@inline(__always)
private func storeSigned(
    _ eight: (point: UInt64, signs: UInt8), _ scale: Float, to out: UnsafeMutablePointer<Float>
) {
    for j in 0..<8 {
        let value = scale * Float(UInt8(truncatingIfNeeded: eight.point &>> UInt64(truncatingIfNeeded: 8 * j)))
        let sign = UInt32(eight.signs) &<< UInt32(truncatingIfNeeded: 31 - j) & 0x8000_0000
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
private func threeLevels(_ eight: (point: UInt64, signs: UInt8)) -> UInt64 {
    // Bit 4 is set only in 25, bit 5 only in 43.
    (eight.point >> 4) & (3 * ones) | spread(eight.signs) << 2
}

/// Spreads bit j to byte j, as 0 or 1.
@inline(__always)
private func spread(_ bits: UInt8) -> UInt64 {
    let single = (UInt64(bits) &* ones) & 0x8040_2010_0804_0201
    return ((single &+ 0x7f * ones) >> 7) & ones
}
