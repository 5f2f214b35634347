// Quantizes activations to the layout of `IntegerTile`.

import CIntrinsics
import KernelFormats
import KernelsFloat

/// Quantizes a token to one column of a tile, or to two, and returns its scale, by which results must be multiplied: 1 for
/// a token of 14 bits.
///
/// The normalized mean square error is about 3e-5 with 8 bits, and 8e-9 with 14 bits. A value that is not finite makes
/// the results NaN, as with floats.
///
/// - Parameters:
///   - columns: Number of columns of the tile.
///   - column: The token's first column.
///   - pair: Whether the next column is the token's too.
///   - count: Number of values, a multiple of 32.
@inline(never)
public func roundToken(
    _ values: UnsafePointer<Float>, count: Int, pair: Bool, into tile: UnsafeMutableRawPointer, columns: Int,
    column: Int
) -> Float {
    guard pair else { return roundToBytes(values, count, tile, columns, column) }
    roundToWords(values, count, tile, columns, column)
    return 1
}

private typealias Values = (__m256, __m256, __m256, __m256)

@inline(__always)
private func load32(_ p: UnsafePointer<Float>) -> Values { (load(p), load(p + 8), load(p + 16), load(p + 24)) }

/// The factor of 32 columns is their largest magnitude, divided by the token's largest, times 16384, rounded up. Rounding makes
/// the steps of codes larger by up to `1 / factor`, which matters only for values that are tiny beside the token's largest.
@inline(__always)
private func roundToBytes(
    _ values: UnsafePointer<Float>, _ count: Int, _ tile: UnsafeMutableRawPointer, _ columns: Int, _ column: Int
) -> Float {
    // Bits of magnitudes: integers in the same order, with infinity and NaN as the largest.
    var bits = _mm256_setzero_si256()
    for first in stride(from: 0, to: count, by: 32) {
        let v = load32(values + first)
        bits = _mm256_max_epi32(bits, _mm256_max_epi32(magnitudeBits(v.0), magnitudeBits(v.1)))
        bits = _mm256_max_epi32(bits, _mm256_max_epi32(magnitudeBits(v.2), magnitudeBits(v.3)))
    }
    let magnitude = Float(bitPattern: UInt32(bitPattern: unsafeBitCast(bits, to: SIMD8<Int32>.self).max()))
    // The inverse of a smaller one may not be finite.
    let isUsable = magnitude < .infinity && magnitude > 1e-30
    let unit = isUsable ? magnitude / (IntegerTile.largestFactor * IntegerTile.largestCode) : 0
    let factors = isUsable ? IntegerTile.largestFactor / magnitude : 0
    let codes = isUsable ? 1 / unit : 0
    var (block, x) = (tile, values)
    for _ in 0..<count / 32 {
        let v = load32(x)
        let largest = EightFloats(
            _mm256_max_ps(maximumOfMagnitudes(v.0, v.1), maximumOfMagnitudes(v.2, v.3))
        ).largest
        let factor = isUsable ? min((largest * factors).rounded(.up), IntegerTile.largestFactor) : 0
        let inverse = _mm256_set1_ps(factor > 0 ? codes / factor : 0)
        let bytes = bytes(
            (
                _mm256_mul_ps(v.0, inverse), _mm256_mul_ps(v.1, inverse), _mm256_mul_ps(v.2, inverse),
                _mm256_mul_ps(v.3, inverse)
            ))
        store(bytes, block, columns, column)
        // Of columns 0 and 1 of each step, and of 2 and 3.
        let sums = unsafeBitCast(_mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes), to: SIMD16<Int16>.self)
        let (low, high) = (ofSteps(sums.lowHalf), ofSteps(sums.highHalf))
        let numbers = block + (32 &* columns &+ 4 &* column)
        numbers.storeBytes(of: SIMD2(repeating: Int16(factor)), as: SIMD2<Int16>.self)
        numbers.storeBytes(of: low &+ high, toByteOffset: 4 &* columns, as: SIMD2<Int16>.self)
        numbers.storeBytes(of: low, toByteOffset: 8 &* columns, as: SIMD2<Int16>.self)
        numbers.storeBytes(of: high, toByteOffset: 12 &* columns, as: SIMD2<Int16>.self)
        x += 32
        block += IntegerTile.blockBytes(columns: columns)
    }
    return magnitude < .infinity ? unit : .nan
}

