// Rotates keys and queries and converts them to the integers of `ByteKeys` and `ByteQueries`.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// Quantizes 32 queries, whose 16-bit integers and scales are given, to the bytes behind them, and multiplies them by `base`.
///
/// - Parameters:
///   - scales: Of the 16-bit integers, `[32]`.
///   - base: `[D]`
///   - room: For `[D][32]` floats.
@inline(never)
public func roundByteQueries(
    _ queries: ByteQueries, _ scales: UnsafePointer<Float>, base: UnsafePointer<Float>,
    room: UnsafeMutablePointer<Float>
) {
    let (rows, width) = (BlockAttention.rows, queries.width)
    for half in stride(from: 0, to: rows, by: 16) {
        let (column, scale) = (room + half, _mm512_loadu_ps(scales + half))
        var product = _mm512_setzero_ps()
        for d in stride(from: 0, to: width, by: 2) {
            let pair = load64(queries.words + 4 &* (half &+ rows &* d / 2))
            let first = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(pair, 16), 16)), scale)
            let second = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(pair, 16)), scale)
            product = _mm512_fmadd_ps(first, _mm512_set1_ps(base[d]), product)
            product = _mm512_fmadd_ps(second, _mm512_set1_ps(base[d &+ 1]), product)
            _mm512_storeu_ps(column + rows &* d, first)
            _mm512_storeu_ps(column + rows &* (d &+ 1), second)
        }
        _mm512_storeu_ps(queries.bases + half, product)
    }
    rotate(room, width)
    for half in stride(from: 0, to: rows, by: 16) {
        let (step, inverse) = steps(room + half, width)
        _mm512_storeu_ps(queries.scales + half, _mm512_mul_ps(step, _mm512_set1_ps(1 / Float(width))))
        for d in stride(from: 0, to: width, by: 4) {
            let codes = _mm512_xor_si512(bytes(room + half + rows &* d, inverse), _mm512_set1_epi8(-128))
            (queries.codes + 4 &* half + rows &* d).storeBytes(of: codes, as: __m512i.self)
        }
    }
}

/// Quantizes keys `[D][32]` to `ByteKeys`.
@inline(__always)
func roundByteKeys<Numbers: NumberFormat>(_: Numbers.Type, _ source: UnsafeRawPointer, into page: WordPage) {
    let (keys, room, width) = (ByteKeys(of: page), page.keyRoom, page.keyWidth)
    for d in 0..<width {
        let (row, base) = (source + pageTokens &* Numbers.bytes &* d, _mm512_set1_ps(page.keyBase[d]))
        _mm512_storeu_ps(room + pageTokens &* d, _mm512_sub_ps(Numbers.load(row), base))
        _mm512_storeu_ps(room + pageTokens &* d + 16, _mm512_sub_ps(Numbers.load(row + 16 &* Numbers.bytes), base))
    }
    rotate(room, width)
    for half in stride(from: 0, to: pageTokens, by: 16) {
        let (step, inverse) = steps(room + half, width)
        _mm512_storeu_ps(page.scales + half, step)
        var sums = _mm512_setzero_si512()
        for d in stride(from: 0, to: width, by: 4) {
            let codes = bytes(room + half + pageTokens &* d, inverse)
            sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(-128), codes)
            (keys.codes + 4 &* half + pageTokens &* d).storeBytes(of: codes, as: __m512i.self)
        }
        let starts = UnsafeMutableRawPointer(keys.starts + half)
        starts.storeBytes(of: _mm512_sub_epi32(_mm512_setzero_si512(), sums), as: __m512i.self)
    }
}

/// The steps of the codes of 16 vectors `[D][32]`, NaN for a vector with a number that is not finite, and their inverses.
@inline(__always)
private func steps(_ vectors: UnsafePointer<Float>, _ width: Int) -> (step: __m512, inverse: __m512) {
    var (even, odd) = (SixteenIntegers(0), SixteenIntegers(0))
    for d in stride(from: 0, to: width, by: 2) {
        let row = vectors + 32 &* d
        even = .max(even, SixteenIntegers(magnitudesOf: .load(row)))
        odd = .max(odd, SixteenIntegers(magnitudesOf: .load(row + 32)))
    }
    let largest = SixteenIntegers.max(even, odd).asFloats.v
    let step = _mm512_max_ps(
        _mm512_mul_ps(largest, _mm512_set1_ps(1 / ByteKeys.largestCode)), _mm512_set1_ps(0x1p-70))
    return (_mm512_add_ps(step, _mm512_sub_ps(largest, largest)), _mm512_div_ps(_mm512_set1_ps(1), step))
}

/// Four numbers of each of 16 vectors `[D][32]`, times their factors and rounded, as bytes.
@inline(__always)
private func bytes(_ vectors: UnsafePointer<Float>, _ factors: __m512) -> __m512i {
    let low = _mm512_set1_epi32(0xff)
    @inline(__always)
    func byte(_ index: Int) -> __m512i {
        _mm512_and_si512(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(vectors + 32 &* index), factors)), low)
    }
    let first = _mm512_or_si512(byte(0), _mm512_slli_epi32(byte(1), 8))
    let last = _mm512_or_si512(byte(2), _mm512_slli_epi32(byte(3), 8))
    return _mm512_or_si512(first, _mm512_slli_epi32(last, 16))
}

/// The fast Walsh-Hadamard transform of each column of `[width][32]`, without a factor; two stages at a time.
@inline(__always)
private func rotate(_ x: UnsafeMutablePointer<Float>, _ width: Int) {
    var half = 1
    if width.trailingZeroBitCount % 2 == 1 {
        for row in stride(from: 0, to: width, by: 2) {
            for column in stride(from: x + 32 &* row, to: x + 32 &* (row &+ 1), by: 16) {
                let (a, b) = (_mm512_loadu_ps(column), _mm512_loadu_ps(column + 32))
                _mm512_storeu_ps(column, _mm512_add_ps(a, b))
                _mm512_storeu_ps(column + 32, _mm512_sub_ps(a, b))
            }
        }
        half = 2
    }
    while half < width {
        let apart = 32 &* half
        for start in stride(from: 0, to: width, by: 4 &* half) {
            for column in stride(from: x + 32 &* start, to: x + 32 &* (start &+ half), by: 16) {
                let (a, b) = (_mm512_loadu_ps(column), _mm512_loadu_ps(column + apart))
                let (c, d) = (_mm512_loadu_ps(column + 2 &* apart), _mm512_loadu_ps(column + 3 &* apart))
                let (sum, difference) = (_mm512_add_ps(a, b), _mm512_sub_ps(a, b))
                let (otherSum, otherDifference) = (_mm512_add_ps(c, d), _mm512_sub_ps(c, d))
                _mm512_storeu_ps(column, _mm512_add_ps(sum, otherSum))
                _mm512_storeu_ps(column + apart, _mm512_add_ps(difference, otherDifference))
                _mm512_storeu_ps(column + 2 &* apart, _mm512_sub_ps(sum, otherSum))
                _mm512_storeu_ps(column + 3 &* apart, _mm512_sub_ps(difference, otherDifference))
            }
        }
        half &*= 4
    }
}
