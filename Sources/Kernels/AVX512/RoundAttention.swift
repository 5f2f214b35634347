// Converts keys, values and queries to the 16-bit integers of `WordPage` and `WordAttention`.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// Quantizes 32 queries, in place: `[D][32]` floats become `[(D + 1) / 2][32][2]` integers.
///
/// - Parameter scales: `[32]`; NaN for a query with a number that is not finite.
@inline(never)
public func roundQueries(_ queries: UnsafeMutablePointer<Float>, width: Int, scales: UnsafeMutablePointer<Float>) {
    roundColumns(FloatNumbers.self, UnsafeRawPointer(queries), width, into: UnsafeMutableRawPointer(queries), scales)
}

/// Quantizes a page of floats: `[D][32]` keys and `[32][Dv]` values. Dv is a multiple of 8, and at least 16.
@inline(never)
public func roundPage(_ floats: UnsafePointer<Float>, into page: WordPage) {
    round(FloatNumbers.self, UnsafeRawPointer(floats), into: page, next: UnsafeRawPointer(floats))
}

/// The same for a page of halves.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func roundHalves(_ halves: UnsafeRawPointer, into page: WordPage, next: UnsafeRawPointer) {
    round(HalfNumbers.self, halves, into: page, next: next)
}

@inline(__always)
private func round<Numbers: NumberFormat>(
    _: Numbers.Type, _ source: UnsafeRawPointer, into page: WordPage, next: UnsafeRawPointer
) {
    let keyBytes = pageTokens &* page.keyWidth &* Numbers.bytes
    let pageBytes = keyBytes &+ pageTokens &* page.valueWidth &* Numbers.bytes
    for offset in stride(from: 0, to: pageBytes, by: 64) { prefetch_to_l2(next + offset) }
    if page.hasByteKeys {
        roundByteKeys(Numbers.self, source, into: page)
    } else {
        roundColumns(Numbers.self, source, page.keyWidth, into: page.keys, page.scales)
    }
    for token in stride(from: 0, to: pageTokens, by: 2) { roundPair(Numbers.self, source + keyBytes, token, page) }
}

/// Quantizes 32 vectors, side by side, to codes whose squares sum up to at most `WordPage.length²`. `codes` may be `source`.
@inline(__always)
private func roundColumns<Numbers: NumberFormat>(
    _: Numbers.Type, _ source: UnsafeRawPointer, _ width: Int, into codes: UnsafeMutableRawPointer,
    _ scales: UnsafeMutablePointer<Float>
) {
    for half in 0..<2 {
        let column = source + 16 &* half &* Numbers.bytes
        @inline(__always)
        func load(_ d: Int) -> __m512 { Numbers.load(column + pageTokens &* Numbers.bytes &* d) }
        var largestBits = _mm512_setzero_si512()
        var (even, odd) = (_mm512_setzero_ps(), _mm512_setzero_ps())
        for pair in 0..<width / 2 {
            let (x, y) = (load(2 &* pair), load(2 &* pair &+ 1))
            largestBits = _mm512_max_epi32(largestBits, _mm512_max_epi32(magnitudeBits(x), magnitudeBits(y)))
            even = _mm512_fmadd_ps(x, x, even)
            odd = _mm512_fmadd_ps(y, y, odd)
        }
        if width % 2 == 1 {
            let x = load(width &- 1)
            largestBits = _mm512_max_epi32(largestBits, magnitudeBits(x))
            even = _mm512_fmadd_ps(x, x, even)
        }
        let largest = _mm512_castsi512_ps(largestBits)
        // Where a square is infinite, the length is at most that of numbers like the largest.
        let longest = _mm512_mul_ps(largest, _mm512_set1_ps(Float(width).squareRoot()))
        let length = _mm512_min_ps(_mm512_sqrt_ps(_mm512_add_ps(even, odd)), longest)
        var step = _mm512_max_ps(
            _mm512_mul_ps(length, _mm512_set1_ps(1 / WordPage.length)),
            _mm512_mul_ps(largest, _mm512_set1_ps(1 / WordPage.largestCode)))
        // The squares of smaller numbers may be 0.
        step = _mm512_max_ps(step, _mm512_set1_ps(0x1p-70))
        let inverse = _mm512_div_ps(_mm512_set1_ps(1), step)
        // The difference is NaN if a number is not finite.
        _mm512_storeu_ps(scales + 16 &* half, _mm512_add_ps(step, _mm512_sub_ps(largest, largest)))
        var target = codes + 64 &* half
        for pair in 0..<(width &+ 1) / 2 {
            let x = load(2 &* pair)
            let y = 2 &* pair &+ 1 < width ? load(2 &* pair &+ 1) : _mm512_setzero_ps()
            target.storeBytes(of: words(x, y, inverse, inverse), as: __m512i.self)
            target += 128
        }
    }
}

