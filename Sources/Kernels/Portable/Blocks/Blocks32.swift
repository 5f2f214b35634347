// Formats with blocks of 32 values.

import KernelFormats

extension BlockQ4_0: PortableBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(Int32(qs[j] & 15) - 8)
            out[16 + j] = d * Float(Int32(qs[j] >> 4) - 8)
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        packNibbles(load16(qs), row.part(0))
    }
}

extension BlockQ4_1: PortableBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, m, qs) = (self.d, self.m, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(qs[j] & 15) + m
            out[16 + j] = d * Float(qs[j] >> 4) + m
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        row.storeHalf(at: base + 2, 1)
        packNibbles(load16(qs), row.part(0))
    }
}

extension BlockQ5_0: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        packNibbles(load16(qs), row.part(0))
        packBits(ofWord: qh, row.part(0) + 256)
    }
}

extension BlockQ5_1: PortableBlock {
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

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        row.storeHalf(at: base + 2, 1)
        packNibbles(load16(qs), row.part(0))
        packBits(ofWord: qh, row.part(0) + 256)
    }
}

extension BlockQ8_0: PortableBlock {
    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeHalf(at: base, 0)
        for step in 0..<8 { copyWord(qs + 4 &* step, row.part(0) + 64 &* step) }
    }

    /// As `pack`, in two parts; see `PackedLayout.leadingQ8_0`.
    ///
    /// - Parameter trailing: Where step 0 of the trailing part goes.
    @inline(__always)
    func packSplit(_ row: PackedRow, trailing: UnsafeMutableRawPointer) {
        row.storeHalf(at: base, 0)
        let (low, high) = (load16(qs) ^ 0x80, load16(qs + 16) ^ 0x80)
        let planes = row.part(0)
        packNibbles(join(low, high, high: true), planes)
        withUnsafeBytes(of: (low, high)) { codes in
            packTwoBits(codes.baseAddress!, 1, planes + 256)
            packTwoBits(codes.baseAddress!, 0, trailing)
        }
    }
}

extension BlockQ8_1: PortableBlock {
    static var halfScales: (Int, Int) { (0, 2) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }
}
