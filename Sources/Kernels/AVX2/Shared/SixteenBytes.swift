import CIntrinsics
import KernelsFloat

/// Sixteen bytes in a register. Conformances are declared here: see `EightFloats`.
struct SixteenBytes: CodeVector {
    let v: __m128i

    @inline(__always) init(_ v: __m128i) { self.v = v }
    @inline(__always) static func load(_ p: UnsafeRawPointer) -> Self { Self(load16Bytes(p)) }
    @inline(__always) init(repeating bytes: UInt32) { v = _mm_set1_epi32(Int32(bitPattern: bytes)) }

    @inline(__always)
    init(sixteenWhereSet bits: UInt32) {
        let spread = _mm_shuffle_epi8(
            _mm_cvtsi32_si128(Int32(bitPattern: bits)),
            _mm_set_epi8(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0))
        let select = _mm_set1_epi64x(Int64(bitPattern: 0x8040_2010_0804_0201))
        let isSet = _mm_cmpeq_epi8(_mm_and_si128(spread, select), select)
        v = _mm_and_si128(isSet, _mm_set1_epi8(16))
    }

    @inline(__always) static func | (a: Self, b: Self) -> Self { Self(_mm_or_si128(a.v, b.v)) }

    @inline(__always)
    func bits(from shift: Int, mask: UInt8) -> Self {
        let shifted = _mm_srl_epi16(v, _mm_cvtsi32_si128(Int32(truncatingIfNeeded: shift)))
        return Self(_mm_and_si128(shifted, _mm_set1_epi8(Int8(bitPattern: mask))))
    }

    @inline(__always) func timesSixteen() -> Self { Self(_mm_slli_epi16(v, 4)) }

    @inline(__always)
    func subtracting(_ value: UInt8) -> Self { Self(_mm_sub_epi8(v, _mm_set1_epi8(Int8(bitPattern: value)))) }

    @inline(__always)
    func selecting(_ value: UInt8, whereBit bit: Int) -> Self {
        let mask = _mm_set1_epi8(Int8(truncatingIfNeeded: 1 &<< bit))
        let isSet = _mm_cmpeq_epi8(_mm_and_si128(v, mask), mask)
        return Self(_mm_and_si128(isSet, _mm_set1_epi8(Int8(bitPattern: value))))
    }

    @inline(__always)
    func iq4Levels() -> Self {
        let levels = _mm_set_epi8(113, 89, 69, 53, 38, 25, 13, 1, -10, -22, -35, -49, -65, -83, -104, -127)
        return Self(_mm_shuffle_epi8(levels, v))
    }

    @inline(__always)
    static func interleave(_ a: Self, _ b: Self) -> (Self, Self) {
        (Self(_mm_unpacklo_epi8(a.v, b.v)), Self(_mm_unpackhi_epi8(a.v, b.v)))
    }
}
