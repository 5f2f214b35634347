// Quantizes activations to the layout of `WideTile`.

import CIntrinsics
import KernelFormats
import KernelsAVX2

/// Quantizes a token to one column of a tile, or to two, and returns its scale, a power of two.
///
/// The normalized mean square error is about 3.5e-5 with 8 bits, and 4e-9 with 15 bits. A value that is not finite makes
/// the scale NaN, and with it all results.
///
/// - Parameters:
///   - count: Number of values, a multiple of 32.
///   - columns: Number of columns of the tile.
///   - column: The token's first column.
///   - pair: Whether the next column is the token's too.
///   - slices: The tile's first slice; the next ones are `sliceStride` bytes apart.
///   - next: The values of the token that will be rounded next; they are prefetched.
@inline(never)
public func roundToken(
    _ values: UnsafePointer<Float>, count: Int, pair: Bool, into slices: UnsafeMutableRawPointer, sliceStride: Int,
    columns: Int, column: Int, next: UnsafePointer<Float>
) -> Float {
    let exponent = largestExponent(values, count: count)
    let down = Float(bitPattern: UInt32(bitPattern: 254 &- exponent) << 23)
    let parts = count / 32
    var slice = slices
    for first in stride(from: 0, to: parts, by: WideTile.sliceParts) {
        let x = values + 32 &* first
        for line in 0..<16 { prefetch_to_l2(next + (32 &* first &+ 16 &* line)) }
        let place = TokenColumns(
            slice: slice, columns: columns, column: column, parts: min(WideTile.sliceParts, parts &- first))
        if pair { round(x, down, place, pair: true) } else { round(x, down, place, pair: false) }
        slice += sliceStride
    }
    return exponent == 255 ? .nan : Float(bitPattern: UInt32(exponent) << 23)
}

/// The columns of a token in a slice.
private struct TokenColumns {
    let slice: UnsafeMutableRawPointer
    let columns: Int
    /// The token's first column.
    let column: Int
    /// Those of the slice that are used.
    let parts: Int

    /// Stores 32 codes, as bytes, of a column.
    @inline(__always)
    func storeCodes(_ codes: __m256i, _ part: Int, _ column: Int) {
        var codes = in_order(codes)
        scatter(&codes, 8, to: slice + 4 &* (8 &* part &* columns &+ column))
    }

    @inline(__always)
    func scatter(_ numbers: UnsafeRawPointer, _ count: Int, to first: UnsafeMutableRawPointer) {
        var target = first
        for index in 0..<count {
            target.storeBytes(of: numbers.load(fromByteOffset: 4 &* index, as: Int32.self), as: Int32.self)
            target += 4 &* columns
        }
    }

    /// Stores a number for each part.
    @inline(__always)
    func store(_ numbers: __m256i, _ field: Int, _ column: Int) {
        var numbers = in_order(numbers)
        let first = slice + (field &* columns &+ 4 &* column)
        if parts == 8 { scatter(&numbers, 8, to: first) } else { scatter(&numbers, parts, to: first) }
    }
}

extension TokenColumns {
    /// Stores the sums of eight parts as 16-bit integers.
    @inline(__always)
    func storeSums(_ sums: __m256, _ column: Int) {
        let magnitudes = _mm256_castps_si256(
            _mm256_and_ps(sums, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fff_ffff))))
        let four = _mm_max_epi32(_mm256_castsi256_si128(magnitudes), upper_lane_of_integers(magnitudes))
        let two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four))
        let largest = max(_mm_cvtsi128_si32(two), _mm_cvtsi128_si32(_mm_srli_epi64(two, 32)))
        // The largest becomes 2^13 to 2^14.
        let power = max(-100, (largest >> 23) &- 127 &- 13)
        let inverse = Float(bitPattern: UInt32(bitPattern: 127 &- power) << 23)
        let codes = unsafeBitCast(
            _mm256_cvtps_epi32(_mm256_mul_ps(sums, _mm256_set1_ps(inverse))), to: SIMD8<Int32>.self)
        let place = slice + 4 &* column
        for pair in 0..<4 {
            let both = codes[2 &* pair] & 0xffff | codes[2 &* pair &+ 1] << 16
            place.storeBytes(
                of: both, toByteOffset: (WideTile.partSums &+ 4 &* pair) &* columns, as: Int32.self)
        }
        place.storeBytes(of: power << 23, toByteOffset: WideTile.sumExponents &* columns, as: Int32.self)
    }
}