/// Quantizes the values of a token and the next one.
@inline(__always)
private func roundPair<Numbers: NumberFormat>(
    _: Numbers.Type, _ values: UnsafeRawPointer, _ token: Int, _ page: WordPage
) {
    let width = page.valueWidth
    let first = values + token &* width &* Numbers.bytes
    let second = first + width &* Numbers.bytes
    /// The last register overlaps the one before it if the width is no multiple of 16.
    @inline(__always)
    func column(_ index: Int) -> Int { min(16 &* index, width &- 16) }
    let registers = (width &+ 15) / 16
    var (a, b) = (_mm512_setzero_si512(), _mm512_setzero_si512())
    for index in 0..<registers {
        let offset = column(index) &* Numbers.bytes
        a = _mm512_max_epi32(a, magnitudeBits(Numbers.load(first + offset)))
        b = _mm512_max_epi32(b, magnitudeBits(Numbers.load(second + offset)))
    }
    let inverses = (
        inverse(largestBits: _mm512_reduce_max_epi32(a), token, page),
        inverse(largestBits: _mm512_reduce_max_epi32(b), token &+ 1, page)
    )
    let target = page.values + 4 &* (token / 2 &* width)
    for index in 0..<registers {
        let offset = column(index) &* Numbers.bytes
        let codes = words(Numbers.load(first + offset), Numbers.load(second + offset), inverses.0, inverses.1)
        (target + 4 &* column(index)).storeBytes(of: codes, as: __m512i.self)
    }
}

/// Stores the scale of a token's value, `(1 + e/8) · 2^a`, as its logarithm and its inverse, and returns the inverse.
@inline(__always)
private func inverse(largestBits: Int32, _ token: Int, _ page: WordPage) -> __m512 {
    let largest = Float(bitPattern: UInt32(bitPattern: largestBits))
    // At least the smallest half. At most 2^127, so that the inverse is a number: rows that do not see the token multiply it
    // by a weight of almost 0.
    let bounded = Float(bitPattern: UInt32(bitPattern: min(max(largestBits, 103 << 23), 254 << 23)))
    // The smallest such scale that is not below this one.
    let rounded = (bounded / WordPage.largestValue).bitPattern &+ 0xf_ffff
    let inverse = 1 / Float(bitPattern: rounded & 0xfff0_0000)
    /// log2(1 + e/8)
    let logarithms = SIMD8<Float>(
        0, 0.169_925, 0.321_928_1, 0.459_431_6, 0.584_962_5, 0.700_439_7, 0.807_354_9, 0.906_890_6)
    let logarithm = Float(Int32(bitPattern: rounded >> 23) &- 127) + logarithms[Int(rounded >> 20 & 7)]
    // The difference is NaN if a number is not finite.
    page.logarithms[token] = logarithm + (largest - largest)
    page.inverses[token] = inverse
    return _mm512_set1_ps(inverse)
}

@inline(__always)
func magnitudeBits(_ x: __m512) -> __m512i {
    _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fff_ffff))
}

/// Two numbers of each lane, times the factors and rounded, as words.
@inline(__always)
private func words(_ x: __m512, _ y: __m512, _ a: __m512, _ b: __m512) -> __m512i {
    let low = _mm512_and_si512(_mm512_cvtps_epi32(_mm512_mul_ps(x, a)), _mm512_set1_epi32(0xffff))
    return _mm512_or_si512(low, _mm512_slli_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(y, b)), 16))
}
