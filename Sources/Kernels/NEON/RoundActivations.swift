// Quantizes activations to the layout of `IntegerTile`.

import CIntrinsics
import KernelFormats

/// Quantizes a token to one column of a tile, or to two.
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
) {
    let largestCode: Float =
        pair ? IntegerTile.largestOfPair * IntegerTile.pairFactor : IntegerTile.largestCode
    var block = tile
    var x = values
    for _ in 0..<(count / 32) {
        let v = (load(x), load(x + 8), load(x + 16), load(x + 24))
        // NaN if one value is.
        let magnitude = largest_of(
            maximum_of(
                maximum_of(magnitudes(v.0), magnitudes(v.1)), maximum_of(magnitudes(v.2), magnitudes(v.3))))
        let finite = magnitude < .infinity
        let usable = finite && magnitude > 0
        let inverse = usable ? largestCode / magnitude : 0
        let codes = (whole(v.0, inverse), whole(v.1, inverse), whole(v.2, inverse), whole(v.3, inverse))
        let scale = finite ? magnitude / largestCode : .nan
        let floats = (block + 32 &* columns).assumingMemoryBound(to: Float.self) + column
        floats[0] = scale
        let low = sum(codes.0 + codes.1), high = sum(codes.2 + codes.3)
        floats[columns] = (low + high) * scale
        floats[2 &* columns] = low * scale
        floats[3 &* columns] = high * scale
        if pair {
            let factor = 1 / IntegerTile.pairFactor
            let firsts = (
                whole(codes.0, factor), whole(codes.1, factor), whole(codes.2, factor), whole(codes.3, factor)
            )
            store(firsts, block, columns, column)
            let seconds = (
                rest(codes.0, firsts.0), rest(codes.1, firsts.1), rest(codes.2, firsts.2), rest(codes.3, firsts.3)
            )
            store(seconds, block, columns, column &+ 1)
        } else {
            store(codes, block, columns, column)
        }
        x += 32
        block += IntegerTile.blockBytes(columns: columns)
    }
}

@inline(__always)
private func whole(_ v: Floats, _ factor: Float) -> Floats { round_to_nearest(v * factor) }

/// The remainder of `code` after subtracting `first` times the pair factor.
@inline(__always)
private func rest(_ code: Floats, _ first: Floats) -> Floats {
    multiply_add(first, Floats(repeating: -IntegerTile.pairFactor), code)
}

/// Stores 32 integral floats as signed bytes: eight columns of two steps from each register.
@inline(__always)
private func store(
    _ v: (Floats, Floats, Floats, Floats), _ block: UnsafeMutableRawPointer, _ columns: Int, _ column: Int
) {
    let target = block + 4 &* column
    store(v.0, target, columns)
    store(v.1, target + 8 &* columns, columns)
    store(v.2, target + 16 &* columns, columns)
    store(v.3, target + 24 &* columns, columns)
}

@inline(__always)
private func store(_ v: Floats, _ target: UnsafeMutableRawPointer, _ columns: Int) {
    let words = unsafeBitCast(bytes_of_ints(nearest_ints(v)), to: SIMD2<Int32>.self)
    target.storeBytes(of: words[0], as: Int32.self)
    target.storeBytes(of: words[1], toByteOffset: 4 &* columns, as: Int32.self)
}
