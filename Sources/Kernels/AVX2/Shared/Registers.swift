// Shared by the kernels of this tier: loads and sums of eight floats.

import CIntrinsics
import KernelFormats

@inline(__always)
func load(_ p: UnsafePointer<Float>) -> __m256 { _mm256_loadu_ps(p) }

@inline(__always)
func load16Bytes(_ p: UnsafeRawPointer) -> __m128i { p.loadUnaligned(as: __m128i.self) }

/// Loads eight half-precision numbers as floats.
@inline(__always)
func loadHalves(_ p: UnsafeRawPointer) -> __m256 { _mm256_cvtph_ps(load16Bytes(p)) }

@inline(__always)
func sumOfLanes(_ a: __m256) -> Float {
    var s = _mm_add_ps(_mm256_castps256_ps128(a), upper_lane(a))
    s = _mm_add_ps(s, _mm_movehl_ps(s, s))
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)))
}

/// The lower and the upper eight of 16 unsigned bytes, as floats.
@inline(__always)
func rows16(unsigned bytes: __m128i) -> (__m256, __m256) {
    (
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes)))
    )
}

/// The lower and the upper eight of 16 signed bytes, as floats.
@inline(__always)
func rows16(signed bytes: __m128i) -> (__m256, __m256) {
    (
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)))
    )
}
