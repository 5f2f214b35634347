// Formats of 4-bit floats.

import KernelFormats

extension BlockMXFP4: ReferenceBlock {
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
}

extension BlockNVFP4: ReferenceBlock {
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
}
