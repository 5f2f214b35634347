@testable import Networks
@testable import Compute
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// DeepSeek V4's attention against its definition, one token after the other, in double precision.
@Suite struct CompressedAttentionTests {
    private let directory: TemporaryDirectory
    private let compute = Compute(kernels: .best, threads: 2)

    init() throws { directory = try TemporaryDirectory() }

    private static let (width, heads, headWidth, rope, window) = (16, 4, 8, 4, 24)
    private static let (queryRank, groups, outputRank) = (6, 2, 5)
    private static let (base, compressedBase) = (100.0, 1000.0)

    private struct Definition {
        let ratio: Int
        let layer: NaiveLayer
        private var keys: [[Double]] = []
        /// Values and gates of each token, and the vectors of the groups so far.
        private var values: [[Double]] = []
        private var gates: [[Double]] = []
        private var vectors: [[Double]] = []

        init(ratio: Int) {
            self.ratio = ratio
            var layer = NaiveLayer(architecture: "deepseek4", width: width)
            for (key, value) in [
                ("attention.head_count", heads), ("attention.head_count_kv", 1), ("attention.key_length", headWidth),
                ("attention.value_length", headWidth), ("attention.q_lora_rank", queryRank),
                ("attention.output_group_count", groups), ("attention.output_lora_rank", outputRank),
                ("attention.sliding_window", window), ("rope.dimension_count", rope), ("expert_count", 2),
                ("expert_used_count", 1),
            ] {
                layer.key(key, value)
            }
            layer.metadata += [
                ("attention.compress_ratios", .int32s([Int32(ratio)])), ("rope.freq_base", .float32(Float(base))),
                ("attention.compress_rope_freq_base", .float32(Float(compressedBase))),
            ]
            layer.matrix("attn_q_a.weight", from: width, to: queryRank)
            layer.vector("attn_q_a_norm.weight", [queryRank], 0.5...1.5)
            layer.matrix("attn_q_b.weight", from: queryRank, to: heads * headWidth)
            layer.matrix("attn_kv.weight", from: width, to: headWidth)
            layer.vector("attn_kv_a_norm.weight", [headWidth], 0.5...3)
            layer.vector("attn_sinks.weight", [heads], -1...1)
            layer.matrix(
                "attn_output_a.weight", from: heads / groups * headWidth, to: outputRank, count: groups)
            layer.matrix("attn_output_b.weight", from: groups * outputRank, to: width)
            if ratio > 0 {
                let columns = ratio == 4 ? 2 * headWidth : headWidth
                layer.matrix("attn_compressor_kv.weight", from: width, to: columns)
                layer.matrix("attn_compressor_gate.weight", from: width, to: columns)
                layer.vector("attn_compressor_ape.weight", [columns, ratio], -2...2)
                layer.vector("attn_compressor_norm.weight", [headWidth], 0.5...3)
            }
            self.layer = layer
        }

        /// Rotates the last part of a head.
        private func rotated(_ x: ArraySlice<Double>, at position: Int, sign: Double = 1) -> [Double] {
            var y = Array(x)
            let base = ratio == 0 ? base : compressedBase
            for pair in 0..<rope / 2 {
                let angle = sign * Double(position) * pow(base, -2 * Double(pair) / Double(rope))
                let first = headWidth - rope + 2 * pair
                (y[first], y[first + 1]) = (
                    y[first] * cos(angle) - y[first + 1] * sin(angle), y[first] * sin(angle) + y[first + 1] * cos(angle)
                )
            }
            return y
        }

        /// The vector of a whole group of tokens.
        private func compressed(_ group: Int) -> [Double] {
            let bias = layer.values("attn_compressor_ape.weight")
            let columns = ratio == 4 ? 2 * headWidth : headWidth
            let pooled = (0..<headWidth).map { index -> Double in
                var terms: [(gate: Double, value: Double)] = []
                func add(_ group: Int, _ column: Int) {
                    for place in 0..<ratio {
                        let token = group * ratio + place
                        terms.append((gates[token][column] + bias[place * columns + column], values[token][column]))
                    }
                }
                if ratio == 4 {
                    if group > 0 { add(group - 1, index) }
                    add(group, headWidth + index)
                } else {
                    add(group, index)
                }
                let sum = terms.reduce(0) { $0 + exp($1.gate) }
                return terms.reduce(0) { $0 + exp($1.gate) * $1.value } / sum
            }
            let normed = NaiveLayer.rms(pooled, layer.values("attn_compressor_norm.weight"))
            return rotated(normed[...], at: group * ratio)
        }

