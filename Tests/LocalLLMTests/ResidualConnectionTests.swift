@testable import Networks
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// What blocks read from several residual streams, and what becomes of these, against the definitions in double precision.
@Suite struct ResidualConnectionTests {
    private typealias Naive = NaiveLayer
    private let directory: TemporaryDirectory
    private let compute = Compute(kernels: .best, threads: 2)
    private static let (rows, streams, width) = (11, 4, 16)

    init() throws { directory = try TemporaryDirectory() }

    private static func layer() -> Naive {
        var layer = Naive(architecture: "deepseek4", width: width)
        layer.key("hyper_connection.count", streams)
        layer.metadata.append(("hyper_connection.epsilon", .float32(1e-3)))
        return layer
    }

    private func builder(_ layer: Naive) throws -> LayerBuilder {
        let path = try directory.write(layer.file().bytes(), as: "layer.gguf")
        return LayerBuilder(
            try DecoderBuilder(ModelReader(GGUFFile(path: path)), architecture: layer.architecture, Family()), 0)
    }

    private func random(_ rows: Int, _ columns: Int, seed: UInt64) -> [[Double]] {
        var generator = SeededGenerator(seed: seed)
        return (0..<rows).map { _ in
            (0..<columns).map { _ in Double(Float.random(in: -2...2, using: &generator)) }
        }
    }

    private func fill(_ matrix: Matrix, _ values: [[Double]]) {
        for (row, values) in values.enumerated() {
            for (column, value) in values.enumerated() { matrix[row][column] = Float(value) }
        }
    }

    private func values(_ matrix: Matrix) -> [Float] {
        (0..<matrix.rows).flatMap { Array(UnsafeBufferPointer(start: matrix[$0], count: matrix.columns)) }
    }

    /// Reads and writes with a connection, in steps of several sizes, and compares both with `define`: from a row's streams, and
    /// what the block gives, to what it reads and the streams after it.
    private func check(
        _ connection: any ResidualConnection, columns: Int = Self.streams * Self.width, state: LayerState = .none,
        tokens: [Int32] = Array(repeating: 0, count: Self.rows),
        _ define: (_ row: Int, _ x: [Double], _ output: [Double]) -> (input: [Double], after: [Double])
    ) {
        let count = tokens.count
        let (x, output) = (random(count, columns, seed: 1), random(count, Self.width, seed: 2))
        let expected = (0..<count).map { define($0, x[$0], output[$0]) }
        for size in [count, 3, 1] {
            let (sequence, work) = (SequenceState(StateShape([state])), Workspace())
            var (inputs, after): ([Float], [Float]) = ([], [])
            for first in stride(from: 0, to: count, by: size) {
                let range = first..<min(first + size, count)
                var step = Step()
                step.append(tokens[range], to: sequence, output: .none)
                let context = LayerContext(
                    step: step, layer: 0, layerCount: 1, work: work, compute: compute, angles: [])
                let residual = work[.residual, range.count, columns]
                let (input, mixed) = (work[.normed, range.count, Self.width], work[.mixed, range.count, Self.width])
                fill(residual, Array(x[range]))
                connection.read(residual, into: input, context)
                inputs += values(input)
                fill(mixed, Array(output[range]))
                connection.write(mixed, to: residual, context)
                after += values(residual)
            }
            let read = normalizedMeanSquaredError(inputs, expected.flatMap { $0.input }.map { Float($0) })
            let written = normalizedMeanSquaredError(after, expected.flatMap { $0.after }.map { Float($0) })
            #expect(read < 1e-11 && written < 1e-11, "steps of \(size)")
        }
    }

    private func part(_ x: [Double], _ stream: Int) -> [Double] { x.part(stream, Self.width) }

