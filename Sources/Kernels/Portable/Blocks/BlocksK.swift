// K formats.

import KernelFormats

extension BlockQ2_K: PortableBlock {
    static var halfScales: (Int, Int) { (80, 82) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, dmin, scales) = (self.d, self.dmin, self.scales)
        for group in 0..<16 {  // of 16 values: two for each shift, eight for each 32 bytes
            let scale = d * Float(scales[group] & 15)
            let minimum = dmin * Float(scales[group] >> 4)
            let qs = self.qs + 32 * (group >> 3) + 16 * (group & 1)
            let shift = UInt8(truncatingIfNeeded: group & 6)
            for j in 0..<16 { out[16 * group + j] = scale * Float((qs[j] &>> shift) & 3) - minimum }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base + 80, 0)
        row.storeHalf(at: base + 82, 1)
        for index in 0..<16 { row.storeScale(scales[index], index, after: 2) }
        for part in 0..<8 { packTwoBits(qs + 32 &* (part >> 2), part & 3, row.part(part)) }
    }
}

extension BlockQ3_K: PortableBlock {
    static var halfScales: (Int, Int) { (108, 108) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<16 {  // of 16 values: two for each shift, eight for each 32 bytes
            let scale = d * Float(self.scale(group))
            let qs = self.qs + 32 * (group >> 3) + 16 * (group & 1)
            let hmask = self.hmask + 16 * (group & 1)
            let shift = UInt8(truncatingIfNeeded: group & 6)
            let highShift = UInt8(truncatingIfNeeded: group >> 1)
            for j in 0..<16 {
                let q = ((qs[j] &>> shift) & 3) | (((hmask[j] &>> highShift) & 1) << 2)
                out[16 * group + j] = scale * Float(Int32(q) - 4)
            }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base + 108, 0)
        packSixBits(16, row) { UInt8(truncatingIfNeeded: scale($0) &+ 32) }
        for part in 0..<8 {
            packTwoBits(qs + 32 &* (part >> 2), part & 3, row.part(part))
            packBits(hmask, bit: part, row.part(part) + 128)
        }
    }
}

extension BlockQ4_K: PortableBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, dmin) = (self.d, self.dmin)
        for group in 0..<4 {  // of 64 values
            let qs = self.qs + 32 * group
            let low = out + 64 * group
            let high = low + 32
            let (scale0, minimum0) = (d * Float(self.scale(2 * group)), dmin * Float(self.minimum(2 * group)))
            for j in 0..<32 { low[j] = scale0 * Float(qs[j] & 15) - minimum0 }
            let (scale1, minimum1) = (d * Float(self.scale(2 * group + 1)), dmin * Float(self.minimum(2 * group + 1)))
            for j in 0..<32 { high[j] = scale1 * Float(qs[j] >> 4) - minimum1 }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        row.storeHalf(at: base + 2, 1)
        packScales(row, scale, minimum)
        for part in 0..<8 { packNibbles(nibbles(qs, part), row.part(part)) }
    }
}

extension BlockQ5_K: PortableBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, dmin, qh) = (self.d, self.dmin, self.qh)
        for group in 0..<8 {  // of 32 values: two for each 32 bytes
            let qs = self.qs + 32 * (group >> 1)
            let (scale, minimum) = (d * Float(self.scale(group)), dmin * Float(self.minimum(group)))
            let shift = UInt8(truncatingIfNeeded: 4 * (group & 1))
            let highShift = UInt8(truncatingIfNeeded: group)
            for j in 0..<32 {
                let q = ((qs[j] &>> shift) & 15) | (((qh[j] &>> highShift) & 1) << 4)
                out[32 * group + j] = scale * Float(q) - minimum
            }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        row.storeHalf(at: base + 2, 1)
        packScales(row, scale, minimum)
        for part in 0..<8 {
            packNibbles(nibbles(qs, part), row.part(part))
            packBits(qh, bit: part, row.part(part) + 256)
        }
    }
}

extension BlockQ6_K: PortableBlock {
    static var halfScales: (Int, Int) { (208, 208) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, scales) = (self.d, self.scales)
        for group in 0..<16 {  // of 16 values: eight for each half
            let scale = d * Float(scales[group])
            let (half, inHalf) = (group >> 3, group & 7)
            let ql = self.ql + 64 * half + 16 * (inHalf & 3)
            let qh = self.qh + 32 * half + 16 * (inHalf & 1)
            let shift = UInt8(truncatingIfNeeded: inHalf & 4)
            let highShift = UInt8(truncatingIfNeeded: inHalf & 6)
            for j in 0..<16 {
                let q = ((ql[j] &>> shift) & 15) | (((qh[j] &>> highShift) & 3) << 4)
                out[16 * group + j] = scale * Float(Int32(q) - 32)
            }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base + 208, 0)
        for index in 0..<16 { row.storeScale(UInt8(bitPattern: scales[index]), index, after: 1) }
        for part in 0..<8 {
            let (half, quarter) = (part >> 2, part & 3)
            // Parts 0 and 1 of a half are in the low nibbles of 64 bytes, parts 2 and 3 in the high ones.
            let low = ql + (64 &* half &+ 32 &* (quarter & 1))
            packNibbles(join(load16(low), load16(low + 16), high: quarter >= 2), row.part(part))
            packTwoBits(qh + 32 &* half, quarter, row.part(part) + 256)
        }
    }
}

extension BlockQ8_K: PortableBlock {
    var hasFiniteScales: Bool { d.isFinite }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }
}

/// Packs Q4_K's six-bit scales and minimums: register i has the low nibbles of scale i and of minimum i, register 8 + i the two
/// high bits of each of scale 2i, minimum 2i, scale 2i + 1 and minimum 2i + 1.
@inline(__always)
private func packScales(_ row: PackedRow, _ scale: (Int) -> UInt8, _ minimum: (Int) -> UInt8) {
    for pair in 0..<4 {
        var high: UInt8 = 0
        for odd in 0..<2 {
            let (scale, minimum) = (scale(2 &* pair &+ odd), minimum(2 &* pair &+ odd))
            row.storeScale((scale & 15) | (minimum << 4), 2 &* pair &+ odd, after: 2)
            high |= ((scale >> 4) | ((minimum >> 4) << 2)) << UInt8(truncatingIfNeeded: 4 &* odd)
        }
        row.storeScale(high, 8 &+ pair, after: 2)
    }
}

/// Part `part` of Q4_K's 128 bytes, of which each 32 hold two parts.
@inline(__always)
private func nibbles(_ qs: UnsafePointer<UInt8>, _ part: Int) -> SIMD16<UInt8> {
    let bytes = qs + 32 &* (part >> 1)
    return join(load16(bytes), load16(bytes + 16), high: part & 1 == 1)
}
