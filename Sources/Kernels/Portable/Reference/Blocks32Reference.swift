// Formats with blocks of 32 values.

import KernelFormats

extension BlockQ4_0: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(Int32(qs[j] & 15) - 8)
            out[16 + j] = d * Float(Int32(qs[j] >> 4) - 8)
        }
    }
}

extension BlockQ4_1: ReferenceBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, m, qs) = (self.d, self.m, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(qs[j] & 15) + m
            out[16 + j] = d * Float(qs[j] >> 4) + m
        }
    }
}

extension BlockQ5_0: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qh, qs) = (self.d, self.qh, self.qs)
        for j in 0..<16 {
            let shift = UInt32(truncatingIfNeeded: j)
            let (low, high) = ((qh &>> shift) & 1, (qh &>> (shift &+ 16)) & 1)
            out[j] = d * Float(Int32(qs[j] & 15) + Int32(low << 4) - 16)
            out[16 + j] = d * Float(Int32(qs[j] >> 4) + Int32(high << 4) - 16)
        }
    }
}

extension BlockQ5_1: ReferenceBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, m, qh, qs) = (self.d, self.m, self.qh, self.qs)
        for j in 0..<16 {
            let shift = UInt32(truncatingIfNeeded: j)
            let (low, high) = ((qh &>> shift) & 1, (qh &>> (shift &+ 16)) & 1)
            out[j] = d * Float(UInt32(qs[j] & 15) | (low << 4)) + m
            out[16 + j] = d * Float(UInt32(qs[j] >> 4) | (high << 4)) + m
        }
    }
}

extension BlockQ8_0: ReferenceBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }
}

extension BlockQ8_1: ReferenceBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }
}
