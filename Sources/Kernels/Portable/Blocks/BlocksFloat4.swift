// Formats of 4-bit floats.

import KernelFormats

extension BlockMXFP4: PortableBlock {
    /// 255 is E8M0's NaN.
    var hasFiniteScales: Bool { base.load(as: UInt8.self) != 255 }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.halfScale, self.qs)
        for j in 0..<16 {
            out[j] = d * Float(doubledE2M1[Int(qs[j] & 15)])
            out[16 + j] = d * Float(doubledE2M1[Int(qs[j] >> 4)])
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        row.storeScale(base.load(as: UInt8.self), 0, after: 0)
        packNibbles(load16(qs), row.part(0))
    }
}

extension BlockNVFP4: PortableBlock {
    /// Its NaN counts as zero, as in ggml.
    var hasFiniteScales: Bool { true }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        for group in 0..<4 {  // of 16 values
            let (d, qs) = (self.halfScale(group), self.qs + 8 * group)
            for j in 0..<8 {
                out[16 * group + j] = d * Float(doubledE2M1[Int(qs[j] & 15)])
                out[16 * group + 8 + j] = d * Float(doubledE2M1[Int(qs[j] >> 4)])
            }
        }
    }

    @inline(__always)
    func pack(_ row: PackedRow) {
        // The sign bit is ignored, and NaN counts as zero.
        for index in 0..<4 { row.storeScale(d[index] == 0x7f ? 0 : d[index] & 0x7f, index, after: 0) }
        for part in 0..<2 {
            // Eight bytes hold 16 weights, the first eight in the low nibbles.
            let bytes = UnsafeRawPointer(qs + 16 &* part)
            let (first, second) = (bytes.loadUnaligned(as: UInt64.self), (bytes + 8).loadUnaligned(as: UInt64.self))
            let low: UInt64 = 0x0f0f_0f0f_0f0f_0f0f
            let joined = SIMD2<UInt64>(first & low | (second & low) << 4, (first >> 4) & low | second & ~low)
            packNibbles(unsafeBitCast(joined, to: SIMD16<UInt8>.self), row.part(part))
        }
    }
}
