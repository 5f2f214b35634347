// Quantization with the search of `KernelsFloat.quantizeRow`.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// Quantizes `count` values of a row to a block format, with the same bits as `KernelsPortable.quantize`.
@inline(never)
public func quantize(
    _ type: TensorType, _ source: UnsafePointer<Float>, importance: UnsafePointer<Float>?,
    into destination: UnsafeMutableRawPointer, count: Int
) {
    quantizeRow(EightFloats.self, type, source, importance: importance, into: destination, count: count)
}

extension EightFloats {
    typealias Integers = __m256i

    @inline(__always)
    func storeHalves(_ p: UnsafeMutablePointer<UInt16>) -> Self {
        let halves = nearest_halves(v)
        UnsafeMutableRawPointer(p).storeBytes(of: halves, as: __m128i.self)
        return Self(_mm256_cvtph_ps(halves))
    }

    @inline(__always)
    static func choose(_ a: Self, below b: Self, _ x: Self, else y: Self) -> Self {
        Self(_mm256_blendv_ps(y.v, x.v, is_below(a.v, b.v)))
    }

    @inline(__always) func integers() -> Integers { _mm256_cvtps_epi32(v) }

    @inline(__always)
    func iq4Level() -> Self {
        let (index, isUpper) = iq4Search()
        let low = _mm256_setr_ps(-127, -104, -83, -65, -49, -35, -22, -10)
        let high = _mm256_setr_ps(1, 13, 25, 38, 53, 69, 89, 113)
        // The permutation reads the lowest three bits of an index.
        return Self(
            _mm256_blendv_ps(
                _mm256_permutevar8x32_ps(low, index), _mm256_permutevar8x32_ps(high, index), isUpper))
    }

    @inline(__always) func iq4Code() -> Integers { iq4Search().index }

    /// A binary search among the 15 borders between levels: the number of borders below each value, and where it is 8
    /// or more.
    @inline(__always)
    private func iq4Search() -> (index: __m256i, isUpper: __m256) {
        let above8 = is_below(_mm256_set1_ps(-4.5), v)
        let border4 = _mm256_blendv_ps(_mm256_set1_ps(-57), _mm256_set1_ps(45.5), above8)
        var index = twice(_mm256_setzero_si256(), plus: above8)
        index = twice(index, plus: is_below(border4, v))
        let borders2 = _mm256_setr_ps(-93.5, -28.5, 19, 79, 0, 0, 0, 0)
        index = twice(index, plus: is_below(_mm256_permutevar8x32_ps(borders2, index), v))
        let borders1 = _mm256_setr_ps(-115.5, -74, -42, -16, 7, 31.5, 61, 101)
        return (twice(index, plus: is_below(_mm256_permutevar8x32_ps(borders1, index), v)), above8)
    }

    /// `2 · index`, plus one where the mask is set.
    @inline(__always)
    private func twice(_ index: __m256i, plus mask: __m256) -> __m256i {
        _mm256_sub_epi32(_mm256_add_epi32(index, index), _mm256_castps_si256(mask))
    }

