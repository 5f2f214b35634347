// One token times packed weights whose codes are small: the sums of IntegerRow.swift from activations in bytes, see
// `IntegerTile`. Codes of weights are multiplied as they are unpacked, not in words, and sums of products are widened once
// for all columns that share a scale.

import CIntrinsics
import KernelFormats

/// Sums of the token's first or second bytes with rows 0..<8 and 8..<16.
private struct ByteSums {
    var low = _mm256_setzero_si256()
    var high = _mm256_setzero_si256()

    /// Adds four columns.
    @inline(__always)
    mutating func add(_ weights: (low: __m256i, high: __m256i), _ x: UnsafeRawPointer) {
        let x = _mm256_set1_epi32(x.loadUnaligned(as: Int32.self))
        low = in_order(_mm256_add_epi16(low, _mm256_maddubs_epi16(weights.low, x)))
        high = in_order(_mm256_add_epi16(high, _mm256_maddubs_epi16(weights.high, x)))
    }
}

/// Sums of a segment.
private struct PairSums {
    private var first = ByteSums()
    private var second = ByteSums()

    /// Adds the lower or the upper 16 of 32 columns, or both: literals.
    @inline(__always)
    mutating func add<Format: PackedFormat>(
        _: Format.Type, lower: Bool, upper: Bool, _ planes: UnsafeRawPointer, _ bytes: UnsafeRawPointer
    ) {
        for step in 0..<4 {
            let low = Format.codes(planes, step), high = Format.codes(planes + 32, step)
            if lower { add((low.0, high.0), bytes + 4 &* step) }
            if upper { add((low.1, high.1), bytes + 4 &* (step &+ 4)) }
        }
    }

    @inline(__always)
    private mutating func add(_ weights: (low: __m256i, high: __m256i), _ bytes: UnsafeRawPointer) {
        first.add(weights, bytes)
        second.add(weights, bytes + 32)
    }

    /// The sums with the token's codes, `126 · first + second`.
    @inline(__always)
    var joined: TokenSums {
        let factor = _mm256_set1_epi16(Int16(IntegerTile.pairFactor)), one = _mm256_set1_epi16(1)
        @inline(__always)
        func join(_ first: __m256i, _ second: __m256i) -> __m256i {
            _mm256_add_epi32(_mm256_madd_epi16(first, factor), _mm256_madd_epi16(second, one))
        }
        return TokenSums(low: join(first.low, second.low), high: join(first.high, second.high))
    }
}

/// Multiplies one token; its results are those of the kernel for words.
@inline(__always)
func multiplyBytes<Format: PackedFormat>(_ format: Format.Type, _ row: Row) {
    let layout = row.layout
    var results = TokenResults()
    var (block, words) = (row.blocks, row.tile)
    var bytes = words + row.count &* layout.parts &* IntegerTile.blockBytes(columns: 2)
    for _ in 0..<row.count {
        prefetchLines(block, layout.scaleBytes)
        let shared = Format.shared(block)
        var planes = block + layout.scaleBytes
        for part in 0..<layout.parts {
            prefetchLines(planes, Format.planeBytes)
            // The scale, and the sums of all activations, of the first 16, of the others; each two floats apart.
            let numbers = (words + 64).assumingMemoryBound(to: Float.self)
            var sums = PairSums()
            if Format.segments == 1 {
                sums.add(format, lower: true, upper: true, planes, bytes)
                results.add(sums.joined, Format.scales(shared, block, part, 0), numbers[0], numbers[2])
            } else {
                sums.add(format, lower: true, upper: false, planes, bytes)
                results.add(sums.joined, Format.scales(shared, block, part, 0), numbers[0], numbers[4])
                sums = PairSums()
                sums.add(format, lower: false, upper: true, planes, bytes)
                results.add(sums.joined, Format.scales(shared, block, part, 1), numbers[0], numbers[6])
            }
            planes += layout.planeBytes
            words += IntegerTile.blockBytes(columns: 2)
            bytes += IntegerTile.bytesOfOneToken
        }
        block += layout.blockBytes
    }
    results.write(row.c)
}
