// What all tiers for x86-64 have in common for the formats in Packed: the signs of codes, and bytes of rows.

import CIntrinsics

/// These tiers multiply unsigned codes.
@inline(__always) var codesAreSigned: Bool { false }

/// One byte for each of 16 rows.
typealias Bytes = __m128i

/// `width` bits of each byte, from bit `place` on.
@inline(__always)
func field(_ v: Bytes, _ place: Int, _ width: Int) -> Bytes {
    let mask = _mm_set1_epi8(Int8(truncatingIfNeeded: (1 << width) &- 1))
    return _mm_and_si128(_mm_srli_epi16(v, Int32(truncatingIfNeeded: place)), mask)
}

/// Of bytes below 16.
@inline(__always) func timesSixteen(_ v: Bytes) -> Bytes { _mm_slli_epi16(v, 4) }
@inline(__always) func or(_ a: Bytes, _ b: Bytes) -> Bytes { _mm_or_si128(a, b) }