@inline(__always)
private func roundToWords(
    _ values: UnsafePointer<Float>, _ count: Int, _ tile: UnsafeMutableRawPointer, _ columns: Int, _ column: Int
) {
    let largestCode = IntegerTile.largestOfPair * IntegerTile.pairFactor
    var (block, x) = (tile, values)
    // In a tile of one token.
    var bytesOfBlock = tile + count / 32 &* IntegerTile.blockBytes(columns: columns)
    for _ in 0..<count / 32 {
        let v = load32(x)
        let magnitudes = _mm256_max_ps(maximumOfMagnitudes(v.0, v.1), maximumOfMagnitudes(v.2, v.3))
        let magnitude = EightFloats(magnitudes).largest
        let finite = magnitude < .infinity && !hasNaN(v)
        let usable = finite && magnitude > 0
        let inverse = _mm256_set1_ps(usable ? largestCode / magnitude : 0)
        let codes = (whole(v.0, inverse), whole(v.1, inverse), whole(v.2, inverse), whole(v.3, inverse))
        let scale = finite ? magnitude / largestCode : .nan
        let floats = (block + 32 &* columns).assumingMemoryBound(to: Float.self) + column
        floats[0] = scale
        let low = sumOfLanes(_mm256_add_ps(codes.0, codes.1)), high = sumOfLanes(_mm256_add_ps(codes.2, codes.3))
        floats[columns] = (low + high) * scale
        floats[2 &* columns] = low * scale
        floats[3 &* columns] = high * scale
        storeWords(codes.0, codes.1, block, columns, column)
        storeWords(codes.2, codes.3, block + 16 &* columns, columns, column)
        if columns == 2 {
            let first = (firstOfPair(codes.0), firstOfPair(codes.1), firstOfPair(codes.2), firstOfPair(codes.3))
            let second = (
                secondOfPair(codes.0, first.0), secondOfPair(codes.1, first.1), secondOfPair(codes.2, first.2),
                secondOfPair(codes.3, first.3)
            )
            bytesOfBlock.storeBytes(of: bytes(first), as: __m256i.self)
            bytesOfBlock.storeBytes(of: bytes(second), toByteOffset: 32, as: __m256i.self)
            bytesOfBlock += IntegerTile.bytesOfOneToken
        }
        x += 32
        block += IntegerTile.blockBytes(columns: columns)
    }
}

/// The sums of four steps.
@inline(__always)
private func ofSteps(_ sums: SIMD8<Int16>) -> SIMD2<Int16> {
    let two = sums.lowHalf &+ sums.highHalf
    return two.lowHalf &+ two.highHalf
}

@inline(__always)
private func magnitudeBits(_ v: __m256) -> __m256i {
    _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fff_ffff))
}

@inline(__always)
private func maximumOfMagnitudes(_ a: __m256, _ b: __m256) -> __m256 {
    let sign = _mm256_set1_ps(-0.0)
    return _mm256_max_ps(_mm256_andnot_ps(sign, a), _mm256_andnot_ps(sign, b))
}

@inline(__always)
private func hasNaN(_ v: Values) -> Bool {
    _mm256_movemask_ps(_mm256_or_ps(is_unordered(v.0, v.1), is_unordered(v.2, v.3))) != 0
}

/// Of a code `126 · first + second`, both in -63...63.
@inline(__always)
private func firstOfPair(_ code: __m256) -> __m256 { whole(code, _mm256_set1_ps(1 / IntegerTile.pairFactor)) }

@inline(__always)
private func secondOfPair(_ code: __m256, _ first: __m256) -> __m256 {
    _mm256_fnmadd_ps(first, _mm256_set1_ps(IntegerTile.pairFactor), code)
}

@inline(__always)
private func whole(_ v: __m256, _ factor: __m256) -> __m256 { round_to_nearest(_mm256_mul_ps(v, factor)) }

/// Rounds 32 floats to signed bytes, in order.
@inline(__always)
private func bytes(_ v: Values) -> __m256i {
    let a = _mm256_packs_epi32(_mm256_cvtps_epi32(v.0), _mm256_cvtps_epi32(v.1))
    let b = _mm256_packs_epi32(_mm256_cvtps_epi32(v.2), _mm256_cvtps_epi32(v.3))
    // Packing works within 128-bit lanes; restore the order.
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

@inline(__always)
private func store(_ bytes: __m256i, _ block: UnsafeMutableRawPointer, _ columns: Int, _ column: Int) {
    let words = unsafeBitCast(bytes, to: SIMD8<Int32>.self)
    for step in 0..<8 {
        block.storeBytes(of: words[step], toByteOffset: 4 &* (step &* columns &+ column), as: Int32.self)
    }
}

/// Stores 16 codes of the word layout of `IntegerTile`.
@inline(__always)
private func storeWords(
    _ a: __m256, _ b: __m256, _ block: UnsafeMutableRawPointer, _ columns: Int, _ column: Int
) {
    // Packing works within 128-bit lanes: columns 0..<4 and 8..<12 are in the lower one.
    let packed = _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b))
    let order = _mm256_setr_epi8(
        0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15)
    let words = unsafeBitCast(_mm256_shuffle_epi8(packed, order), to: SIMD8<Int32>.self)
    var target = block + 2 &* column
    for step in 0..<4 {
        let word = 4 &* (step & 1) &+ 2 &* (step >> 1)
        target.storeBytes(of: words[word], as: Int32.self)
        (target + 2 &* columns).storeBytes(of: words[word &+ 1], as: Int32.self)
        target += 4 &* columns
    }
}

/// The exponent of the largest magnitude, as a float's bits, in 1...253; 255 if a value is not finite.
///
/// - Parameter count: A multiple of 8.
public func largestExponent(_ values: UnsafePointer<Float>, count: Int) -> Int32 {
    largestExponent(EightIntegers.self, values, count: count)
}