    @inline(__always)
    func e2m1Level() -> Self {
        let bounded = _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(-12)), _mm256_set1_ps(12))
        let powers = _mm256_and_ps(bounded, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f80_0000)))
        // A value has two significant bits; below 2, one: it is rounded to a multiple of half its power of two.
        let shift = _mm256_mul_ps(_mm256_max_ps(powers, _mm256_set1_ps(2)), _mm256_set1_ps(6_291_456))
        return Self(_mm256_sub_ps(_mm256_add_ps(bounded, shift), shift))
    }

    @inline(__always)
    func e2m1Code() -> Integers {
        let bits = _mm256_castps_si256(e2m1Level().v)
        let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff_ffff))
        // Exponent and first mantissa bit: 1 becomes 0 and is a 1, 2 becomes 2, 12 becomes 7.
        let exponents = _mm256_sub_epi32(_mm256_srli_epi32(magnitude, 22), _mm256_set1_epi32(254))
        let sign = _mm256_slli_epi32(_mm256_srli_epi32(bits, 31), 3)
        let codes = _mm256_or_si256(_mm256_max_epi32(exponents, _mm256_set1_epi32(1)), sign)
        return _mm256_andnot_si256(_mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256()), codes)
    }

    @inline(__always)
    static func transpose(_ rows: UnsafePointer<Float>, stride: Int, into columns: UnsafeMutablePointer<Float>) {
        /// Transposes the halves of the columns from `first`: rows 0...3 beside 4...7.
        @inline(__always)
        func four(_ first: Int) {
            @inline(__always)
            func pair(_ row: Int) -> __m256 {
                let low = _mm_loadu_ps(rows + (row &* stride &+ first))
                let high = _mm_loadu_ps(rows + ((row &+ 4) &* stride &+ first))
                return join(low, high)
            }
            let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3))
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d))
            let (abHigh, cdHigh) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d))
            let to = columns + 8 &* first
            store4(
                to, low_pairs(ab, cd), high_pairs(ab, cd), low_pairs(abHigh, cdHigh), high_pairs(abHigh, cdHigh))
        }
        four(0)
        four(4)
    }

    @inline(__always)
    static func bytes(
        _ a: Integers, _ b: Integers, _ c: Integers, _ d: Integers, bias: Int16, top: UInt8
    ) -> Integers {
        // These saturate, and integers that do not fit 32 bits are -2³¹.
        let ab = _mm256_adds_epi16(_mm256_packs_epi32(a, b), _mm256_set1_epi16(bias))
        let cd = _mm256_adds_epi16(_mm256_packs_epi32(c, d), _mm256_set1_epi16(bias))
        let bounded = _mm256_min_epu8(_mm256_packus_epi16(ab, cd), _mm256_set1_epi8(Int8(bitPattern: top)))
        // In each half, four bytes of a, then of b, c and d: one of each side by side.
        let order = _mm256_setr_epi8(
            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
        return _mm256_shuffle_epi8(bounded, order)
    }

    @inline(__always)
    static func storeRows(
        _ a: Integers, _ b: Integers, _ c: Integers, _ d: Integers, _ rows: UnsafeMutableRawPointer, stride: Int
    ) {
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d))
        let (abHigh, cdHigh) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d))
        let lanes04 = _mm256_unpacklo_epi64(ab, cd), lanes15 = _mm256_unpackhi_epi64(ab, cd)
        let lanes26 = _mm256_unpacklo_epi64(abHigh, cdHigh), lanes37 = _mm256_unpackhi_epi64(abHigh, cdHigh)
        @inline(__always)
        func store(_ lane: Int, _ low: __m256i) {
            (rows + lane &* stride).storeBytes(of: _mm256_castsi256_si128(low), as: __m128i.self)
            (rows + (lane &+ 4) &* stride).storeBytes(of: upper_lane_of_integers(low), as: __m128i.self)
        }
        store(0, lanes04)
        store(1, lanes15)
        store(2, lanes26)
        store(3, lanes37)
    }

    @inline(__always)
    static func packNibbles(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) {
        let mask = _mm_set1_epi8(15)
        let low = _mm_and_si128(load16Bytes(codes), mask)
        let high = _mm_and_si128(load16Bytes(codes + 16), mask)
        bytes.storeBytes(of: _mm_or_si128(low, _mm_slli_epi16(high, 4)), as: __m128i.self)
    }

    @inline(__always)
    static func fifthBits(_ codes: UnsafePointer<UInt8>) -> UInt32 {
        // A byte's uppermost bit; bits that come from the lower byte are below it.
        let low = _mm_movemask_epi8(_mm_slli_epi16(load16Bytes(codes), 3))
        let high = _mm_movemask_epi8(_mm_slli_epi16(load16Bytes(codes + 16), 3))
        return UInt32(truncatingIfNeeded: low) | UInt32(truncatingIfNeeded: high) << 16
    }
}

/// Two registers of four side by side.
@inline(__always)
private func join(_ low: __m128, _ high: __m128) -> __m256 {
    join_lower_lanes(_mm256_castps128_ps256(low), _mm256_castps128_ps256(high))
}

/// The lower pairs of each four floats of `a` and `b`, and the upper pairs.
@inline(__always)
private func low_pairs(_ a: __m256, _ b: __m256) -> __m256 {
    _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
}

@inline(__always)
private func high_pairs(_ a: __m256, _ b: __m256) -> __m256 {
    _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
}

@inline(__always)
private func store4(_ p: UnsafeMutablePointer<Float>, _ a: __m256, _ b: __m256, _ c: __m256, _ d: __m256) {
    _mm256_storeu_ps(p, a)
    _mm256_storeu_ps(p + 8, b)
    _mm256_storeu_ps(p + 16, c)
    _mm256_storeu_ps(p + 24, d)
}