    @Test(arguments: [0, 1, 3]) func `hyper-connections, with and without a mixture of the streams`(
        iterations: Int
    ) throws {
        let n = Self.streams
        var layer = Self.layer()
        let mixes = iterations > 0 ? (2 + n) * n : 2 * n
        layer.matrix("hc_attn_fn.weight", from: n * Self.width, to: mixes)
        layer.vector("hc_attn_scale.weight", [iterations > 0 ? 3 : 2], 0.5...2)
        layer.vector("hc_attn_base.weight", [mixes])
        let (scales, bases) = (layer.values("hc_attn_scale.weight"), layer.values("hc_attn_base.weight"))
        let style = HyperConnection.Style(postFactor: 1.5, postOffset: 0.25, iterations: iterations)
        let connection = try HyperConnection(builder(layer).model, "blk.0.hc_attn", style)
        let epsilon = Double(Float(1e-3))
        check(connection) { _, x, output in
            let m = layer.linear("hc_attn_fn", Naive.rms(x, Array(repeating: 1, count: x.count)))
            func affine(_ index: Int, _ scale: Int) -> Double { m[index] * scales[scale] + bases[index] }
            let pre = (0..<n).map { Naive.sigmoid(affine($0, 0)) + epsilon }
            let post = (0..<n).map { 1.5 * Naive.sigmoid(affine(n + $0, 1)) + 0.25 }
            // From a stream to a stream.
            var comb = (0..<n).map { from in (0..<n).map { from == $0 ? 1.0 : 0 } }
            if iterations > 0 {
                comb = (0..<n).map { from in
                    let powers = (0..<n).map { exp(affine(2 * n + from * n + $0, 2)) }
                    return powers.map { $0 / powers.reduce(0, +) + epsilon }
                }
                for iteration in 0..<iterations {
                    if iteration > 0 {
                        comb = comb.map { row in row.map { $0 / (row.reduce(0, +) + epsilon) } }
                    }
                    let sums = (0..<n).map { to in comb.reduce(epsilon) { $0 + $1[to] } }
                    comb = comb.map { zip($0, sums).map { $0 / $1 } }
                }
            }
            var input = Array(repeating: 0.0, count: Self.width)
            var after: [Double] = []
            for from in 0..<n {
                for (column, value) in part(x, from).enumerated() { input[column] += pre[from] * value }
            }
            for to in 0..<n {
                var stream = output.map { post[to] * $0 }
                for from in 0..<n {
                    for (column, value) in part(x, from).enumerated() { stream[column] += comb[from][to] * value }
                }
                after += stream
            }
            return (input, after)
        }
    }

    /// A layer with the tensors of a gated connection.
    private func gated() -> Naive {
        let size = Self.streams * Self.width
        var layer = Self.layer()
        layer.key("hyper_connection.low_rank", 5)
        layer.vector("hc_attn_norm.weight", [Self.width, Self.streams], 0.5...1.5)
        layer.matrix("hc_attn_down.weight", from: size, to: 5)
        layer.matrix("hc_attn_up.weight", from: 5, to: size)
        layer.matrix("hc_attn_inject.weight", from: size, to: Self.streams)
        return layer
    }

    private func readGated(_ layer: Naive, _ x: [Double], _ output: [Double]) -> (input: [Double], after: [Double]) {
        let n = Self.streams
        let z = normed(layer, "hc_attn_norm.weight", x)
        let low = layer.linear("hc_attn_down", z).map { Naive.silu($0 / Double(n)) }
        let gates = layer.linear("hc_attn_up", low).map(Naive.sigmoid)
        let weights = layer.linear("hc_attn_inject", z).map { 2 * Naive.sigmoid($0 / Double(n)) }
        let open = zip(z, gates).map { $0 * $1 }
        var input = Array(repeating: 0.0, count: Self.width)
        var after: [Double] = []
        for stream in 0..<n {
            for (column, value) in part(open, stream).enumerated() { input[column] += value / Double(n) }
            after += zip(part(x, stream), output).map { $0 + weights[stream] * $1 }
        }
        return (input, after)
    }

    /// Each stream's norm by itself.
    private func normed(_ layer: Naive, _ name: String, _ x: [Double]) -> [Double] {
        let weights = layer.values(name)
        return (0..<Self.streams).flatMap { Naive.rms(part(x, $0), part(weights, $0)) }
    }

    @Test func `gated streams`() throws {
        let layer = gated()
        let connection = try GatedStreams(builder(layer).model, "blk.0.hc_attn")
        check(connection) { _, x, output in readGated(layer, x, output) }
    }

