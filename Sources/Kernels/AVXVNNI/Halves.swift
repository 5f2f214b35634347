// Intrinsics of AVX-512 whose registers are two of 256 bits, for processors without AVX-512. In a module with them, the
// kernels for integers of AVX-512 call these functions instead of those of `CIntrinsics`, which have the same names.
//
// Results are those of the processor, bit for bit. Cases that the kernels do not meet are left out: other rounding modes,
// and shifts by more than an element's width.

import CIntrinsics

// MARK: Halves and elements

// Casts, not `lowHalf` and `init(lowHalf:highHalf:)` of the standard library, which are loops over elements.
@inline(__always) func low(_ a: __m512) -> __m256 { unsafeBitCast(a, to: (__m256, __m256).self).0 }
@inline(__always) func high(_ a: __m512) -> __m256 { unsafeBitCast(a, to: (__m256, __m256).self).1 }
@inline(__always) func low(_ a: __m512i) -> __m256i { unsafeBitCast(a, to: (__m256i, __m256i).self).0 }
@inline(__always) func high(_ a: __m512i) -> __m256i { unsafeBitCast(a, to: (__m256i, __m256i).self).1 }
@inline(__always) func join(_ a: __m256, _ b: __m256) -> __m512 { unsafeBitCast((a, b), to: __m512.self) }
@inline(__always) func join(_ a: __m256i, _ b: __m256i) -> __m512i { unsafeBitCast((a, b), to: __m512i.self) }

@inline(__always) func at_once(_ a: __m512) -> __m512 { a }

// MARK: Floats

@inline(__always)
func _mm512_add_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_add_ps(low(a), low(b)), _mm256_add_ps(high(a), high(b)))
}
@inline(__always)
func _mm512_sub_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_sub_ps(low(a), low(b)), _mm256_sub_ps(high(a), high(b)))
}
@inline(__always)
func _mm512_mul_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_mul_ps(low(a), low(b)), _mm256_mul_ps(high(a), high(b)))
}
@inline(__always)
func _mm512_max_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_max_ps(low(a), low(b)), _mm256_max_ps(high(a), high(b)))
}
@inline(__always)
func _mm512_fmadd_ps(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 {
    join(_mm256_fmadd_ps(low(a), low(b), low(c)), _mm256_fmadd_ps(high(a), high(b), high(c)))
}
@inline(__always)
func _mm512_fnmadd_ps(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 {
    join(_mm256_fnmadd_ps(low(a), low(b), low(c)), _mm256_fnmadd_ps(high(a), high(b), high(c)))
}
@inline(__always)
func _mm512_abs_ps(_ a: __m512) -> __m512 {
    _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fff_ffff)))
}
/// `value` where `x` is at least `low` or not a number, else 0.
@inline(__always)
func zero_below(_ x: __m512, _ least: __m512, _ value: __m512) -> __m512 {
    join(
        _mm256_and_ps(low(value), is_not_below(low(x), low(least))),
        _mm256_and_ps(high(value), is_not_below(high(x), high(least))))
}

// MARK: Integers

@inline(__always)
func _mm512_and_si512(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_and_si256(low(a), low(b)), _mm256_and_si256(high(a), high(b)))
}
@inline(__always)
func _mm512_andnot_si512(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_andnot_si256(low(a), low(b)), _mm256_andnot_si256(high(a), high(b)))
}
@inline(__always)
func _mm512_or_si512(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_or_si256(low(a), low(b)), _mm256_or_si256(high(a), high(b)))
}
@inline(__always)
func _mm512_xor_si512(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_xor_si256(low(a), low(b)), _mm256_xor_si256(high(a), high(b)))
}
@inline(__always)
func _mm512_add_epi32(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_add_epi32(low(a), low(b)), _mm256_add_epi32(high(a), high(b)))
}
@inline(__always)
func _mm512_sub_epi32(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_sub_epi32(low(a), low(b)), _mm256_sub_epi32(high(a), high(b)))
}
@inline(__always)
func _mm512_mullo_epi32(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_mullo_epi32(low(a), low(b)), _mm256_mullo_epi32(high(a), high(b)))
}
@inline(__always)
func _mm512_srai_epi32(_ a: __m512i, _ count: UInt32) -> __m512i {
    join(_mm256_srai_epi32(low(a), Int32(count)), _mm256_srai_epi32(high(a), Int32(count)))
}
@inline(__always)
func _mm512_slli_epi16(_ a: __m512i, _ count: UInt32) -> __m512i {
    join(_mm256_slli_epi16(low(a), Int32(count)), _mm256_slli_epi16(high(a), Int32(count)))
}
@inline(__always)
func _mm512_srli_epi16(_ a: __m512i, _ count: UInt32) -> __m512i {
    join(_mm256_srli_epi16(low(a), Int32(count)), _mm256_srli_epi16(high(a), Int32(count)))
}
@inline(__always)
func _mm512_slli_epi32(_ a: __m512i, _ count: UInt32) -> __m512i {
    join(_mm256_slli_epi32(low(a), Int32(count)), _mm256_slli_epi32(high(a), Int32(count)))
}
@inline(__always)
func _mm512_slli_epi64(_ a: __m512i, _ count: UInt32) -> __m512i {
    join(_mm256_slli_epi64(low(a), Int32(count)), _mm256_slli_epi64(high(a), Int32(count)))
}
@inline(__always)
func _mm512_shuffle_epi8(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_shuffle_epi8(low(a), low(b)), _mm256_shuffle_epi8(high(a), high(b)))
}

