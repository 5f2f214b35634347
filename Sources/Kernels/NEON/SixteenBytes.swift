import CIntrinsics
import KernelsFloat

/// Sixteen bytes in a register.
struct SixteenBytes: CodeVector {
    let v: Bytes

    @inline(__always) init(_ v: Bytes) { self.v = v }
    @inline(__always) static func load(_ p: UnsafeRawPointer) -> Self { Self(p.loadUnaligned(as: Bytes.self)) }
    @inline(__always)
    init(repeating bytes: UInt32) { v = unsafeBitCast(SIMD4<UInt32>(repeating: bytes), to: Bytes.self) }

    @inline(__always)
    init(sixteenWhereSet bits: UInt32) {
        let select = unsafeBitCast(SIMD2<UInt64>(repeating: 0x8040_2010_0804_0201), to: Bytes.self)
        let low = UInt64(bits & 255) &* 0x0101_0101_0101_0101, high = UInt64(bits >> 8 & 255) &* 0x0101_0101_0101_0101
        v = vtstq_u8(unsafeBitCast(SIMD2(low, high), to: Bytes.self), select) & 16
    }

    @inline(__always) static func | (a: Self, b: Self) -> Self { Self(a.v | b.v) }
    @inline(__always)
    func bits(from shift: Int, mask: UInt8) -> Self { Self((v &>> UInt8(truncatingIfNeeded: shift)) & mask) }
    @inline(__always) func timesSixteen() -> Self { Self(v &<< 4) }
    @inline(__always) func subtracting(_ value: UInt8) -> Self { Self(v &- value) }

    @inline(__always)
    func selecting(_ value: UInt8, whereBit bit: Int) -> Self {
        Self(vtstq_u8(v, Bytes(repeating: UInt8(truncatingIfNeeded: 1 &<< bit))) & value)
    }

    @inline(__always)
    func iq4Levels() -> Self {
        let levels = SIMD2<UInt64>(0xf6ea_ddcf_bfad_9881, 0x7159_4535_2619_0d01)
        return Self(vqtbl1q_u8(unsafeBitCast(levels, to: Bytes.self), v))
    }

    @inline(__always)
    static func interleave(_ a: Self, _ b: Self) -> (Self, Self) {
        (Self(vzip1q_u8(a.v, b.v)), Self(vzip2q_u8(a.v, b.v)))
    }
}
