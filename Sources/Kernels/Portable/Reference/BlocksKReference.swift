// K formats.

import KernelFormats

extension BlockQ2_K: ReferenceBlock {
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
}

extension BlockQ3_K: ReferenceBlock {
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
}

extension BlockQ4_K: ReferenceBlock {
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
}

extension BlockQ5_K: ReferenceBlock {
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
}

extension BlockQ6_K: ReferenceBlock {
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
}

extension BlockQ8_K: ReferenceBlock {
    var hasFiniteScales: Bool { d.isFinite }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }
}