/// One value for each part of a slice.
private typealias Parts<Value> = (Value, Value, Value, Value, Value, Value, Value, Value)

/// Rounds up to 256 values. `pair` is a literal.
@inline(__always)
private func round(_ x: UnsafePointer<Float>, _ down: Float, _ place: TokenColumns, pair: Bool) {
    // Parts that are not used repeat the last one that is.
    @inline(__always)
    func part(_ index: Int) -> UnsafePointer<Float> { x + 32 &* min(index, place.parts &- 1) }
    @inline(__always)
    func magnitudes(_ index: Int) -> __m256 {
        let both = _mm512_max_ps(_mm512_abs_ps(floats16(part(index))), _mm512_abs_ps(floats16(part(index) + 16)))
        return _mm256_max_ps(_mm512_castps512_ps256(both), upper_half(both))
    }
    // Steps below 2^-16 of a step of the largest values would gain nothing. Values become less than 2.
    let largest = largest(
        (
            magnitudes(0), magnitudes(1), magnitudes(2), magnitudes(3), magnitudes(4), magnitudes(5), magnitudes(6),
            magnitudes(7)
        ))
    let magnitude = _mm256_max_ps(_mm256_mul_ps(largest, _mm256_set1_ps(down)), _mm256_set1_ps(0x1p-16))
    let factors = Factors(
        atLeast: _mm256_div_ps(magnitude, _mm256_set1_ps(pair ? WideTile.largestOfPair : WideTile.largestCode)),
        powers: pair)
    let inverses = _mm256_div_ps(_mm256_set1_ps(1), factors.values)
    /// Stores the codes of a part, and returns their sums in each four of them.
    @inline(__always)
    func codes(_ index: Int) -> __m256i {
        let (down, inverse) = (_mm512_set1_ps(down), _mm512_set1_ps(inverses[index]))
        @inline(__always)
        func codes(_ x: UnsafePointer<Float>) -> __m512i {
            _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_mul_ps(floats16(x), down), inverse))
        }
        let (low, high) = (codes(part(index)), codes(part(index) + 16))
        guard pair else {
            let codes = bytes(low, high)
            if index < place.parts { place.storeCodes(codes, index, place.column) }
            return sumsOfFour(codes)
        }
        let firsts = (firstOfPair(low), firstOfPair(high))
        let first = bytes(firsts.0, firsts.1)
        let second = bytes(secondOfPair(low, firsts.0), secondOfPair(high, firsts.1))
        if index < place.parts {
            place.storeCodes(first, index, place.column)
            place.storeCodes(second, index, place.column &+ 1)
        }
        return _mm256_add_epi32(
            _mm256_slli_epi32(sumsOfFour(first), Int32(WideTile.pairShift)), sumsOfFour(second))
    }
    let four = sums(codes(0), codes(1), codes(2), codes(3))
    let others = sums(codes(4), codes(5), codes(6), codes(7))
    let low = joinLower(four, others), high = joinUpper(four, others)
    let total = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_add_epi32(low, high)), factors.values)
    let last = pair ? place.column &+ 1 : place.column
    for column in place.column...last {
        let isFirst = pair && column != last
        let sums = pair ? (partOfPair(low, first: isFirst), partOfPair(high, first: isFirst)) : (low, high)
        place.store(factors.bases(ofFirst: isFirst), WideTile.bases, column)
        place.store(factors.multiples, WideTile.multiples, column)
        place.store(_mm256_castps_si256(factors.values), WideTile.factors, column)
        place.store(sums.0, WideTile.sums, column)
        place.store(sums.1, WideTile.sums &+ 4 &* WideTile.sliceParts, column)
        if place.parts == WideTile.sliceParts { place.storeSums(total, column) }
    }
}

