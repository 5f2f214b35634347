@testable import Networks
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// The chunked recurrences against their definition, one token after the other in double precision.
@Suite struct LinearRecurrenceTests {
    private static let tokens = 75
    private let compute = Compute(kernels: .best, threads: 2)
    private let portable = Compute(kernels: .portable, threads: 1)

    /// Random numbers in a matrix `[tokens, columns]`, with columns of other matrices around.
    private final class Values {
        let floats: [Float]
        let columns: Int
        private let buffer: AlignedBuffer
        private static let margin = 5

        init(_ columns: Int, seed: UInt64, _ range: ClosedRange<Float> = -1...1) {
            var generator = SeededGenerator(seed: seed)
            let stride = columns + Self.margin
            self.columns = columns
            buffer = AlignedBuffer(floats: tokens * stride)
            floats = (0..<tokens * columns).map { _ in Float.random(in: range, using: &generator) }
            for (index, value) in floats.enumerated() {
                buffer.floats[index / columns * stride + index % columns] = value
            }
        }

        var matrix: Matrix { Matrix(buffer.floats, rows: tokens, columns: columns, stride: columns + Self.margin) }

        /// `width` values of a token's row, from head `head` on.
        func callAsFunction(_ token: Int, _ head: Int, _ width: Int) -> [Double] {
            let start = token * columns + head * width
            return floats[start..<start + width].map { Double($0) }
        }
    }

    /// Computes all tokens in steps of `sizes`, the last of them as often as needed.
    ///
    /// - Returns: The outputs, then the state.
    private func inSteps(
        _ sizes: [Int], columns: Int, stateFloats: Int, _ forward: (Matrix, RecurrentRun, Int) -> Void
    ) -> [Float] {
        let offset = 3
        let state = AlignedBuffer(floats: offset + stateFloats)
        let output = AlignedBuffer(floats: Self.tokens * columns)
        var (first, step) = (0, 0)
        while first < Self.tokens {
            let count = min(sizes[min(step, sizes.count - 1)], Self.tokens - first)
            // Rows of the matrices, and positions that are not theirs.
            let run = RecurrentRun(rows: first..<first + count, start: first, state: state.floats)
            forward(output.matrix(rows: Self.tokens, columns: columns), run, offset)
            first += count
            step += 1
        }
        return Array(UnsafeBufferPointer(start: output.floats, count: Self.tokens * columns))
            + Array(UnsafeBufferPointer(start: state.floats + offset, count: stateFloats))
    }

    private static let splits = [[75], [5], [1], [32, 1], [7, 40, 2]]

    /// Compares with `expected`, whatever the steps and the kernels are.
    private func check(
        _ expected: [Float], columns: Int, stateFloats: Int, chunk: Int,
        _ forward: (Matrix, RecurrentRun, Int, Compute) -> Void
    ) {
        for sizes in Self.splits {
            for compute in [compute, portable] {
                let found = inSteps(sizes, columns: columns, stateFloats: stateFloats) { forward($0, $1, $2, compute) }
                #expect(normalizedMeanSquaredError(found, expected) < 1e-12, "\(sizes)")
            }
        }
        // Cut where chunks end, the bits are the same.
        let (whole, cut) = ([75], [chunk, 2 * chunk, 75])
        let (first, second) = (
            inSteps(whole, columns: columns, stateFloats: stateFloats) { forward($0, $1, $2, compute) },
            inSteps(cut, columns: columns, stateFloats: stateFloats) { forward($0, $1, $2, compute) }
        )
        let isSame = first == second
        #expect(isSame)
    }

    @Test(arguments: [false, true], [(16, 8), (24, 40), (10, 7)])
    func `one decay a head, with and without the delta rule`(isDelta: Bool, widths: (Int, Int)) {
        let (keyWidth, valueWidth) = widths
        for (groups, heads, interleaves) in [(1, 1, false), (2, 6, false), (2, 6, true), (1, 11, false)] {
            let shape = ScalarDecayRecurrence(
                groups: groups, heads: heads, keyWidth: keyWidth, valueWidth: valueWidth, isDelta: isDelta,
                interleavesGroups: interleaves)
            let queries = Values(groups * keyWidth, seed: 1), values = Values(heads * valueWidth, seed: 3)
            // Keys of length below 1, as networks make them: the delta rule does not converge with longer ones.
            let limit = 1 / Float(keyWidth).squareRoot()
            let keys = Values(groups * keyWidth, seed: 2, -limit...limit)
            // Decays from none to everything.
            let decays = Values(heads, seed: 4, 0...1), gains = Values(heads, seed: 5, 0...1)
            var states = (0..<heads).map { _ in NaiveHeadState(keyWidth, valueWidth) }
            var expected: [Double] = []
            for token in 0..<Self.tokens {
                for head in 0..<heads {
                    let group = interleaves ? head % groups : head / (heads / groups)
                    let (key, gain) = (keys(token, group, keyWidth), gains(token, head, 1)[0])
                    var value = values(token, head, valueWidth)
                    states[head].decay(Array(repeating: decays(token, head, 1)[0], count: keyWidth))
                    if isDelta { value = zip(value, states[head].read(key)).map { $0 - $1 } }
                    states[head].add(key, value.map { $0 * gain })
                    expected += states[head].read(queries(token, group, keyWidth))
                }
            }
            expected += states.flatMap { $0.rows.flatMap { $0 } }
            let inputs = ScalarDecayRecurrence.Inputs(
                queries: queries.matrix, keys: keys.matrix, values: values.matrix, decays: decays.matrix,
                gains: gains.matrix)
            check(
                expected.map { Float($0) }, columns: heads * valueWidth, stateFloats: shape.stateFloats,
                chunk: ScalarDecayRecurrence.chunk
            ) { output, run, offset, compute in
                shape.forward(inputs, into: output, [run], stateOffset: offset, compute)
            }
        }
    }

