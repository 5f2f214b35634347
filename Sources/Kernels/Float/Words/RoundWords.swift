// Converts activations and weights to the 16-bit integers of `WordTile` and `WordPanel`.

public import KernelFormats

/// Quantizes a token to a place of a tile and returns its scale, a power of two.
///
/// The normalized mean square error is about 3e-9. A value that is not finite makes the scale NaN, and with it all
/// results.
///
/// - Parameters:
///   - count: Number of values. A last part with fewer than 32 is filled up with zeros.
///   - slices: The tile's first slice; the next ones are `sliceStride` bytes apart.
///   - token: The place in the tile.
@inlinable @inline(__always)
public func roundWords<V: IntegerVector>(
    _: V.Type, _ values: UnsafePointer<Float>, count: Int, into slices: UnsafeMutableRawPointer, sliceStride: Int,
    token: Int
) -> Float {
    let whole = count & ~31
    var last = SIMD32<Float>.zero
    for index in whole..<count { last[index &- whole] = values[index] }
    return withUnsafeBytes(of: &last) { last in
        let last = last.baseAddress!.assumingMemoryBound(to: Float.self)
        let exponent = Swift.max(
            largestExponent(V.self, values, count: whole), largestExponent(V.self, last, count: 32))
        let down = Float(bitPattern: UInt32(bitPattern: 254 &- exponent) << 23)
        var slice = slices
        for part in 0..<(count &+ 31) / 32 {
            let place = part % WordTile.sliceParts
            if part > 0, place == 0 { slice += sliceStride }
            round(V.self, 32 &* part < whole ? values + 32 &* part : last, times: down, slice, place, token)
        }
        return exponent == 255 ? .nan : Float(bitPattern: UInt32(exponent) << 23)
    }
}

/// The exponent of the largest magnitude, as a float's bits, in 1...253; 255 if a value is not finite.
@inlinable @inline(__always)
public func largestExponent<V: IntegerVector>(_: V.Type, _ values: UnsafePointer<Float>, count: Int) -> Int32 {
    var largest = V(0)
    for index in stride(from: 0, to: count, by: V.count) {
        largest = .max(largest, V(magnitudesOf: .load(values + index)))
    }
    let exponent = largest.largest >> 23
    return exponent == 255 ? 255 : Swift.min(Swift.max(exponent, 1), 253)
}

/// Quantizes the 32 values of a part, times `factor`.
@inlinable @inline(__always)
func round<V: IntegerVector>(
    _: V.Type, _ x: UnsafePointer<Float>, times factor: Float, _ slice: UnsafeMutableRawPointer, _ part: Int,
    _ token: Int
) {
    typealias Floats = V.Floats
    let factor = Floats(factor)
    var (largest, squares) = (V(0), Floats(0))
    for index in stride(from: 0, to: 32, by: V.count) {
        let x = Floats.load(x + index) * factor
        largest = .max(largest, V(magnitudesOf: x))
        squares = .multiplyAdd(x, x, squares)
    }
    // The largest value of the token is 1 to 4. Steps below 2^-16 of its step would gain nothing.
    let magnitude = Float(bitPattern: UInt32(bitPattern: largest.largest))
    let step = Swift.max(
        squares.sum.squareRoot() / WordTile.length, magnitude / WordTile.largestCode, 0x1p-31)
    // The smallest power of two that is not below it.
    let bits = (step.bitPattern &+ 0x7f_ffff) & 0x7f80_0000
    let inverse = Floats(Float(bitPattern: 254 << 23 &- bits))
    withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { codes in
        let codes = codes.baseAddress!
        for index in stride(from: 0, to: 32, by: V.count) {
            V(rounding: Floats.load(x + index) * factor * inverse).store(codes + 4 &* index)
        }
        let target = slice + 4 &* (16 &* part &* WordTile.tokens &+ token)
        for pair in 0..<16 {
            let two = codes.load(fromByteOffset: 8 &* pair, as: UInt64.self)
            target.storeBytes(
                of: UInt32(truncatingIfNeeded: two & 0xffff | two >> 16 & 0xffff_0000),
                toByteOffset: 4 &* pair &* WordTile.tokens, as: UInt32.self)
        }
    }
    slice.storeBytes(
        of: bits &- 127 << 23, toByteOffset: WordTile.exponents &+ 4 &* (part &* WordTile.tokens &+ token),
        as: UInt32.self)
}

/// Converts up to 256 columns, an even number, of a group of `PackedFloats` in F16 or BF16 to a panel.
///
/// The normalized mean square error is about 1.3e-9.
@inlinable @inline(__always)
public func unpackWords<V: IntegerVector>(
    _: V.Type, _ type: TensorType, _ weights: UnsafeRawPointer, columns: Int, into panel: UnsafeMutableRawPointer
) {
    if type == .BF16 {
        unpackWords(V.self, BFloatNumbers.self, weights, columns, panel)
    } else {
        unpackWords(V.self, HalfNumbers.self, weights, columns, panel)
    }
}

@inlinable @inline(__always)
func unpackWords<V: IntegerVector, Numbers: NumberFormat>(
    _: V.Type, _: Numbers.Type, _ weights: UnsafeRawPointer, _ columns: Int, _ panel: UnsafeMutableRawPointer
) {
    typealias Floats = V.Floats
    let rowBytes = PackedFloats.rows &* Numbers.bytes
    var (column, source, target) = (0, weights, panel)
    while column < columns {
        let pairs = Swift.min(16, (columns &- column) / 2)
        for row in stride(from: 0, to: PackedFloats.rows, by: V.count) {
            let (source, target) = (source + row &* Numbers.bytes, target + 4 &* row)
            var largest = V(0)
            var (even, odd) = (Floats(0), Floats(0))
            for pair in 0..<pairs {
                let w0: Floats = Numbers.load(source + 2 &* pair &* rowBytes)
                let w1: Floats = Numbers.load(source + (2 &* pair &+ 1) &* rowBytes)
                largest = .max(largest, .max(V(magnitudesOf: w0), V(magnitudesOf: w1)))
                even = .multiplyAdd(w0, w0, even)
                odd = .multiplyAdd(w1, w1, odd)
            }
            let length = V.squareRoot(even + odd)
            // Where a square is infinite, the length is at most that of 32 weights like the largest.
            let longest = largest.asFloats * Floats(Float(32).squareRoot())
            var scale = Floats.min(length, longest) / Floats(WordTile.length)
            scale = .max(scale, largest.asFloats / Floats(WordTile.largestCode))
            scale = .max(scale, Floats(WordPanel.smallestScale))
            let inverse = Floats(1) / scale
            for pair in 0..<pairs {
                let w0: Floats = Numbers.load(source + 2 &* pair &* rowBytes)
                let w1: Floats = Numbers.load(source + (2 &* pair &+ 1) &* rowBytes)
                V.words(V(rounding: w0 * inverse), V(rounding: w1 * inverse)).store(target + 64 &* pair)
            }
            for pair in pairs..<16 { V(0).store(target + 64 &* pair) }
            scale.store((target + 1024).assumingMemoryBound(to: Float.self))
        }
        column &+= 32
        source += 32 &* rowBytes
        target += WordPanel.partBytes
    }
}
