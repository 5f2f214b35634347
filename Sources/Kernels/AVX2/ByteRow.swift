// One token times packed weights whose codes are small: the sums of IntegerRow.swift from activations in bytes, see
// `IntegerTile`. Codes of weights are multiplied as they are unpacked, not in words, and sums of products are widened once
// for all columns that share a scale.

import CIntrinsics
import KernelFormats

/// Sums of one token's products of bytes.
struct ByteSums: SegmentSums {
    private var first = SumsOfColumn()
    private var second = SumsOfColumn()

    @inline(__always) init() {}

    /// Behind the tile's words.
    @inline(__always)
    static func activations(_ row: Row, tokens: Int) -> (first: UnsafeRawPointer, stride: Int) {
        let words = row.count &* row.layout.parts &* IntegerTile.blockBytes(columns: 2)
        return (row.tile + words, IntegerTile.bytesOfOneToken)
    }

    @inline(__always)
    mutating func add<Format: PackedFormat>(
        _: Format.Type, _: Int, lower: Bool, upper: Bool, _ planes: UnsafeRawPointer, _: UnsafeRawPointer,
        _ activations: UnsafeRawPointer
    ) {
        for step in 0..<4 {
            let low = Format.codes(planes, step), high = Format.codes(planes + 32, step)
            if lower { add(low.0, high.0, activations + 4 &* step) }
            if upper { add(low.1, high.1, activations + 4 &* (step &+ 4)) }
        }
    }

    @inline(__always)
    private mutating func add(_ low: __m256i, _ high: __m256i, _ activations: UnsafeRawPointer) {
        first.add(low, high, activations)
        second.add(low, high, activations + 32)
    }

    /// The sums with the token's codes, `126 · first + second`.
    @inline(__always)
    var ofTokens: Four<TokenSums> {
        let factor = _mm256_set1_epi16(Int16(IntegerTile.pairFactor)), one = _mm256_set1_epi16(1)
        @inline(__always)
        func join(_ first: __m256i, _ second: __m256i) -> __m256i {
            _mm256_add_epi32(_mm256_madd_epi16(first, factor), _mm256_madd_epi16(second, one))
        }
        return Four(TokenSums(low: join(first.low, second.low), high: join(first.high, second.high)))
    }
}

/// Sums, in 16 bits, of the token's first or second bytes with rows 0..<8 and 8..<16.
private struct SumsOfColumn {
    var low = _mm256_setzero_si256()
    var high = _mm256_setzero_si256()

    /// Adds four columns of the matrix.
    @inline(__always)
    mutating func add(_ low: __m256i, _ high: __m256i, _ x: UnsafeRawPointer) {
        let x = _mm256_set1_epi32(x.loadUnaligned(as: Int32.self))
        self.low = in_order(_mm256_add_epi16(self.low, _mm256_maddubs_epi16(low, x)))
        self.high = in_order(_mm256_add_epi16(self.high, _mm256_maddubs_epi16(high, x)))
    }
}
