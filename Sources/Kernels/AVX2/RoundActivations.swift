// Quantizes activations to the layout of `IntegerTile`.

import CIntrinsics
import KernelFormats

/// Quantizes a token to one column of a tile, or to two.
///
/// The normalized mean square error is about 3e-5 with 8 bits, and 8e-9 with 14 bits. A value that is not finite makes
/// the results NaN, as with floats.
///
/// - Parameters:
///   - words: Whether a token of 14 bits is one vector of 16-bit words, as the kernels of this tier read it, rather than
///     two vectors of bytes.
///   - columns: Number of columns of the tile.
///   - column: The token's first column.
///   - pair: Whether the next column is the token's too.
///   - count: Number of values, a multiple of 32.
@inline(never)
public func roundToken(
    _ values: UnsafePointer<Float>, count: Int, pair: Bool, words: Bool = true, into tile: UnsafeMutableRawPointer,
    columns: Int, column: Int
) {
    let largestCode: Float =
        pair ? IntegerTile.largestOfPair * IntegerTile.pairFactor : IntegerTile.largestCode
    var block = tile
    var x = values
    for _ in 0..<(count / 32) {
        let v = (load(x), load(x + 8), load(x + 16), load(x + 24))
        let magnitudes = _mm256_max_ps(maximumOfMagnitudes(v.0, v.1), maximumOfMagnitudes(v.2, v.3))
        let magnitude = EightFloats(magnitudes).largest
        let finite = magnitude < .infinity && !hasNaN(v)
        let usable = finite && magnitude > 0
        let inverse = _mm256_set1_ps(usable ? largestCode / magnitude : 0)
        let codes = (whole(v.0, inverse), whole(v.1, inverse), whole(v.2, inverse), whole(v.3, inverse))
        let scale = finite ? magnitude / largestCode : .nan
        let floats = (block + 32 &* columns).assumingMemoryBound(to: Float.self) + column
        floats[0] = scale
        let low = sum(_mm256_add_ps(codes.0, codes.1)), high = sum(_mm256_add_ps(codes.2, codes.3))
        floats[columns] = (low + high) * scale
        floats[2 &* columns] = low * scale
        floats[3 &* columns] = high * scale
        if pair, words {
            storeWords(codes.0, codes.1, block, columns, column)
            storeWords(codes.2, codes.3, block + 16 &* columns, columns, column)
        } else if pair {
            let factor = _mm256_set1_ps(1 / IntegerTile.pairFactor)
            let firsts = (
                whole(codes.0, factor), whole(codes.1, factor), whole(codes.2, factor), whole(codes.3, factor)
            )
            store(bytes(firsts), block, columns, column)
            let seconds = (
                rest(codes.0, firsts.0), rest(codes.1, firsts.1), rest(codes.2, firsts.2), rest(codes.3, firsts.3)
            )
            store(bytes(seconds), block, columns, column &+ 1)
        } else {
            store(bytes(codes), block, columns, column)
        }
        x += 32
        block += IntegerTile.blockBytes(columns: columns)
    }
}

@inline(__always)
private func maximumOfMagnitudes(_ a: __m256, _ b: __m256) -> __m256 {
    let sign = _mm256_set1_ps(-0.0)
    return _mm256_max_ps(_mm256_andnot_ps(sign, a), _mm256_andnot_ps(sign, b))
}

@inline(__always)
private func hasNaN(_ v: (__m256, __m256, __m256, __m256)) -> Bool {
    _mm256_movemask_ps(_mm256_or_ps(is_unordered(v.0, v.1), is_unordered(v.2, v.3))) != 0
}

@inline(__always)
private func whole(_ v: __m256, _ factor: __m256) -> __m256 { round_to_nearest(_mm256_mul_ps(v, factor)) }

/// The remainder of `code` after subtracting `first` times the pair factor.
@inline(__always)
private func rest(_ code: __m256, _ first: __m256) -> __m256 {
    _mm256_fnmadd_ps(first, _mm256_set1_ps(IntegerTile.pairFactor), code)
}

/// Converts 32 integral floats to signed bytes, in order.
@inline(__always)
private func bytes(_ v: (__m256, __m256, __m256, __m256)) -> __m256i {
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
