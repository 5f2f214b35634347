// Converts activations and weights to the 16-bit integers of `WordTile` and `WordPanel`.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// Quantizes a token to a place of a tile and returns its scale, a power of two.
///
/// The normalized mean square error is about 3e-9. A value that is not finite makes the scale NaN, and with it all
/// results.
///
/// - Parameters:
///   - count: Number of values. A last part with fewer than 32 is filled up with zeros.
///   - slices: The tile's first slice; the next ones are `sliceStride` bytes apart.
///   - token: The place in the tile.
@inline(never)
public func roundWords(
    _ values: UnsafePointer<Float>, count: Int, into slices: UnsafeMutableRawPointer, sliceStride: Int, token: Int
) -> Float {
    let whole = count & ~31
    var last = SIMD32<Float>.zero
    for index in whole..<count { last[index &- whole] = values[index] }
    return withUnsafeBytes(of: &last) { last in
        let last = last.baseAddress!.assumingMemoryBound(to: Float.self)
        let exponent = max(exponent(values, count: whole), exponent(last, count: 32))
        let down = _mm512_set1_ps(Float(bitPattern: UInt32(bitPattern: 254 &- exponent) << 23))
        var slice = slices
        for part in 0..<(count &+ 31) / 32 {
            let place = part % WordTile.sliceParts
            if part > 0, place == 0 { slice += sliceStride }
            let x = 32 &* part < whole ? values + 32 &* part : last
            round(_mm512_mul_ps(floats16(x), down), _mm512_mul_ps(floats16(x + 16), down), slice, place, token)
        }
        return exponent == 255 ? .nan : Float(bitPattern: UInt32(exponent) << 23)
    }
}

/// Quantizes the 32 values of a part.
@inline(__always)
private func round(_ low: __m512, _ high: __m512, _ slice: UnsafeMutableRawPointer, _ part: Int, _ token: Int) {
    let largest = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)))
    let squares = _mm512_reduce_add_ps(_mm512_fmadd_ps(low, low, _mm512_mul_ps(high, high)))
    // The largest value of the token is 1 to 4. Steps below 2^-16 of its step would gain nothing.
    let step = max(squares.squareRoot() / WordTile.length, largest / WordTile.largestCode, 0x1p-31)
    // The smallest power of two that is not below it.
    let factor = (step.bitPattern &+ 0x7f_ffff) & 0x7f80_0000
    let inverse = _mm512_set1_ps(Float(bitPattern: 254 << 23 &- factor))
    var codes = in_order_wide(
        words(_mm512_cvtps_epi32(_mm512_mul_ps(low, inverse)), _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse))))
    withUnsafeBytes(of: &codes) { codes in
        let target = slice + 4 &* (16 &* part &* WordTile.tokens &+ token)
        for pair in 0..<16 {
            target.storeBytes(
                of: codes.load(fromByteOffset: 4 &* pair, as: Int32.self),
                toByteOffset: 4 &* pair &* WordTile.tokens, as: Int32.self)
        }
    }
    slice.storeBytes(
        of: factor &- 127 << 23, toByteOffset: WordTile.exponents &+ 4 &* (part &* WordTile.tokens &+ token),
        as: UInt32.self)
}

/// 32 integers as words, in order.
@inline(__always)
private func words(_ low: __m512i, _ high: __m512i) -> __m512i {
    let halves = join_halves(
        _mm256_castsi256_ps(_mm512_cvtepi32_epi16(low)), _mm256_castsi256_ps(_mm512_cvtepi32_epi16(high)))
    return _mm512_castps_si512(halves)
}

/// Converts up to 256 columns, an even number, of a group of `PackedFloats` in F16 or BF16 to a panel.
///
/// The normalized mean square error is about 1.3e-9.
@inline(never)
public func unpackWords(
    _ type: TensorType, _ weights: UnsafeRawPointer, columns: Int, into panel: UnsafeMutableRawPointer
) {
    if type == .BF16 {
        unpack(BFloatNumbers.self, weights, columns, panel)
    } else {
        unpack(HalfNumbers.self, weights, columns, panel)
    }
}

@inline(__always)
private func unpack<Format: NumberFormat>(
    _: Format.Type, _ weights: UnsafeRawPointer, _ columns: Int, _ panel: UnsafeMutableRawPointer
) {
    var (column, source, target) = (0, weights, panel)
    while column < columns {
        let pairs = min(16, (columns &- column) / 2)
        var largest = _mm512_setzero_ps()
        var (even, odd) = (_mm512_setzero_ps(), _mm512_setzero_ps())
        for pair in 0..<pairs {
            let (w0, w1) = load(Format.self, source, pair)
            largest = _mm512_max_ps(largest, _mm512_max_ps(_mm512_abs_ps(w0), _mm512_abs_ps(w1)))
            even = _mm512_fmadd_ps(w0, w0, even)
            odd = _mm512_fmadd_ps(w1, w1, odd)
        }
        let length = _mm512_sqrt_ps(_mm512_add_ps(even, odd))
        // Where a square is infinite, the length is at most that of 32 weights like the largest.
        let longest = _mm512_mul_ps(largest, _mm512_set1_ps(Float(32).squareRoot()))
        var scale = _mm512_div_ps(_mm512_min_ps(length, longest), _mm512_set1_ps(WordTile.length))
        scale = _mm512_max_ps(scale, _mm512_div_ps(largest, _mm512_set1_ps(WordTile.largestCode)))
        scale = _mm512_max_ps(scale, _mm512_set1_ps(WordPanel.smallestScale))
        let inverse = _mm512_div_ps(_mm512_set1_ps(1), scale)
        for pair in 0..<pairs {
            let (w0, w1) = load(Format.self, source, pair)
            let low = _mm512_and_si512(
                _mm512_cvtps_epi32(_mm512_mul_ps(w0, inverse)), _mm512_set1_epi32(0xffff))
            let high = _mm512_slli_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(w1, inverse)), 16)
            (target + 64 &* pair).storeBytes(of: _mm512_or_si512(low, high), as: __m512i.self)
        }
        for pair in pairs..<16 { (target + 64 &* pair).storeBytes(of: _mm512_setzero_si512(), as: __m512i.self) }
        (target + 1024).storeBytes(of: scale, as: __m512.self)
        column &+= 32
        source += 512 &* Format.bytes
        target += WordPanel.partBytes
    }
}

@inline(__always)
private func load<Format: NumberFormat>(_: Format.Type, _ source: UnsafeRawPointer, _ pair: Int) -> (__m512, __m512) {
    let columns = source + 32 &* pair &* Format.bytes
    return (Format.load(columns), Format.load(columns + 16 &* Format.bytes))
}
