// Quantizes activations to the layout of `WideTile`.

import CIntrinsics
import KernelFormats

/// Quantizes a token to one column of a tile, or to two, and returns its scale, a power of two.
///
/// The normalized mean square error is about 3.5e-5 with 8 bits, and 2e-9 with 15 bits. A value that is not finite makes
/// the scale NaN, and with it all results.
///
/// - Parameters:
///   - count: Number of values, a multiple of 32.
///   - columns: Number of columns of the tile.
///   - column: The token's first column.
///   - pair: Whether the next column is the token's too.
///   - slices: The tile's first slice; the next ones are `sliceStride` bytes apart.
@inline(never)
public func roundToken(
    _ values: UnsafePointer<Float>, count: Int, pair: Bool, into slices: UnsafeMutableRawPointer, sliceStride: Int,
    columns: Int, column: Int
) -> Float {
    let exponent = exponent(values, count: count)
    // Values become less than 2.
    let down = _mm512_set1_ps(Float(bitPattern: UInt32(254 &- exponent) << 23))
    let largestCode = pair ? WideTile.largestOfPair : WideTile.largestCode
    var (slice, x) = (slices, values)
    var part = 0, sums = _mm256_setzero_ps()
    for _ in 0..<(count / 32) {
        let v = (_mm512_mul_ps(floats16(x), down), _mm512_mul_ps(floats16(x + 16), down))
        // Steps below 2^-16 of a step of the largest values would gain nothing.
        let magnitude = max(0x1p-16, _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(v.0), _mm512_abs_ps(v.1))))
        let factor = Factor(atLeast: magnitude / largestCode)
        let inverse = _mm512_set1_ps(1 / factor.value)
        let codes = (
            _mm512_cvtps_epi32(_mm512_mul_ps(v.0, inverse)), _mm512_cvtps_epi32(_mm512_mul_ps(v.1, inverse))
        )
        let place = slice + 32 &* columns &* part
        if pair {
            let firsts = (firstOfPair(codes.0), firstOfPair(codes.1))
            store(firsts, place, columns, column)
            let seconds = (secondOfPair(codes.0, firsts.0), secondOfPair(codes.1, firsts.1))
            store(seconds, place, columns, column &+ 1)
        } else {
            store(codes, place, columns, column)
        }
        let (low, high) = (_mm512_reduce_add_epi32(codes.0), _mm512_reduce_add_epi32(codes.1))
        let last = pair ? column &+ 1 : column
        for column in column...last {
            let isLast = column == last
            store(factor.lift, slice, WideTile.lifts, columns, part, column)
            store(factor.rest, slice, WideTile.rests, columns, part, column)
            store(factor.value, slice, WideTile.factors, columns, part, column)
            store(isLast ? low : 0, slice, WideTile.sums, columns, part, column)
            store(isLast ? high : 0, slice, WideTile.sums, columns, part &+ WideTile.sliceParts, column)
        }
        sums[part] = Float(low &+ high) * factor.value
        x += 32
        part &+= 1
        if part == WideTile.sliceParts {
            for column in column...last { storeSums(sums, slice, columns, column) }
            slice += sliceStride
            part = 0
        }
    }
    return exponent == 255 ? .nan : Float(bitPattern: UInt32(exponent) << 23)
}

/// The exponent of the largest magnitude, as a float's bits, in 1...253; 255 if a value is not finite.
@inline(__always)
private func exponent(_ values: UnsafePointer<Float>, count: Int) -> Int32 {
    let magnitude = _mm512_set1_epi32(0x7fff_ffff)
    var largest = _mm512_setzero_si512()
    for index in stride(from: 0, to: count, by: 16) {
        largest = _mm512_max_epi32(largest, _mm512_and_si512(load64(values + index), magnitude))
    }
    let exponent = _mm512_reduce_max_epi32(largest) >> 23
    return exponent == 255 ? 255 : min(max(exponent, 1), 253)
}

/// A number `2^a ± 2^b`.
private struct Factor {
    /// a and b at the position of a float's exponent, b with a sign.
    let lift: Int32
    let rest: Int32
    let value: Float

