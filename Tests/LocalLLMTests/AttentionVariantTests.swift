@testable import Networks
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// What model families add to attention, against its definition in double precision.
@Suite struct AttentionVariantTests {
    private let compute = Compute(kernels: .best, threads: 2)
    private static let (tokens, heads, kvHeads, keyWidth, valueWidth) = (70, 6, 2, 16, 32)

    struct Variant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var window: Int?
        var isChunked = false
        var softcap: Float = 0
        var slopes: [Float]?
        var sinks: [Float]?
    }

    /// Four layers with keys and values, then two without.
    @Test func `layers share the keys and values of the last layer with the same window`() throws {
        let directory = try TemporaryDirectory()
        var tiny = TinyModel()
        (tiny.architecture, tiny.layers, tiny.slidingWindow) = ("gemma4", 6, 8)
        tiny.extra = [
            (
                "gemma4.attention.sliding_window_pattern",
                .array([false, true, true, true, true, false].map { .bool($0) })
            )
        ]
        func shared(_ kvHeads: [UInt32], layer: Int) throws -> Int {
            var builder = tiny.builder()
            let key = try #require(builder.metadata.firstIndex { $0.key == "gemma4.attention.head_count_kv" })
            builder.metadata[key].value = .array(kvHeads.map { .uint32($0) })
            let path = try directory.write(builder.bytes(), as: "shared.gguf")
            let family = try #require(Registry.families["gemma4"])
            let model = try DecoderBuilder(ModelReader(GGUFFile(path: path)), architecture: "gemma4", family)
            return try LayerBuilder(model, layer).sharedLayer(before: 4)
        }
        #expect(try shared([2, 2, 2, 2, 2, 2], layer: 4) == 3)
        #expect(try shared([2, 2, 2, 2, 2, 2], layer: 5) == 0)
        #expect(throws: ModelFileError.self) { try shared([1, 2, 2, 2, 2, 2], layer: 5) }
    }

    private static let variants = [
        Variant(testDescription: "plain"), Variant(testDescription: "a window", window: 9),
        Variant(testDescription: "chunks", window: 9, isChunked: true), Variant(testDescription: "softcap", softcap: 2),
        Variant(testDescription: "ALiBi", slopes: [0.5, 0.25, 0.125, 0.0625, 0.75, 0.375]),
        Variant(testDescription: "sinks", sinks: [0, 1, -1, 2, 0.5, -3]),
        Variant(
            testDescription: "all of them", window: 20, softcap: 3, slopes: [0.5, 0.25, 0.125, 0, 1, 2],
            sinks: [1, 2, 3, 4, -5, 0]),
    ]

    /// Multiples of 1/64: keys and values are halves in the cache, and hold these exactly.
    private func random(_ columns: Int, seed: UInt64) -> [[Double]] {
        var generator = SeededGenerator(seed: seed)
        return (0..<Self.tokens).map { _ in
            (0..<columns).map { _ in Double(Int.random(in: -100...100, using: &generator)) / 64 }
        }
    }

    private func fill(_ matrix: Matrix, _ values: ArraySlice<[Double]>) -> Matrix {
        for (row, values) in values.enumerated() {
            for (column, value) in values.enumerated() { matrix[row][column] = Float(value) }
        }
        return matrix
    }

    private static let sizes = [tokens, 33, 5, 1]

    /// Results in steps of each of `sizes`, and the exact ones.
    private func results(
        _ variant: Variant, _ format: KVCacheFormat, _ precision: AttentionPrecision, threads: Int = 2
    ) -> (found: [[Float]], exact: [Float]) {
        let compute = Compute(kernels: .best, threads: threads)
        let q = random(Self.heads * Self.keyWidth, seed: 1)
        let (k, v) = (random(Self.kvHeads * Self.keyWidth, seed: 2), random(Self.kvHeads * Self.valueWidth, seed: 3))
        let expected = q.indices.flatMap { attend(variant, q[$0], k[...$0], v[...$0]) }.map { Float($0) }
        let shape = AttentionShape(
            heads: Self.heads, scale: 0.25, window: variant.window, isChunked: variant.isChunked,
            softcap: variant.softcap, slopes: variant.slopes, sinks: variant.sinks)
        let keysAndValues = LayerState.keysAndValues(
            heads: Self.kvHeads, keyWidth: Self.keyWidth, valueWidth: Self.valueWidth, window: variant.window)
        let states = StateShape([keysAndValues], format: format)
        let found = Self.sizes.map { size in
            let (sequence, work) = (SequenceState(states), Workspace())
            var found: [Float] = []
            for first in stride(from: 0, to: Self.tokens, by: size) {
                let range = first..<min(first + size, Self.tokens)
                var step = Step()
                step.append(Array(repeating: 0, count: range.count)[...], to: sequence, output: .none)
                let key = fill(work[.key, range.count, k[0].count], k[range])
                let value = fill(work[.value, range.count, v[0].count], v[range])
                compute.store(key, value, of: step, layer: 0)
                let query = fill(work[.query, range.count, q[0].count], q[range])
                let output = work[.attended, range.count, Self.heads * Self.valueWidth]
                compute.attention(query, of: step, layer: 0, shape, precision, into: output)
                found += UnsafeBufferPointer(start: output.base, count: output.rows * output.columns)
            }
            return found
        }
        return (found, expected)
    }

    /// What the format of the cache costs.
    private func limit(_ format: KVCacheFormat, halves: Double) -> Double {
        switch format {
        case .f16: halves
        case .q8_0: 1e-3
        case .q4: 5e-2  // six bits of error in a score of 16 products move the weights
        }
    }

    @Test(arguments: variants, KVCacheFormat.allCases)
    func `attention, whatever the step's size`(variant: Variant, format: KVCacheFormat) {
        let (found, expected) = results(variant, format, .floats)
        // Sums of some 70 products and exponentials in floats, each within a few parts in 10⁷.
        let limit = limit(format, halves: 1e-11)
        for (size, found) in zip(Self.sizes, found) {
            #expect(normalizedMeanSquaredError(found, expected) < limit, "steps of \(size)")
        }
    }

    @Test(arguments: variants, KVCacheFormat.allCases)
    func `attention of prompts, with the same bits whatever the step's size`(variant: Variant, format: KVCacheFormat) {
        let (found, expected) = results(variant, format, AttentionPrecision(exactRows: 0, hasByteScores: true))
        // Integers of 13 bits: errors of a few parts in 10⁵.
        #expect(normalizedMeanSquaredError(found[0], expected) < limit(format, halves: 1e-7))
        let bits = found.map { $0.map(\.bitPattern) }
        for (size, bits) in zip(Self.sizes, bits).dropFirst() {
            #expect(bits == found[0].map(\.bitPattern), "steps of \(size)")
        }
    }

    /// The two KV heads have three query heads each.
    @Test(arguments: variants, [5, 8])
    func `threads that would have no tile take some query heads, with the same bits`(variant: Variant, threads: Int) {
        for precision in [.floats, AttentionPrecision(exactRows: 0, hasByteScores: true)] {
            let (expected, _) = results(variant, .f16, precision)
            let (found, _) = results(variant, .f16, precision, threads: threads)
            #expect(found.map { $0.map(\.bitPattern) } == expected.map { $0.map(\.bitPattern) })
        }
    }

    /// Four sequences share 160 tokens, and twelve another 160.
    @Test(arguments: variants, KVCacheFormat.allCases)
    func `answers of sequences that share pages, with the bits of each alone`(
        variant: Variant, format: KVCacheFormat
    ) throws {
        let (kvWidth, width) = (Self.kvHeads * Self.keyWidth, Self.heads * Self.keyWidth)
        let shape = AttentionShape(
            heads: Self.heads, scale: 0.25, window: variant.window, isChunked: variant.isChunked,
            softcap: variant.softcap, slopes: variant.slopes, sinks: variant.sinks)
        let states = StateShape(
            [
                .keysAndValues(
                    heads: Self.kvHeads, keyWidth: Self.keyWidth, valueWidth: Self.valueWidth, window: variant.window)
            ], format: format)
        let work = Workspace()
        func store(_ step: Step, _ rows: Int, seed: UInt64) {
            let (keys, values) = (random(kvWidth, seed: seed), random(Self.kvHeads * Self.valueWidth, seed: seed + 1))
            compute.store(
                fill(work[.key, rows, kvWidth], keys[..<rows]),
                fill(work[.value, rows, Self.kvHeads * Self.valueWidth], values[..<rows]), of: step, layer: 0)
        }
        func grow(_ sequence: SequenceState, by tokens: Int, seed: UInt64) {
            var step = Step()
            step.append(Array(repeating: 0, count: tokens)[...], to: sequence, output: .none)
            store(step, tokens, seed: seed)
        }
        // Of 160 tokens each, and of a few more of their own. Twelve sequences are two parts.
        let roots = (0..<2).map { root in
            let sequence = SequenceState(states)
            for part in 0..<4 { grow(sequence, by: 40, seed: UInt64(10 * root + part)) }
            return sequence
        }
        let sequences = (0..<16).map { index in
            let sequence = roots[index < 4 ? 0 : 1].fork()
            if index % 3 > 0 { grow(sequence, by: 17 * (index % 3), seed: UInt64(100 + index)) }
            return sequence
        }
        let queries = random(width, seed: 5)
        /// An answer's token of each chosen sequence; sequence 0 has three, as with drafts.
        func attend(_ chosen: [Int]) -> [[UInt32]] {
            let forks = chosen.map { (index: $0, state: sequences[$0].fork()) }
            var (step, counts, rows) = (Step(), [Int](), [Int]())
            for (index, state) in forks {
                let count = index == 0 ? 3 : 1
                step.append(Array(repeating: 0, count: count)[...], to: state, output: .none, isAnswer: true)
                counts.append(count)
                rows += (0..<count).map { 3 * index + $0 }
            }
            // Equal keys and values, whoever is beside them.
            let (key, value) = (random(kvWidth, seed: 6), random(Self.kvHeads * Self.valueWidth, seed: 7))
            compute.store(
                fill(work[.key, rows.count, kvWidth], rows.map { key[$0] }[...]),
                fill(work[.value, rows.count, Self.kvHeads * Self.valueWidth], rows.map { value[$0] }[...]), of: step,
                layer: 0)
            let output = work[.attended, rows.count, Self.heads * Self.valueWidth]
            compute.attention(
                fill(work[.query, rows.count, width], rows.map { queries[$0] }[...]), of: step, layer: 0, shape,
                into: output)
            var row = 0
            return counts.map { count in
                defer { row += count }
                return (row..<row + count).flatMap { row in
                    (0..<output.columns).map { output[row][$0].bitPattern }
                }
            }
        }
        let together = attend(Array(sequences.indices))
        for index in sequences.indices {
            #expect(try #require(attend([index]).first) == together[index], "sequence \(index)")
        }
        #expect(Set(together).count == sequences.count)
    }

    private func dot(_ a: [Double], _ b: [Double]) -> Double { zip(a, b).map { $0 * $1 }.reduce(0, +) }

    /// One token's output, from its query and all keys and values up to it.
    private func attend(
        _ variant: Variant, _ query: [Double], _ keys: ArraySlice<[Double]>, _ values: ArraySlice<[Double]>
    ) -> [Double] {
        let position = keys.count - 1
        var first = 0
        if let window = variant.window {
            first = variant.isChunked ? position / window * window : max(0, position - window + 1)
        }
        return (0..<Self.heads).flatMap { head -> [Double] in
            let kv = head / (Self.heads / Self.kvHeads)
            let scores = (first...position).map { t -> Double in
                let product = dot(query.part(head, Self.keyWidth), keys[t].part(kv, Self.keyWidth))
                var score = 0.25 * product
                if variant.softcap > 0 { score = Double(variant.softcap) * tanh(score / Double(variant.softcap)) }
                return score - Double(variant.slopes?[head] ?? 0) * Double(position - t)
            }
            let powers = scores.map { exp($0) }
            var sum = powers.reduce(0, +)
            if let sinks = variant.sinks { sum += exp(Double(sinks[head])) }
            var result = Array(repeating: 0.0, count: Self.valueWidth)
            for (t, power) in zip(first...position, powers) {
                for (column, value) in values[t].part(kv, Self.valueWidth).enumerated() {
                    result[column] += power / sum * value
                }
            }
            return result
        }
    }

    /// The two ways in which files have latent attention, with what Kimi K3, dots 3 Note and Hunyuan 4 add.
    @Test(arguments: [(true, false), (true, true), (false, false), (false, true)])
    func `latent attention, its keys and values made in the query or kept`(isAbsorbed: Bool, hasMore: Bool) throws {
        let (width, heads, nope, rope, rank, value) = (24, 2, 16, 8, 16, 12)
        var layer = NaiveLayer(architecture: "deepseek2", width: width)
        for (key, number) in [
            ("attention.head_count", heads), ("attention.key_length_mla", nope + rope),
            ("attention.value_length_mla", value), ("attention.kv_lora_rank", rank), ("rope.dimension_count", rope),
        ] { layer.key(key, number) }
        layer.matrix("attn_q.weight", from: width, to: heads * (nope + rope))
        layer.matrix("attn_kv_a_mqa.weight", from: width, to: rank + rope)
        layer.vector("attn_kv_a_norm.weight", [rank], 0.5...1.5)
        layer.matrix("attn_output.weight", from: heads * value, to: width)
        if isAbsorbed {
            layer.matrix("attn_k_b.weight", from: nope, to: rank, count: heads)
            layer.matrix("attn_v_b.weight", from: rank, to: value, count: heads)
        } else {
            layer.matrix("attn_kv_b.weight", from: rank, to: heads * (nope + value))
        }
        if hasMore {
            layer.vector("attn_k_norm.weight", [rope], 0.5...1.5)
            layer.matrix("attn_gate.weight", from: width, to: heads * value)
            layer.vector("attn_sinks.weight", [heads], -1...1)
        }
        let directory = try TemporaryDirectory()
        let path = try directory.write(layer.file().bytes(), as: "latent.gguf")
        let builder = LayerBuilder(
            try DecoderBuilder(
                ModelReader(GGUFFile(path: path)), architecture: "deepseek2", Family(experts: .init(isOptional: true))),
            0)
        let block = try builder.latentAttention(nil)
        let x = random(width, seed: 4)
        let tokens = x.indices

        /// The key and the value of each head.
        func expand(_ x: [Double]) -> [(key: [Double], value: [Double])] {
            let latent = layer.linear("attn_kv_a_mqa", x)
            let normed = NaiveLayer.rms(Array(latent[..<rank]), layer.values("attn_kv_a_norm.weight"))
            var turned = Array(latent[rank...])
            if hasMore { turned = NaiveLayer.rms(turned, layer.values("attn_k_norm.weight")) }
            return (0..<heads).map { head in
                guard isAbsorbed else {
                    let both = layer.linear("attn_kv_b", normed).part(head, nope + value)
                    return (Array(both[..<nope]) + turned, Array(both[nope...]))
                }
                // The tensor turns queries into latent vectors: transposed, it makes keys of these.
                let weights = layer.values("attn_k_b.weight").part(head, nope * rank)
                var key = Array(repeating: 0.0, count: nope)
                for row in 0..<rank {
                    for column in 0..<nope { key[column] += weights[row * nope + column] * normed[row] }
                }
                return (key + turned, layer.linear("attn_v_b", normed, head))
            }
        }
        let cached = tokens.map { expand(x[$0]) }
        let expected = tokens.flatMap { t -> [Double] in
            let query = layer.linear("attn_q", x[t])
            var attended = (0..<heads).flatMap { head -> [Double] in
                let powers = (0...t).map { other -> Double in
                    let product = dot(query.part(head, nope + rope), cached[other][head].key)
                    return exp(product / Double(nope + rope).squareRoot())
                }
                let sink = hasMore ? exp(layer.values("attn_sinks.weight")[head]) : 0
                let sum = powers.reduce(sink, +)
                var result = Array(repeating: 0.0, count: value)
                for other in 0...t {
                    for (column, number) in cached[other][head].value.enumerated() {
                        result[column] += powers[other] / sum * number
                    }
                }
                return result
            }
            if hasMore {
                attended = zip(attended, layer.linear("attn_gate", x[t])).map { $0 * NaiveLayer.sigmoid($1) }
            }
            return layer.linear("attn_output", attended)
        }
        for size in [Self.tokens, 9, 1] {
            let (sequence, work) = (SequenceState(StateShape([block.state])), Workspace())
            var found: [Float] = []
            for first in stride(from: 0, to: Self.tokens, by: size) {
                let range = first..<min(first + size, Self.tokens)
                var step = Step()
                step.append(Array(repeating: 0, count: range.count)[...], to: sequence, output: .none)
                let context = LayerContext(
                    step: step, layer: 0, layerCount: 1, work: work, compute: compute, angles: [])
                let input = fill(work[.normed, range.count, width], x[range])
                let output = work[.mixed, range.count, width]
                block.forward(input, into: output, context)
                found += UnsafeBufferPointer(start: output.base, count: output.rows * output.columns)
            }
            // Keys and values are rounded to halves: 2⁻¹² of each at most, which the scores carry on.
            #expect(normalizedMeanSquaredError(found, expected.map { Float($0) }) < 1e-6, "steps of \(size)")
        }
    }
}