/// The largest value of each register, in order.
@inline(__always)
private func largest(_ a: Parts<__m256>) -> __m256 {
    @inline(__always)
    func two(_ a: __m256, _ b: __m256) -> __m256d {
        _mm256_castps_pd(_mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)))
    }
    @inline(__always)
    func four(_ a: __m256d, _ b: __m256d) -> __m256 {
        _mm256_max_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)), _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)))
    }
    let (low, high) = (four(two(a.0, a.1), two(a.2, a.3)), four(two(a.4, a.5), two(a.6, a.7)))
    return _mm256_max_ps(join_lower_lanes(low, high), join_upper_lanes(low, high))
}

/// The sum of each four signed bytes.
@inline(__always)
private func sumsOfFour(_ bytes: __m256i) -> __m256i {
    _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes), _mm256_set1_epi16(1))
}

/// The sum of each lane of four registers: the lower lanes', in order, then the upper lanes'.
@inline(__always)
private func sums(_ a: __m256i, _ b: __m256i, _ c: __m256i, _ d: __m256i) -> __m256i {
    _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d))
}

@inline(__always)
private func joinLower(_ a: __m256i, _ b: __m256i) -> __m256i {
    _mm256_castps_si256(join_lower_lanes(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)))
}

@inline(__always)
private func joinUpper(_ a: __m256i, _ b: __m256i) -> __m256i {
    _mm256_castps_si256(join_upper_lanes(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)))
}

/// 32 integers as bytes.
@inline(__always)
private func bytes(_ low: __m512i, _ high: __m512i) -> __m256i {
    _mm256_set_m128i(_mm512_cvtepi32_epi8(high), _mm512_cvtepi32_epi8(low))
}

/// Numbers `(1 + e/8) · 2^a` of eight parts.
private struct Factors {
    /// 2^a.
    private let powers: __m256i
    /// 64 · e.
    let multiples: __m256i
    let values: __m256

    /// The smallest ones that are not below positive numbers.
    ///
    /// - Parameter powers: Whether e is 0. A literal.
    @inline(__always)
    init(atLeast numbers: __m256, powers: Bool) {
        // The lowest bit of e, or of a.
        let place = powers ? 23 : 20
        let below = _mm256_set1_epi32(1 << Int32(place) &- 1)
        let bits = _mm256_andnot_si256(below, _mm256_add_epi32(_mm256_castps_si256(numbers), below))
        values = _mm256_castsi256_ps(bits)
        self.powers = _mm256_and_si256(bits, _mm256_set1_epi32(0x7f80_0000))
        let e = _mm256_and_si256(_mm256_srli_epi32(bits, 20), _mm256_set1_epi32(7))
        multiples = _mm256_slli_epi32(e, 6)
    }

    /// Floats whose last place is 2^a, or 128 times as much.
    @inline(__always)
    func bases(ofFirst: Bool) -> __m256i {
        let exponent = Int32(23 + (ofFirst ? WideTile.pairShift : 0)) << 23 | 0x40_0000
        return _mm256_add_epi32(powers, _mm256_set1_epi32(exponent))
    }
}

/// `code / 128`, rounded.
@inline(__always)
private func firstOfPair(_ code: __m512i) -> __m512i {
    let half = _mm512_set1_epi32(1 << Int32(WideTile.pairShift - 1))
    return _mm512_srai_epi32(_mm512_add_epi32(code, half), UInt32(WideTile.pairShift))
}

/// Sums as `128 · first + second`, like codes: the first or the second number.
@inline(__always)
private func partOfPair(_ sums: __m256i, first: Bool) -> __m256i {
    let half = _mm256_set1_epi32(1 << Int32(WideTile.pairShift - 1))
    let firsts = _mm256_srai_epi32(_mm256_add_epi32(sums, half), Int32(WideTile.pairShift))
    return first ? firsts : _mm256_sub_epi32(sums, _mm256_slli_epi32(firsts, Int32(WideTile.pairShift)))
}

@inline(__always)
private func secondOfPair(_ code: __m512i, _ first: __m512i) -> __m512i {
    _mm512_sub_epi32(code, _mm512_slli_epi32(first, UInt32(WideTile.pairShift)))
}
