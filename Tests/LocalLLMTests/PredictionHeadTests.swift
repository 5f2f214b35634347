import Foundation
import KernelFormats
import TestSupport
import Testing
import Tiers

@testable import Engine
@testable import LocalLLM

/// Heads for multi-token prediction.
@Suite struct PredictionHeadTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    /// A dense Qwen 3.5 of one attention layer, and optionally a head whose layer is a copy of it.
    ///
    /// - Parameter projection: `[width, 2 · width]`; `nil`: no head.
    private func model(projection: [Float]?) throws -> URL {
        var tiny = TinyModel()
        (tiny.architecture, tiny.layers) = ("qwen35", 1)
        let width = tiny.width
        tiny.extra = [("qwen35.full_attention_interval", .uint32(1))]
        var builder = tiny.builder()
        func replace(_ name: String, by tensor: GGUFBuilder.Tensor) {
            builder.tensors.removeAll { $0.name == name }
            builder.tensors.append(tensor)
        }
        let weights = tiny.weights()
        // Embeddings of mean square 1 are their own norms.
        var table = try #require(weights["token_embd.weight"])
        for row in 0..<TinyModel.vocabularySize {
            let range = row * width..<(row + 1) * width
            let scale = (Float(width) / table[range].reduce(0) { $0 + $1 * $1 }).squareRoot()
            for index in range { table[index] *= scale }
        }
        replace("token_embd.weight", by: .init("token_embd.weight", shape: [width, TinyModel.vocabularySize], table))
        // Queries with gates.
        let queries = try #require(weights["blk.0.attn_q.weight"])
        replace(
            "blk.0.attn_q.weight",
            by: .init("blk.0.attn_q.weight", shape: [width, 2 * queries.count / width], queries + queries.reversed()))
        replace(
            "blk.0.ffn_norm.weight",
            by: .init(
                "blk.0.post_attention_norm.weight", shape: [width], try #require(weights["blk.0.ffn_norm.weight"])))
        if let projection {
            let block = builder.tensors.filter { $0.name.hasPrefix("blk.0.") }
            for tensor in block {
                var copy = tensor
                copy.name = "blk.1." + tensor.name.dropFirst(6)
                builder.tensors.append(copy)
            }
            let ones = [Float](repeating: 1, count: width)
            builder.tensors += [
                .init("blk.1.nextn.eh_proj.weight", shape: [2 * width, width], projection),
                .init("blk.1.nextn.enorm.weight", shape: [width], ones),
                .init("blk.1.nextn.hnorm.weight", shape: [width], ones),
                .init(
                    "blk.1.nextn.shared_head_norm.weight", shape: [width], try #require(weights["output_norm.weight"])),
            ]
            let index = try #require(builder.metadata.firstIndex { $0.key == "qwen35.block_count" })
            builder.metadata[index].value = .uint32(2)
            builder.metadata.append(("qwen35.nextn_predict_layers", .uint32(1)))
        }
        return URL(filePath: try directory.write(builder.bytes(), as: projection == nil ? "plain.gguf" : "head.gguf"))
    }

    /// `[width, 2 · width]` that takes the embedding (`part` 0) or the state (1).
    private func selection(_ part: Int, width: Int = 64) -> [Float] {
        (0..<width).flatMap { row in (0..<2 * width).map { $0 == row + part * width ? 1 : 0 } }
    }

    @Test(arguments: [0, 1])
    func `a head computes its layer from embeddings and states`(part: Int) throws {
        let compute = Compute(kernels: .best, threads: 1)
        defer { compute.pool.stop() }
        let plain = try Registry.network(for: try GGUFFile(path: try model(projection: nil).path))
        let network = try Registry.network(for: try GGUFFile(path: try model(projection: selection(part)).path))
        let head = try #require(network.predictor)
        #expect(plain.predictor == nil)
        let tokens = (0..<40).map { (index: Int) -> Int32 in Int32((index * 37 + 5) % 256 + 3) }
        func logits(_ network: any Network, _ tokens: [Int32], _ states: Matrix? = nil) -> [Float] {
            var step = Step()
            step.append(tokens[...], to: network.makeState(), output: .all)
            step.previousStates = states
            let logits = network.forward(step, on: compute)
            return Array(UnsafeBufferPointer(start: logits.base, count: logits.rows * logits.columns))
        }
        let expected = logits(plain, tokens)
        // The part that is not selected is of other tokens, and must not matter.
        let table = try #require(
            try GGUFFile(path: try model(projection: nil).path).tensorIfPresent("token_embd.weight")
        ).floats()
        let buffer = AlignedBuffer(floats: tokens.count * head.width)
        let states = buffer.matrix(rows: tokens.count, columns: head.width)
        for (row, token) in tokens.enumerated() {
            let source = part == 1 ? Int(token) : 77
            for d in 0..<head.width { states[row][d] = 3 * table[source * head.width + d] }
        }
        let found = logits(head, part == 1 ? tokens.map { _ in 80 } : tokens, states)
        #expect(normalizedMeanSquaredError(found, expected) < 1e-8)
    }

    @Test func `text with a head is the same as without`() async throws {
        var generator = SeededGenerator(seed: 2)
        let mixed = (0..<64 * 128).map { _ in Float.random(in: -0.15...0.15, using: &generator) }
        let file = try model(projection: mixed)
        let model = try await LocalModel.load(from: file, configuration: .init(contextSize: 2048, threads: 1))
        #expect(model.drafter == "multi-token prediction")
        let compute = Compute(kernels: .best, threads: 1)
        let network = SlowNetwork(
            try Registry.network(for: try GGUFFile(path: file.path), packer: compute.packer), seconds: 0.002)
        let head = try #require(network.predictor)
        let thread = ModelThread(
            network: network, compute: compute, tokenizer: try model.tokenizer,
            drafter: Drafter(head, vocabularySize: network.vocabularySize, statesWidth: head.width),
            cacheBytes: 1 << 26, spareBytes: { 1 << 26 }, queueLimit: 64)
        defer { thread.stop() }
        let prompt = (0..<100).map { Int32(($0 * 31) % 256 + 3) }
        var drafted = 0
        for temperature in [0, 0.8, 1.5] {
            var options = SamplingOptions(temperature: temperature, seed: 5, maximumTokens: 150, topLogprobs: 2)
            options.ignoresEndOfSequence = true
            var answers: [(tokens: [Int32], logprobs: [TokenLogprob])] = []
            for drafts in [false, true, true] {
                options.drafts = drafts
                let generations = [
                    model.generate(tokens: prompt, options: options),
                    thread.submit(
                        ModelThread.Request(
                            tokens: prompt, chain: Sampler.Chain().overridden(by: options), options: options,
                            maximumTokens: 150)),
                ]
                for generation in generations {
                    var answer: (tokens: [Int32], logprobs: [TokenLogprob]) = ([], [])
                    for try await piece in generation {
                        answer.tokens += piece.tokens
                        answer.logprobs += piece.logprobs
                        drafted += piece.finish?.usage.draftedTokens ?? 0
                    }
                    answers.append(answer)
                }
            }
            #expect(answers[0].tokens.count > 1)
            for answer in answers.dropFirst() {
                #expect(answer.tokens == answers[0].tokens && answer.logprobs == answers[0].logprobs)
            }
        }
        #expect(drafted > 0)
    }
}
