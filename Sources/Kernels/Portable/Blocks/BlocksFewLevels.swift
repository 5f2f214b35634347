// Formats of two or three levels, and of four.

import KernelFormats

extension BlockQ1_0: PortableBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values {
            let bit = (qs[j >> 3] &>> UInt8(truncatingIfNeeded: j & 7)) & 1
            out[j] = bit == 1 ? d : -d
        }
    }
}

extension BlockQ2_0: PortableBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values {
            let q = (qs[j >> 2] &>> UInt8(truncatingIfNeeded: 2 * (j & 3))) & 3
            out[j] = d * Float(Int32(q) - 1)
        }
    }
}

extension BlockTQ1_0: PortableBlock {
    static var halfScales: (Int, Int) { (52, 52) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        var power: UInt8 = 1
        for n in 0..<5 {
            for j in 0..<32 { out[32 * n + j] = d * digit(self.qs[j] &* power) }
            for j in 0..<16 { out[160 + 16 * n + j] = d * digit(self.qs[32 + j] &* power) }
            if n < 4 { for j in 0..<4 { out[240 + 4 * n + j] = d * digit(self.qh[j] &* power) } }
            power &*= 3
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base + 52, 0)
        for part in 0..<8 { packTwoBits(partCodes(part) { digits(8 * $0) }, row.part(part)) }
    }

    /// Eight base-3 digits, from value `first` on, a multiple of eight.
    @inline(__always)
    private func digits(_ first: Int) -> UInt64 {
        var codes: UInt64 = 0
        for j in 0..<8 {
            let value = first + j
            let (byte, n) =
                switch value {
                case ..<160: (qs[value % 32], value / 32)
                case ..<240: (qs[32 + (value - 160) % 16], (value - 160) / 16)
                default: (qh[(value - 240) % 4], (value - 240) / 4)
                }
            var fraction = byte
            for _ in 0..<n { fraction &*= 3 }
            codes |= UInt64((UInt16(fraction) * 3) >> 8) << UInt64(8 * j)
        }
        return codes
    }
}

/// The first base-3 digit of a fraction in units of 1/256, as -1, 0 or 1.
@inline(__always)
private func digit(_ fraction: UInt8) -> Float { Float(Int32((UInt16(fraction) * 3) >> 8) - 1) }

extension BlockTQ2_0: PortableBlock {
    static var halfScales: (Int, Int) { (64, 64) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let d = self.d
        for group in 0..<8 {  // of 32 values: four for each 32 bytes
            let qs = self.qs + 32 * (group >> 2)
            let shift = UInt8(truncatingIfNeeded: 2 * (group & 3))
            for j in 0..<32 { out[32 * group + j] = d * Float(Int32((qs[j] &>> shift) & 3) - 1) }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base + 64, 0)
        for part in 0..<8 { packTwoBits(qs + 32 &* (part >> 2), part & 3, row.part(part)) }
    }
}
