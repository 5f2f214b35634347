import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Encoders against plain ones in double precision.
@Suite struct EncoderTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    /// Of 1 to 60 tokens.
    private let inputs: [[Int32]] = [1, 2, 60, 7, 31, 8, 33].map { count in
        (0..<count).map { index in
            let token = (index * 37 + 11 * count) % 56
            return Int32(token)
        }
    }

    private static let families: [(String, TinyEncoder)] = {
        var list: [(String, TinyEncoder)] = []
        func add(_ name: String, _ change: (inout TinyEncoder) -> Void) {
            var model = TinyEncoder()
            change(&model)
            list.append((name, model))
        }
        func preNorm(_ model: inout TinyEncoder, _ architecture: String, _ positions: TinyEncoder.Positions) {
            model.architecture = architecture
            model.positions = positions
            (model.isPreNorm, model.isRMS, model.hasBias, model.hasTokenTypes) = (true, true, false, false)
            model.gating = .separate
        }
        add("bert") { _ in }
        add("bert, one tensor for queries, keys and values") { $0.isFused = true }
        add("nomic-bert") {
            ($0.architecture, $0.positions, $0.gating) = ("nomic-bert", .rotaryHalves, .separate)
            ($0.isFused, $0.hasBias) = (true, false)
        }
        add("nomic-bert-moe") { ($0.architecture, $0.positions, $0.experts) = ("nomic-bert-moe", .rotaryHalves, 5) }
        add("jina-bert-v2") { ($0.architecture, $0.positions, $0.gating) = ("jina-bert-v2", .alibi, .separate) }
        add("jina-bert-v2 for code") {
            ($0.architecture, $0.positions, $0.gating) = ("jina-bert-v2", .alibi, .fused)
            $0.hasExtraNorms = true
        }
        add("jina-bert-v3") { ($0.architecture, $0.positions) = ("jina-bert-v3", .rotaryHalves) }
        add("modern-bert") {
            preNorm(&$0, "modern-bert", .rotaryHalves)
            ($0.isRMS, $0.isFused, $0.gating) = (false, true, .fused)
            ($0.window, $0.rotaryBase) = (8, 160_000)
        }
        add("neo-bert") {
            preNorm(&$0, "neo-bert", .rotaryAdjacent)
            ($0.isFused, $0.gating) = (true, .fused)
        }
        add("eurobert") { preNorm(&$0, "eurobert", .rotaryHalves) }
        add("llama-embed, grouped heads") {
            preNorm(&$0, "llama-embed", .rotaryAdjacent)
            ($0.heads, $0.kvHeads) = (4, 2)
        }
        add("t5encoder, T5") {
            preNorm(&$0, "t5encoder", .relative)
            $0.gating = .none
        }
        add("t5encoder, Flan-T5") { preNorm(&$0, "t5encoder", .relative) }
        return list
    }()

    @Test(arguments: families.map(\.0))
    func `gives the means of a plain network's states, alone and together`(name: String) async throws {
        let tiny = try #require(Self.families.first { $0.0 == name }).1
        let url = try tiny.write(in: directory)
        let naive = NaiveEncoder(tiny)
        let expected = inputs.map { naive.mean($0) }
        let raw = EmbeddingOptions(normalizes: false)
        for tier in KernelTier.available {
            let model = try await LocalModel.load(from: url, configuration: .init(threads: 2, tier: tier))
            #expect(model.info.kind == .encoder)
            let together = try await model.embeddings(of: inputs, options: raw)
            #expect(together.map(\.count) == inputs.map { _ in tiny.width })
            for (index, input) in inputs.enumerated() {
                #expect(normalizedMeanSquaredError(together[index], expected[index]) < 1e-10)
                let alone = try await model.embeddings(of: [input], options: raw)[0]
                #expect(normalizedMeanSquaredError(alone, expected[index]) < 1e-10)
            }
        }
    }

    @Test func `every token has a state, and each pooling takes its own`() async throws {
        let tiny = TinyEncoder()
        let model = try await LocalModel.load(from: try tiny.write(in: directory))
        let expected = NaiveEncoder(tiny).states(inputs[4]).map { $0.map { Float($0) } }
        let states = try await model.tokenEmbeddings(of: inputs[4])
        #expect(states.count == inputs[4].count)
        #expect(normalizedMeanSquaredError(states.flatMap { $0 }, expected.flatMap { $0 }) < 1e-10)
        for (pooling, state) in [(Pooling.cls, expected.first), (.last, expected.last)] {
            let found = try await model.embeddings(
                of: [inputs[4]], options: .init(pooling: pooling, normalizes: false))[0]
            #expect(normalizedMeanSquaredError(found, try #require(state)) < 1e-10)
        }
    }

    @Test func `a classifier scores the first token`() async throws {
        var tiny = TinyEncoder()
        (tiny.labels, tiny.pooling) = (1, 4)
        let model = try await LocalModel.load(from: try tiny.write(in: directory))
        #expect(model.info.isReranker)
        let naive = NaiveEncoder(tiny)
        let scores = try await model.relevance(of: inputs)
        #expect(normalizedMeanSquaredError(scores, inputs.flatMap { naive.scores($0) }) < 1e-10)
        // The pooling that the file declares is the classifier's.
        #expect(try await model.embeddings(of: inputs).map { $0[0] } == scores)
    }

    @Test func `many inputs take as many steps as their rows need`() async throws {
        let model = try await LocalModel.load(from: try TinyEncoder().write(in: directory))
        let many = (0..<300).map { inputs[$0 % inputs.count] }
        let vectors = try await model.embeddings(of: many)
        #expect(vectors.count == 300)
        for index in 7..<300 { #expect(normalizedMeanSquaredError(vectors[index], vectors[index % 7]) < 1e-10) }
        #expect(try await model.embeddings(of: []).isEmpty)
    }

    @Test func `vectors have length 1, also when they are cut`() async throws {
        let model = try await LocalModel.load(from: try TinyEncoder().write(in: directory))
        let raw = try await model.embeddings(of: inputs, options: .init(normalizes: false))
        let cut = try await model.embeddings(of: inputs, options: .init(dimensions: 10))
        for (vector, whole) in zip(cut, raw) {
            #expect(vector.count == 10)
            #expect(abs(vector.reduce(0) { $0 + $1 * $1 } - 1) < 1e-5)
            let length = whole.prefix(10).reduce(0) { $0 + $1 * $1 }.squareRoot()
            #expect(zip(vector, whole).allSatisfy { abs($0 * length - $1) < 1e-4 })
        }
    }

    // MARK: Refusals

    @Test func `an encoder generates no text, and says so`() async throws {
        let model = try await LocalModel.load(from: try TinyEncoder().write(in: directory))
        let error = await #expect(throws: LocalModelError.self) { try await model.logits(of: [1, 2]) }
        guard case .wrongKind(let reason) = error else { return #expect(Bool(false)) }
        #expect(reason.contains("bert") && reason.contains("encoder"))
        await #expect(throws: LocalModelError.self) { for try await _ in model.generate(tokens: [1, 2]) {} }
        await #expect(throws: LocalModelError.self) { try await model.logprobs(of: [1, 2], top: 0) }
        await #expect(throws: LocalModelError.self) { try await model.measure(prompt: 1, generate: 1) }
        await #expect(throws: LocalModelError.self) { try await model.relevance(of: [[1, 2]]) }
    }

    @Test func `inputs that are empty, too long or beyond the vocabulary are refused`() async throws {
        let model = try await LocalModel.load(from: try TinyEncoder().write(in: directory))
        await #expect(throws: LocalModelError.contextSizeExceeded(contextSize: 64, tokenCount: 65)) {
            try await model.embeddings(of: [[1], Array(repeating: 5, count: 65)])
        }
        await #expect(throws: LocalModelError.self) { try await model.embeddings(of: [[1], []]) }
        await #expect(throws: LocalModelError.self) { try await model.embeddings(of: [[56]]) }
        await #expect(throws: LocalModelError.self) { try await model.embeddings(of: [[-1]]) }
        for options in [
            EmbeddingOptions(dimensions: 0), .init(dimensions: 49), .init(pooling: Pooling.none), .init(pooling: .rank),
        ] {
            await #expect(throws: LocalModelError.self) { try await model.embeddings(of: [[1]], options: options) }
        }
    }

    @Test func `a context beyond the learned positions is refused`() async throws {
        let url = try TinyEncoder().write(in: directory)
        let error = await #expect(throws: LocalModelError.self) {
            try await LocalModel.load(from: url, configuration: .init(contextSize: 65))
        }
        #expect("\(try #require(error))".contains("64"))
        var rotary = TinyEncoder()
        (rotary.architecture, rotary.positions) = ("jina-bert-v3", .rotaryHalves)
        let model = try await LocalModel.load(
            from: try rotary.write(in: directory), configuration: .init(contextSize: 100))
        #expect(try await model.embeddings(of: [Array(repeating: 5, count: 100)]).count == 1)
    }

    @Test
    func `states that are not finite give an error that names the input`() async throws {
        let tiny = TinyEncoder()
        var builder = tiny.builder()
        let table = try #require(builder.tensors.firstIndex { $0.name == "token_embd.weight" })
        // The numbers of token 9 are finite, but their sum is not.
        let large = (0..<tiny.width).flatMap { _ in
            withUnsafeBytes(of: Float(3e38).bitPattern.littleEndian) { Array($0) }
        }
        builder.tensors[table].data.replaceSubrange(9 * tiny.width * 4..<10 * tiny.width * 4, with: large)
        let model = try await LocalModel.load(
            from: URL(filePath: try directory.write(builder.bytes(), as: "large.gguf")))
        await #expect(throws: LocalModelError.resultNotFinite(model: model.info.name, input: 1)) {
            try await model.embeddings(of: [[1, 2], [3, 9], [4]])
        }
    }

    @Test(arguments: [
        (key: "bert.attention.causal", value: GGUFBuilder.Value.bool(true)),
        ("bert.pooling_type", .uint32(5)), ("bert.pooling_type", .uint32(4)),
        ("bert.classifier.pooling_type", .uint32(4)),
        ("bert.attention.head_count_kv", .uint32(2)), ("bert.attention.layer_norm_epsilon", .float32(-1)),
        ("bert.attention.layer_norm_epsilon", .float32(.nan)), ("bert.context_length", .uint32(65)),
        ("bert.feed_forward_length", .uint32(81)), ("bert.feed_forward_length", .uint32(40)),
        ("bert.hidden_activation", .string("sine")),
    ])
    func `a key that makes no sense is named`(key: String, value: GGUFBuilder.Value) async throws {
        var tiny = TinyEncoder()
        tiny.extra = [(key, value)]
        let url = try tiny.write(in: directory)
        let error = await #expect(throws: ModelFileError.self) { try await LocalModel.load(from: url) }
        let message = "\(try #require(error))"
        #expect(message.contains(key) || message.contains("ffn_up") || message.contains("ffn_down"))
    }

    @Test(arguments: [
        "token_embd.weight", "token_embd_norm.weight", "position_embd.weight", "blk.1.attn_q.weight",
        "blk.1.attn_output.weight", "blk.1.attn_output_norm.weight", "blk.1.ffn_up.weight",
        "blk.1.layer_output_norm.weight",
    ])
    func `a tensor that is missing is named`(name: String) async throws {
        var builder = TinyEncoder().builder()
        builder.tensors.removeAll { $0.name == name }
        let url = URL(filePath: try directory.write(builder.bytes(), as: "missing.gguf"))
        let error = await #expect(throws: ModelFileError.self) { try await LocalModel.load(from: url) }
        #expect("\(try #require(error))".contains(name))
    }
}