    @Test(arguments: [ChannelDecayRecurrence.Kind.accumulate, .bonus, .delta, .lowRank], [(16, 8), (24, 40), (10, 7)])
    func `one decay a row of the state`(kind: ChannelDecayRecurrence.Kind, widths: (Int, Int)) {
        let (keyWidth, valueWidth) = widths
        let heads = 3
        let shape = ChannelDecayRecurrence(
            heads: heads, keyWidth: keyWidth, valueWidth: valueWidth, kind: kind, scale: 0.5)
        let limit = 1 / Float(keyWidth).squareRoot()
        let queries = Values(heads * keyWidth, seed: 1), values = Values(heads * valueWidth, seed: 3)
        let keys = Values(heads * keyWidth, seed: 2, -limit...limit)
        let decays = Values(heads * keyWidth, seed: 4, 0...1), gains = Values(heads, seed: 5, 0...1)
        let readings = Values(heads * keyWidth, seed: 6, -limit...limit)
        let writings = Values(heads * keyWidth, seed: 7, -limit...limit)
        let bonus = Values(heads * keyWidth, seed: 8)
        var states = (0..<heads).map { _ in NaiveHeadState(keyWidth, valueWidth) }
        var expected: [Double] = []
        for token in 0..<Self.tokens {
            for head in 0..<heads {
                let key = keys(token, head, keyWidth), value = values(token, head, valueWidth)
                let query = queries(token, head, keyWidth).map { $0 * 0.5 }
                let decay = decays(token, head, keyWidth)
                switch kind {
                case .accumulate:
                    states[head].decay(decay)
                    states[head].add(key, value)
                case .bonus:
                    let u = bonus(0, head, keyWidth)
                    let weight = key.indices.reduce(0) { $0 + query[$1] * u[$1] * key[$1] }
                    expected += zip(states[head].read(query), value).map { $0 + weight * $1 }
                    states[head].decay(decay)
                    states[head].add(key, value)
                    continue
                case .delta:
                    states[head].decay(decay)
                    let gain = gains(token, head, 1)[0]
                    states[head].add(key, zip(value, states[head].read(key)).map { gain * ($0 - $1) })
                case .lowRank:
                    let read = states[head].read(readings(token, head, keyWidth))
                    states[head].decay(decay)
                    states[head].add(key, value)
                    states[head].add(writings(token, head, keyWidth), read)
                }
                expected += states[head].read(query)
            }
        }
        expected += states.flatMap { $0.rows.flatMap { $0 } }
        let inputs = ChannelDecayRecurrence.Inputs(
            queries: queries.matrix, keys: keys.matrix, values: values.matrix, decays: decays.matrix,
            gains: gains.matrix, bonus: Array(bonus.floats.prefix(heads * keyWidth)), readings: readings.matrix,
            writings: writings.matrix)
        check(
            expected.map { Float($0) }, columns: heads * valueWidth, stateFloats: shape.stateFloats,
            chunk: ChannelDecayRecurrence.chunk
        ) { output, run, offset, compute in
            shape.forward(inputs, into: output, [run], stateOffset: offset, compute)
        }
    }

    @Test func `two sequences side by side give what each gives alone`() {
        let shape = ScalarDecayRecurrence(groups: 2, heads: 4, keyWidth: 16, valueWidth: 16, isDelta: true)
        let queries = Values(32, seed: 1), keys = Values(32, seed: 2, -0.2...0.2), values = Values(64, seed: 3)
        let decays = Values(4, seed: 4, 0.5...1), gains = Values(4, seed: 5, 0...1)
        let inputs = ScalarDecayRecurrence.Inputs(
            queries: queries.matrix, keys: keys.matrix, values: values.matrix, decays: decays.matrix,
            gains: gains.matrix)
        let states = (0..<4).map { _ in AlignedBuffer(floats: shape.stateFloats) }
        let together = AlignedBuffer(floats: Self.tokens * 64), alone = AlignedBuffer(floats: Self.tokens * 64)
        let ranges = [0..<40, 40..<Self.tokens]
        func run(_ index: Int, _ state: Int) -> RecurrentRun {
            RecurrentRun(rows: ranges[index], start: 0, state: states[state].floats)
        }
        shape.forward(
            inputs, into: together.matrix(rows: Self.tokens, columns: 64), [run(0, 0), run(1, 1)], stateOffset: 0,
            compute)
        for index in 0..<2 {
            shape.forward(
                inputs, into: alone.matrix(rows: Self.tokens, columns: 64), [run(index, 2 + index)], stateOffset: 0,
                compute)
        }
        func floats(_ buffer: AlignedBuffer, _ count: Int) -> [Float] {
            Array(UnsafeBufferPointer(start: buffer.floats, count: count))
        }
        #expect(floats(together, Self.tokens * 64) == floats(alone, Self.tokens * 64))
        for index in 0..<2 {
            #expect(floats(states[index], shape.stateFloats) == floats(states[2 + index], shape.stateFloats))
        }
    }
}
