// Converts a KV cache page to floats, for attention; see `KernelsPortable.widenHalves` and `widenQuantized`.
//
// A page is read once, sequentially, but the next page of the head is elsewhere in memory: it is prefetched here, line
// by line, while this page is converted.

import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.widenHalves`.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    let count = QuantizedPage.tokens &* (keyWidth &+ valueWidth)
    var i = 0
    while i < count {
        let halves = page + 2 &* i
        prefetch_to_l2(next + 2 &* i)
        store4(
            destination + i, loadHalves(halves), loadHalves(halves + 16), loadHalves(halves + 32),
            loadHalves(halves + 48))
        i &+= 32
    }
}

/// As `KernelsPortable.widenQuantized`, for value widths that are multiples of 8.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenQuantized(
    _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    switch layout.codes {
    case .bytes: widen(page, layout, into: destination, next: next, ByteCodes())
    case .nibbles: widen(page, layout, into: destination, next: next, NibbleCodes())
    }
}

/// Reads the codes of a page as signed bytes, the multiples of their scales.
private protocol CodeReader {
    func read32(_ p: UnsafeRawPointer) -> (__m128i, __m128i)
    /// Eight codes, in the lower half.
    func read8(_ p: UnsafeRawPointer) -> __m128i
}

private struct ByteCodes: CodeReader {
    @inline(__always)
    func read32(_ p: UnsafeRawPointer) -> (__m128i, __m128i) { (load16Bytes(p), load16Bytes(p + 16)) }
    @inline(__always)
    func read8(_ p: UnsafeRawPointer) -> __m128i { _mm_set1_epi64x(p.loadUnaligned(as: Int64.self)) }
}

private struct NibbleCodes: CodeReader {
    /// `iq4Levels`.
    private let levels = _mm_set_epi8(113, 89, 69, 53, 38, 25, 13, 1, -10, -22, -35, -49, -65, -83, -104, -127)

    @inline(__always)
    func read32(_ p: UnsafeRawPointer) -> (__m128i, __m128i) { levels(load16Bytes(p)) }
    @inline(__always)
    func read8(_ p: UnsafeRawPointer) -> __m128i { levels(_mm_set1_epi32(p.loadUnaligned(as: Int32.self))).0 }

    /// The levels of the nibbles of 16 bytes: of each byte the low one, then the high one.
    @inline(__always)
    private func levels(_ bytes: __m128i) -> (__m128i, __m128i) {
        let mask = _mm_set1_epi8(15)
        let low = _mm_shuffle_epi8(levels, _mm_and_si128(bytes, mask))
        let high = _mm_shuffle_epi8(levels, _mm_and_si128(_mm_srl_epi16(bytes, _mm_cvtsi32_si128(4)), mask))
        return (_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high))
    }
}

@inline(__always)
private func widen<Reader: CodeReader>(
    _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer, _ reader: Reader
) {
    let codesOfGroup = layout.keyRow
    var scales = layout.keyScales
    var d = 0
    while d < layout.keyWidth {
        let end = min(d &+ QuantizedPage.group, layout.keyWidth)
        prefetch_to_l2(next + scales)
        let (s0, s1) = (loadHalves(page + scales), loadHalves(page + (scales &+ 16)))
        let (s2, s3) = (loadHalves(page + (scales &+ 32)), loadHalves(page + (scales &+ 48)))
        while d < end {
            let codes = d &* codesOfGroup
            prefetch_to_l2(next + codes)
            widen32(reader.read32(page + codes), destination + 32 &* d, s0, s1, s2, s3)
            d &+= 1
        }
        scales &+= 64
    }
    var values = layout.values
    var out = destination + 32 &* layout.keyWidth
    scales = layout.valueScales
    for _ in 0..<QuantizedPage.tokens {
        prefetch_to_l2(next + scales)
        d = 0
        while d < layout.valueWidth {
            prefetch_to_l2(next + values)
            let half = (page + scales).loadUnaligned(as: Int16.self)
            let scale = _mm256_cvtph_ps(_mm_set1_epi16(half))
            scales &+= 2
            if d &+ 32 <= layout.valueWidth {
                widen32(reader.read32(page + values), out, scale, scale, scale, scale)
                (d, values, out) = (d &+ 32, values &+ codesOfGroup, out + 32)
                continue
            }
            while d < layout.valueWidth {
                let eight = reader.read8(page + values)
                _mm256_storeu_ps(out, _mm256_mul_ps(floats(signed: eight).0, scale))
                (d, values, out) = (d &+ 8, values &+ codesOfGroup / 4, out + 8)
            }
        }
    }
}

@inline(__always)
private func widen32(
    _ codes: (__m128i, __m128i), _ out: UnsafeMutablePointer<Float>, _ s0: __m256, _ s1: __m256, _ s2: __m256,
    _ s3: __m256
) {
    let (a, b) = floats(signed: codes.0)
    let (c, d) = floats(signed: codes.1)
    store4(out, _mm256_mul_ps(a, s0), _mm256_mul_ps(b, s1), _mm256_mul_ps(c, s2), _mm256_mul_ps(d, s3))
}
