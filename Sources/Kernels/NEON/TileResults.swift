// From integer sums to the results of a product of a tile and a panel.

public import CIntrinsics
import KernelFormats

@usableFromInline
struct TileOutput {
    @usableFromInline let c: UnsafeMutablePointer<Float>
    @usableFromInline let tokens: Int
    @usableFromInline let accumulate: Bool

    @inlinable @inline(__always)
    init(c: UnsafeMutablePointer<Float>, tokens: Int, accumulate: Bool) {
        (self.c, self.tokens, self.accumulate) = (c, tokens, accumulate)
    }
}

/// The scales and offsets of 16 rows and of the tile's columns, in a segment.
@usableFromInline
struct TileScales {
    @usableFromInline let weights: SIMD16<Float>
    @usableFromInline let offsets: SIMD16<Float>
    @usableFromInline let x: UnsafePointer<Float>
    @usableFromInline let sums: UnsafePointer<Float>

    @inlinable @inline(__always)
    init(
        weights: SIMD16<Float>, offsets: SIMD16<Float>, x: UnsafePointer<Float>, sums: UnsafePointer<Float>
    ) {
        (self.weights, self.offsets, self.x, self.sums) = (weights, offsets, x, sums)
    }

    @inlinable @inline(__always)
    func add(_ code: SIMD16<Float>, _ column: Int, to result: inout SIMD16<Float>) {
        let scaled = multiply_add16(code, weights * x[column], result)
        result = multiply_add16(-offsets, SIMD16(repeating: sums[column]), scaled)
    }
}

/// Results of one or two tokens, 16 rows each.
@usableFromInline
struct TileResults {
    @usableFromInline var first = SIMD16<Float>()
    @usableFromInline var second = SIMD16<Float>()

    @inlinable @inline(__always)
    init(_ output: TileOutput, _ token: Int, pairs: Bool) {
        guard output.accumulate else { return }
        let c = UnsafeRawPointer(output.c + 16 &* token)
        if token < output.tokens { first = c.loadUnaligned(as: SIMD16<Float>.self) }
        if !pairs, token &+ 1 < output.tokens { second = (c + 64).loadUnaligned(as: SIMD16<Float>.self) }
    }

    @inlinable @inline(__always)
    mutating func add(_ sums: (SIMD16<Int32>, SIMD16<Int32>), _ scales: TileScales, _ column: Int, pairs: Bool) {
        let (a, b) = (floats_of_ints16(sums.0), floats_of_ints16(sums.1))
        if pairs {
            scales.add(multiply_add16(a, SIMD16(repeating: 126), b), column, to: &first)
        } else {
            scales.add(a, column, to: &first)
            scales.add(b, column &+ 1, to: &second)
        }
    }

    @inlinable @inline(__always)
    func write(_ output: TileOutput, _ token: Int, pairs: Bool) {
        let c = UnsafeMutableRawPointer(output.c + 16 &* token)
        if token < output.tokens { c.storeBytes(of: first, as: SIMD16<Float>.self) }
        if !pairs, token &+ 1 < output.tokens { (c + 64).storeBytes(of: second, as: SIMD16<Float>.self) }
    }
}