    @Test func `embeddings of n-grams, whose convolution goes on from step to step`() throws {
        let (n, width, size) = (Self.streams, Self.width, Self.streams * Self.width)
        let (length, kernel, heads, end) = (3, 4, 2, 5)
        var layer = gated()
        for (key, value) in [
            ("ple.ngram_size", length), ("ple.conv_kernel", kernel), ("ple.heads_per_ngram", heads),
            ("ple.eos_token_id", end), ("embedding_length_per_layer_input", width / 4),
        ] { layer.key(key, value) }
        layer.metadata.append(("ple.layer_multipliers", .array([.uint64(1), .uint64(31), .uint64(1009)])))
        layer.metadata.append(("ple.head_offsets", .array([.uint64(0), .uint64(7), .uint64(20), .uint64(31)])))
        layer.metadata.append(("ple.head_vocab_sizes", .array([.uint64(7), .uint64(13), .uint64(11), .uint64(9)])))
        layer.matrix("ple_key.weight", from: width, to: size)
        layer.matrix("ple_value.weight", from: width, to: width)
        for part in ["key", "query", "conv"] { layer.vector("ple_norm_\(part).weight", [width, n], 0.5...1.5) }
        layer.vector("ple_conv1d.weight", [kernel, size])
        layer.vector("table", [width / 4, 40], -1...1)
        let tokens: [Int32] = [3, 9, 9, 5, 5, 2, 8, 1, 7, 7, 7, 4, 0, 6, 3, 9]
        var file = layer.file()
        for index in file.tensors.indices where file.tensors[index].name == "blk.0.table" {
            file.tensors[index] = .init(
                "per_layer_token_embd.weight", shape: [width / 4, 40], layer.values("table").map { Float($0) })
        }
        let path = try directory.write(file.bytes(), as: "ngrams.gguf")
        let builder = LayerBuilder(
            try DecoderBuilder(ModelReader(GGUFFile(path: path)), architecture: layer.architecture, Family()), 0)
        let next = try GatedStreams(builder.model, "blk.0.hc_attn")
        let connection = try NGramEmbedding(builder, before: next, stateOffset: 32)
        let floats = 32 + (try NGramEmbedding.stateFloats(builder))

        /// The rows of the table that belong to token `t`, one after the other.
        func embedding(_ t: Int) -> [Double] {
            var gram = [Int(tokens[t])]
            for place in 1..<length {
                let token = t - place >= 0 ? Int(tokens[t - place]) : end
                gram.append(gram.dropFirst().contains(end) ? end : token)
            }
            let multipliers = [1, 31, 1009], offsets = [0, 7, 20, 31], sizes = [7, 13, 11, 9]
            return (0..<4).flatMap { index -> [Double] in
                var mixed = 0
                for place in 0..<index / heads + 2 { mixed ^= gram[place] * multipliers[place] }
                return layer.values("table").part(offsets[index] + mixed % sizes[index], width / 4)
            }
        }
        var convolvedRows: [[Double]] = []
        check(connection, state: .recurrent(floats: floats), tokens: tokens) { t, x, output in
            let e = embedding(t)
            let (k, v) = (layer.linear("ple_key", e), layer.linear("ple_value", e))
            let (key, query) = (normed(layer, "ple_norm_key.weight", k), normed(layer, "ple_norm_query.weight", x))
            let y = (0..<n).flatMap { stream -> [Double] in
                let products = zip(part(key, stream), part(query, stream)).map { $0 * $1 }
                let score = products.reduce(0, +) / Double(width).squareRoot()
                let root = max(abs(score), 1e-6).squareRoot()
                let gate = Naive.sigmoid(score < 0 ? -root : root)
                return v.map { $0 * gate }
            }
            convolvedRows.append(normed(layer, "ple_norm_conv.weight", y))
            let weights = layer.values("ple_conv1d.weight")
            let mixed = (0..<size).map { column -> Double in
                let sum = (0..<kernel).reduce(0.0) { sum, tap in
                    let source = t - (kernel - 1 - tap) * length
                    return source < 0 ? sum : sum + weights[column * kernel + tap] * convolvedRows[source][column]
                }
                return x[column] + y[column] + Naive.silu(sum)
            }
            return readGated(layer, mixed, output)
        }
    }

    @Test func `a block attends to the streams of before, and one begins anew`() throws {
        let (width, kept) = (Self.width, 2)
        var layer = Self.layer()
        layer.vector("score.weight", [width], -1...1)
        let score = layer.values("score.weight")
        for begins in [false, true] {
            let connection = try AttentionResidual(
                builder(layer).model, "blk.0.score", kept: kept, begins: begins)
            check(connection) { _, x, output in
                let powers = (0...kept).map { stream in exp(Naive.rms(self.part(x, stream), score).reduce(0, +)) }
                let sum = powers.reduce(0, +)
                var input = Array(repeating: 0.0, count: width)
                for stream in 0...kept {
                    for (column, value) in part(x, stream).enumerated() {
                        input[column] += powers[stream] / sum * value
                    }
                }
                var after = x
                if begins { after.replaceSubrange(3 * width..<4 * width, with: self.part(x, 0)) }
                for column in 0..<width { after[column] = (begins ? 0 : x[column]) + output[column] }
                return (input, after)
            }
        }
    }

    @Test func `what a block reads, normalized and scaled, takes the residual stream's place`() throws {
        let weights = random(1, Self.width, seed: 3)[0]
        let norm = Norm(.rms, weight: weights.map { Float($0) }, epsilon: Float(Naive.epsilon))
        check(NormedResidual(norm, scale: 3.5), columns: Self.width) { _, x, output in
            let input = Naive.rms(x, weights)
            return (input, zip(input, output).map { 3.5 * $0 + $1 })
        }
    }
}
