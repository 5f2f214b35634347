// Shared by the kernels of this tier: loads, sums, and e^x of eight floats.

import CIntrinsics
import KernelFormats

/// 32 weights of one row.
typealias Weights32 = (__m256, __m256, __m256, __m256)

@inline(__always)
func load(_ p: UnsafePointer<Float>) -> __m256 { _mm256_loadu_ps(p) }

@inline(__always)
func store4(_ p: UnsafeMutablePointer<Float>, _ a: __m256, _ b: __m256, _ c: __m256, _ d: __m256) {
    _mm256_storeu_ps(p, a)
    _mm256_storeu_ps(p + 8, b)
    _mm256_storeu_ps(p + 16, c)
    _mm256_storeu_ps(p + 24, d)
}

@inline(__always)
func load16Bytes(_ p: UnsafeRawPointer) -> __m128i { p.loadUnaligned(as: __m128i.self) }

/// Loads eight half-precision numbers as floats.
@inline(__always)
func loadHalves(_ p: UnsafeRawPointer) -> __m256 { _mm256_cvtph_ps(load16Bytes(p)) }

@inline(__always)
func sum(_ a: __m256) -> Float {
    var s = _mm_add_ps(_mm256_castps256_ps128(a), upper_lane(a))
    s = _mm_add_ps(s, _mm_movehl_ps(s, s))
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)))
}

/// The lower and the upper eight of 16 unsigned bytes, as floats.
@inline(__always)
func floats(unsigned bytes: __m128i) -> (__m256, __m256) {
    (
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes)))
    )
}

/// The lower and the upper eight of 16 signed bytes, as floats.
@inline(__always)
func floats(signed bytes: __m128i) -> (__m256, __m256) {
    (
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)))
    )
}

/// e^x to about 2 ulp: e^x = 2^n · e^r, n = round(x / ln 2), e^r by its Taylor series to the sixth power, whose
/// relative error is below (ln 2 / 2)^7 / 5040 = 1.2e-7. ln 2 is split in two parts to keep r exact. Below −87 the
/// result is 0. NaN propagates: minimum and maximum return their second operand if one is NaN.
@inline(__always)
func exponential(_ x: __m256) -> __m256 {
    let low = _mm256_set1_ps(-87)
    let clamped = _mm256_min_ps(_mm256_set1_ps(88), _mm256_max_ps(low, x))
    let n = round_to_nearest(_mm256_mul_ps(clamped, _mm256_set1_ps(1.442_695_04)))
    var r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693_359_375), clamped)
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.121_944_4e-4), r)
    var p = _mm256_set1_ps(1 / 720)
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1 / 120))
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1 / 24))
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1 / 6))
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5))
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1))
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1))
    let power = exponent_of_two(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)))
    let result = _mm256_mul_ps(p, _mm256_castsi256_ps(power))
    return _mm256_and_ps(result, is_not_below(x, low))
}