        mutating func output(_ x: [Double]) -> [Double] {
            let position = keys.count
            if ratio > 0 {
                values.append(layer.linear("attn_compressor_kv", x))
                gates.append(layer.linear("attn_compressor_gate", x))
                if (position + 1) % ratio == 0 { vectors.append(compressed(position / ratio)) }
            }
            let key = NaiveLayer.rms(layer.linear("attn_kv", x), layer.values("attn_kv_a_norm.weight"))
            keys.append(rotated(key[...], at: position))
            let seen = keys[max(0, position - window + 1)...] + vectors

            let low = NaiveLayer.rms(layer.linear("attn_q_a", x), layer.values("attn_q_a_norm.weight"))
            let queries = layer.linear("attn_q_b", low)
            let sinks = layer.values("attn_sinks.weight")
            var attended: [Double] = []
            for head in 0..<heads {
                let plain = Array(queries[head * headWidth..<(head + 1) * headWidth])
                let query = rotated(
                    NaiveLayer.rms(plain, Array(repeating: 1, count: headWidth))[...], at: position)
                let weights = seen.map { key in
                    exp(zip(query, key).reduce(0) { $0 + $1.0 * $1.1 } / Double(headWidth).squareRoot())
                }
                let sum = weights.reduce(exp(sinks[head]), +)
                let mean = (0..<headWidth).map { index in
                    zip(weights, seen).reduce(0) { $0 + $1.0 * $1.1[index] } / sum
                }
                attended += rotated(mean[...], at: position, sign: -1)
            }
            let down = layer.values("attn_output_a.weight")
            let inputs = heads / groups * headWidth
            let lowOutput = (0..<groups * outputRank).map { row in
                let group = attended[(row / outputRank * inputs)...].prefix(inputs)
                return zip(down[(row * inputs)...], group).reduce(0.0) { $0 + $1.0 * $1.1 }
            }
            return layer.linear("attn_output_b", lowOutput)
        }
    }

    private func mixer(_ definition: Definition) throws -> (mixer: CompressedAttention, rotaries: [Rotary]) {
        let path = try directory.write(definition.layer.file().bytes(), as: "layer.gguf")
        let builder = try DecoderBuilder(
            ModelReader(GGUFFile(path: path)), architecture: "deepseek4", Family.deepseeks["deepseek4"]!)
        return (try CompressedAttention(LayerBuilder(builder, 0)), builder.rotaries)
    }

    private func inputs(_ count: Int) -> [[Double]] {
        var generator = SeededGenerator(seed: 0xdee9)
        return (0..<count).map { _ in
            (0..<Self.width).map { _ in Double(Float.random(in: -1...1, using: &generator)) }
        }
    }

    private func forward(
        _ network: (mixer: CompressedAttention, rotaries: [Rotary]), _ rows: ArraySlice<[Double]>,
        _ sequence: SequenceState, _ work: Workspace
    ) -> [Float] {
        var step = Step()
        step.append(Array(repeating: 0, count: rows.count)[...], to: sequence, output: .none)
        let memory = (
            AlignedBuffer(floats: rows.count * Self.width), AlignedBuffer(floats: rows.count * Self.width)
        )
        let (input, output) = (
            memory.0.matrix(rows: rows.count, columns: Self.width),
            memory.1.matrix(rows: rows.count, columns: Self.width)
        )
        for (row, values) in rows.enumerated() {
            for (column, value) in values.enumerated() { input[row][column] = Float(value) }
        }
        let context = LayerContext(
            step: step, layer: 0, layerCount: 1, work: work, compute: compute,
            angles: network.rotaries.enumerated().map { $1.angles(of: step.positions, in: work, index: $0) })
        network.mixer.forward(input, into: output, context)
        return Array(UnsafeBufferPointer(start: output.base, count: rows.count * Self.width))
    }

    @Test(arguments: [0, 4, 128]) func `a token attends to a window and to compressed vectors`(ratio: Int) throws {
        var definition = Definition(ratio: ratio)
        let network = try mixer(definition)
        let rows = inputs(270)
        let expected = rows.flatMap { definition.output($0) }.map { Float($0) }
        for size in [270, 100, 33, 7, 1] {
            let (sequence, work) = (SequenceState(StateShape([network.mixer.state])), Workspace())
            var found: [Float] = []
            for first in stride(from: 0, to: rows.count, by: size) {
                found += forward(network, rows[first..<min(first + size, rows.count)], sequence, work)
            }
            // The cache holds halves.
            #expect(normalizedMeanSquaredError(found, expected) < 1e-6, "steps of \(size)")
        }
    }

    /// Compressed vectors are always halves: with rotated keys in the window they are rotated when they are read.
    @Test(arguments: [0, 4, 128]) func `a window of fewer bits goes with compressed vectors`(ratio: Int) throws {
        let network = try mixer(Definition(ratio: ratio))
        let rows = inputs(270)
        func outputs(_ format: KVCacheFormat) -> [Float] {
            let sequence = SequenceState(StateShape([network.mixer.state], format: format))
            return forward(network, rows[...], sequence, Workspace())
        }
        let halves = outputs(.f16)
        #expect(normalizedMeanSquaredError(outputs(.q8_0), halves) < 1e-3)
        #expect(normalizedMeanSquaredError(outputs(.q4), halves) < 3e-2)
    }

    @Test(arguments: [4, 128]) func `a rolled back sequence equals one that never went there`(ratio: Int) throws {
        let network = try mixer(Definition(ratio: ratio))
        let (rows, work) = (inputs(270), Workspace())
        let first = SequenceState(StateShape([network.mixer.state]))
        _ = forward(network, rows[..<126], first, work)
        first.checkpoint()
        let second = first.fork()
        _ = forward(network, rows[40..<90], first, work)
        #expect(first.rollBack(to: 126) == 126)
        let (rolledBack, forked) = (
            forward(network, rows[126...], first, work), forward(network, rows[126...], second, work)
        )
        #expect(rolledBack == forked)
    }

    @Test func `compressed vectors take a quarter of the memory, or one place in each page`() {
        let bytes = { (tokens: Int) in
            StateShape([.compressed(width: 16, tokens: tokens)]).bytes(tokens: 64) / (2 * 16)
        }
        #expect(bytes(4) == 16)
        #expect(bytes(128) == 2)
    }
}
