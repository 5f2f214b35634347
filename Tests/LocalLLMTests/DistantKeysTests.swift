import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Attention of prompts whose distant pages have keys of 8 bits, where the tier has kernels for that.
@Suite struct DistantKeysTests {
    private static let (tokens, heads, kvHeads, width) = (420, 6, 2, 64)
    private let compute = Compute(kernels: .best, threads: 2)

    private func random(_ columns: Int, seed: UInt64) -> [[Float]] {
        var generator = SeededGenerator(seed: seed)
        // Halves hold multiples of 1/64 exactly.
        return (0..<Self.tokens).map { _ in
            (0..<columns).map { Float(Int.random(in: -100...100, using: &generator)) / 64 + ($0 % 64 == 5 ? 9 : 0) }
        }
    }

    /// All tokens' outputs, computed in steps of `size` tokens.
    private func attend(_ format: KVCacheFormat, _ precision: AttentionPrecision, steps size: Int) -> [Float] {
        let (width, kvWidth) = (Self.heads * Self.width, Self.kvHeads * Self.width)
        let (q, k, v) = (random(width, seed: 1), random(kvWidth, seed: 2), random(kvWidth, seed: 3))
        let states = StateShape(
            [.keysAndValues(heads: Self.kvHeads, keyWidth: Self.width, valueWidth: Self.width)], format: format)
        let shape = AttentionShape(heads: Self.heads, scale: 0.125, window: nil)
        let (sequence, work) = (SequenceState(states), Workspace())
        func fill(_ matrix: Matrix, _ rows: ArraySlice<[Float]>) -> Matrix {
            for (index, row) in rows.enumerated() { matrix[index].update(from: row, count: row.count) }
            return matrix
        }
        var found: [Float] = []
        for first in stride(from: 0, to: Self.tokens, by: size) {
            let range = first..<min(first + size, Self.tokens)
            var step = Step()
            step.append(Array(repeating: 0, count: range.count)[...], to: sequence, output: .none)
            compute.store(
                fill(work[.key, range.count, kvWidth], k[range]), fill(work[.value, range.count, kvWidth], v[range]),
                of: step, layer: 0)
            let output = work[.attended, range.count, width]
            compute.attention(
                fill(work[.query, range.count, width], q[range]), of: step, layer: 0, shape, precision, into: output)
            found += UnsafeBufferPointer(start: output.base, count: output.rows * output.columns)
        }
        return found
    }

    @Test(arguments: [KVCacheFormat.f16, .q8_0])
    func `the same bits whatever the step's size, close to floats`(format: KVCacheFormat) {
        let bytes = AttentionPrecision(exactRows: 0, hasByteScores: true)
        let found = attend(format, bytes, steps: Self.tokens)
        #expect(normalizedMeanSquaredError(found, attend(format, .floats, steps: Self.tokens)) < 1e-5)
        for size in [256, 128, 100, 33, 1] {
            #expect(attend(format, bytes, steps: size).map(\.bitPattern) == found.map(\.bitPattern), "steps of \(size)")
        }
    }

    @Test func `only rows that see distant pages are computed in 8 bits`() {
        let words = attend(.f16, AttentionPrecision(exactRows: 0, hasByteScores: false), steps: 420)
        let bytes = attend(.f16, AttentionPrecision(exactRows: 0, hasByteScores: true), steps: 420)
        let rows = (0..<Self.tokens).filter { row in
            let range = row * Self.heads * Self.width..<(row + 1) * Self.heads * Self.width
            return words[range].map(\.bitPattern) != bytes[range].map(\.bitPattern)
        }
        // The first 128 tokens see no page between their first and their last 128 tokens.
        #expect(rows == (compute.kernels.wordAttention?.roundByteQueries != nil ? Array(128..<Self.tokens) : []))
    }
}