    /// The smallest one that is not below a positive number, with a in steps of 1, 1.0625, 1.125, 1.25, 1.5, 1.75, 1.875,
    /// and 1.9375 between powers of two.
    @inline(__always)
    init(atLeast number: Float) {
        // Rounded up to sixteenths of the power of two below it.
        let bits = Int32(bitPattern: number.bitPattern) &+ 0x7_ffff
        let power = (bits >> 23) &- 127
        let (a, b, isDifference): (Int32, Int32, Bool) =
            switch (bits >> 19) & 15 {
            case 0: (-1, -1, false)
            case 1: (0, -4, false)
            case 2: (0, -3, false)
            case 3, 4: (0, -2, false)
            case 5...8: (0, -1, false)
            case 9...12: (1, -2, true)
            case 13, 14: (1, -3, true)
            default: (1, -4, true)
            }
        lift = (power &+ a) << 23
        rest = ((power &+ b) << 23) ^ (isDifference ? Int32.min : 0)
        let one: Int32 = 127 << 23
        value = Float(bitPattern: UInt32(bitPattern: one &+ lift)) + Float(bitPattern: UInt32(bitPattern: one &+ rest))
    }
}

/// `code / 128`, rounded.
@inline(__always)
private func firstOfPair(_ code: __m512i) -> __m512i {
    let half = _mm512_set1_epi32(1 << Int32(WideTile.pairShift - 1))
    return _mm512_srai_epi32(_mm512_add_epi32(code, half), UInt32(WideTile.pairShift))
}

@inline(__always)
private func secondOfPair(_ code: __m512i, _ first: __m512i) -> __m512i {
    _mm512_sub_epi32(code, _mm512_slli_epi32(first, UInt32(WideTile.pairShift)))
}

/// Stores 32 codes of a column as bytes.
@inline(__always)
private func store(_ codes: (__m512i, __m512i), _ part: UnsafeMutableRawPointer, _ columns: Int, _ column: Int) {
    let low = unsafeBitCast(_mm512_cvtepi32_epi8(codes.0), to: SIMD4<Int32>.self)
    let high = unsafeBitCast(_mm512_cvtepi32_epi8(codes.1), to: SIMD4<Int32>.self)
    for step in 0..<4 {
        part.storeBytes(of: low[step], toByteOffset: 4 &* (step &* columns &+ column), as: Int32.self)
        part.storeBytes(of: high[step], toByteOffset: 4 &* ((step &+ 4) &* columns &+ column), as: Int32.self)
    }
}

/// Stores a number of a part and a column.
@inline(__always)
private func store<Number>(
    _ number: Number, _ slice: UnsafeMutableRawPointer, _ field: Int, _ columns: Int, _ part: Int, _ column: Int
) {
    slice.storeBytes(of: number, toByteOffset: field &* columns &+ 4 &* (part &* columns &+ column), as: Number.self)
}

/// Stores the sums of eight parts as 16-bit integers.
@inline(__always)
private func storeSums(_ sums: __m256, _ slice: UnsafeMutableRawPointer, _ columns: Int, _ column: Int) {
    var largest: Float = 0
    for part in 0..<8 { largest = max(largest, abs(sums[part])) }
    // The largest becomes 2^13 to 2^14.
    let power = max(-100, Int32(bitPattern: largest.bitPattern >> 23) &- 127 &- 13)
    let inverse = Float(bitPattern: UInt32(127 &- power) << 23)
    let codes = unsafeBitCast(
        _mm256_cvtps_epi32(_mm256_mul_ps(sums, _mm256_set1_ps(inverse))), to: SIMD8<Int32>.self)
    for pair in 0..<4 {
        let (low, high) = (codes[2 &* pair], codes[2 &* pair &+ 1])
        store(low & 0xffff | high << 16, slice, WideTile.partSums, columns, pair, column)
    }
    store(Float(bitPattern: UInt32(127 &+ power) << 23), slice, WideTile.sumSteps, columns, 0, column)
}

/// Multiplies the results of a token for groups of 16 rows, `stride` floats apart, by the token's scale.
@inline(never)
public func scaleResults(
    _ results: UnsafePointer<Float>, stride: Int, groups: Int, by scale: Float, into c: UnsafeMutablePointer<Float>
) {
    let scale = _mm512_set1_ps(scale)
    for group in 0..<groups {
        _mm512_storeu_ps(
            c + group &* PackedLayout.rows, _mm512_mul_ps(_mm512_loadu_ps(results + group &* stride), scale))
    }
}