// MARK: Constants, loads, conversions

@inline(__always) private func both(_ a: __m256) -> __m512 { join(a, a) }
@inline(__always) private func both(_ a: __m256i) -> __m512i { join(a, a) }

@inline(__always) func _mm512_setzero_ps() -> __m512 { both(_mm256_setzero_ps()) }
@inline(__always) func _mm512_setzero_si512() -> __m512i { both(_mm256_setzero_si256()) }
@inline(__always) func _mm512_set1_ps(_ a: Float) -> __m512 { both(_mm256_set1_ps(a)) }
@inline(__always) func _mm512_set1_epi8(_ a: Int8) -> __m512i { both(_mm256_set1_epi8(a)) }
@inline(__always) func _mm512_set1_epi32(_ a: Int32) -> __m512i { both(_mm256_set1_epi32(a)) }
@inline(__always) func _mm512_set1_epi64(_ a: Int64) -> __m512i { both(_mm256_set1_epi64x(a)) }
@inline(__always)
func _mm512_set_epi64(
    _ h: Int64, _ g: Int64, _ f: Int64, _ e: Int64, _ d: Int64, _ c: Int64, _ b: Int64, _ a: Int64
) -> __m512i { join(_mm256_set_epi64x(d, c, b, a), _mm256_set_epi64x(h, g, f, e)) }
@inline(__always)
func _mm512_loadu_ps(_ p: UnsafeRawPointer!) -> __m512 { p.loadUnaligned(as: __m512.self) }
@inline(__always)
func _mm512_maskz_loadu_ps(_ mask: __mmask16, _ p: UnsafeRawPointer!) -> __m512 {
    _mm512_mask_mov_ps(_mm512_setzero_ps(), mask, _mm512_loadu_ps(p))
}
@inline(__always)
func _mm512_storeu_ps(_ p: UnsafeMutableRawPointer!, _ a: __m512) {
    _mm256_storeu_ps(p.assumingMemoryBound(to: Float.self), low(a))
    _mm256_storeu_ps(p.assumingMemoryBound(to: Float.self) + 8, high(a))
}
@inline(__always) func _mm512_castps512_ps256(_ a: __m512) -> __m256 { low(a) }
@inline(__always) func upper_half(_ a: __m512) -> __m256 { high(a) }
@inline(__always) func _mm512_castps_si512(_ a: __m512) -> __m512i { unsafeBitCast(a, to: __m512i.self) }
@inline(__always) func _mm512_castsi512_ps(_ a: __m512i) -> __m512 { unsafeBitCast(a, to: __m512.self) }
@inline(__always)
func _mm512_cvtepi32_ps(_ a: __m512i) -> __m512 { join(_mm256_cvtepi32_ps(low(a)), _mm256_cvtepi32_ps(high(a))) }
@inline(__always)
func _mm512_cvtps_epi32(_ a: __m512) -> __m512i { join(_mm256_cvtps_epi32(low(a)), _mm256_cvtps_epi32(high(a))) }
@inline(__always)
func _mm512_cvtph_ps(_ a: __m256i) -> __m512 {
    join(_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(upper_lane_of_integers(a)))
}
@inline(__always)
func _mm512_cvtepu8_epi32(_ a: __m128i) -> __m512i {
    join(_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(a, a)))
}
@inline(__always)
func _mm512_cvtepi8_epi32(_ a: __m128i) -> __m512i {
    join(_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(a, a)))
}
/// The low byte of each number.
@inline(__always)
func _mm512_cvtepi32_epi8(_ a: __m512i) -> __m128i {
    let bytes = _mm512_and_si512(a, _mm512_set1_epi32(255))
    let words = _mm256_packus_epi32(low(bytes), high(bytes))
    // Each lane has four words of either half.
    let (first, second) = (_mm256_castsi256_si128(words), upper_lane_of_integers(words))
    return _mm_packus_epi16(_mm_unpacklo_epi64(first, second), _mm_unpackhi_epi64(first, second))
}

// MARK: Masks

/// Bit i is set if the numbers i have a common bit.
@inline(__always)
func _mm512_test_epi32_mask(_ a: __m512i, _ b: __m512i) -> __mmask16 {
    let common = _mm512_and_si512(a, b), zero = _mm256_setzero_si256()
    let first = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(low(common), zero)))
    let second = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(high(common), zero)))
    return ~__mmask16(truncatingIfNeeded: second << 8 | first)
}
/// All bits of the numbers whose bit is set.
@inline(__always)
private func lanes(_ mask: __mmask16) -> __m512i {
    let all = _mm256_set1_epi32(Int32(mask))
    let first = _mm256_set_epi32(0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1), second = _mm256_slli_epi32(first, 8)
    return join(
        _mm256_cmpeq_epi32(_mm256_and_si256(all, first), first),
        _mm256_cmpeq_epi32(_mm256_and_si256(all, second), second))
}
/// `b` where the mask is set, else `a`.
@inline(__always)
func _mm512_mask_mov_epi32(_ a: __m512i, _ mask: __mmask16, _ b: __m512i) -> __m512i {
    let lanes = lanes(mask)
    return join(_mm256_blendv_epi8(low(a), low(b), low(lanes)), _mm256_blendv_epi8(high(a), high(b), high(lanes)))
}
@inline(__always)
func _mm512_mask_mov_ps(_ a: __m512, _ mask: __mmask16, _ b: __m512) -> __m512 {
    _mm512_castsi512_ps(_mm512_mask_mov_epi32(_mm512_castps_si512(a), mask, _mm512_castps_si512(b)))
}
