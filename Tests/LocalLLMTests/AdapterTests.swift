import Foundation
import LocalLLM
import TestSupport
import Testing

/// LoRA adapters of a tiny model, against the same model with weights to which they were added.
@Suite struct AdapterTests {
    private let directory: TemporaryDirectory
    private let tiny = TinyModel()
    fileprivate let base: URL
    private static let tokens: [Int32] = (0..<40).map { Int32($0 * 37 % 250 + 3) }

    init() throws {
        directory = try TemporaryDirectory()
        base = try tiny.write(in: directory)
    }

    /// A random adapter of some tensors: the file, and by name what it adds at scale 1, in rows as the tensor has them.
    fileprivate func adapter(
        of names: [String], in model: GGUFBuilder? = nil, rank: Int = 4, alpha: Float = 8, seed: UInt64 = 5,
        change: (inout GGUFBuilder) -> Void = { _ in }
    ) throws -> (url: URL, deltas: [String: [Float]]) {
        var generator = SeededGenerator(seed: seed)
        let model = model ?? tiny.builder()
        let architecture = model.metadata.first { $0.key == "general.architecture" }!.value
        var builder = GGUFBuilder([
            "general.architecture": architecture, "general.type": .string("adapter"),
            "adapter.type": .string("lora"), "adapter.lora.alpha": .float32(alpha),
        ])
        var deltas: [String: [Float]] = [:]
        for tensor in model.tensors
        where tensor.shape.count >= 2 && names.contains(where: { tensor.name.contains($0) }) {
            let (columns, rows) = (Int(tensor.shape[0]), Int(tensor.shape[1]))
            let experts = tensor.shape.dropFirst(2).map { Int($0) }
            let matrices = experts.first ?? 1
            let isTable = tensor.name == "token_embd.weight"
            func random(_ count: Int) -> [Float] {
                (0..<matrices * rank * count).map { _ in Float.random(in: -0.2...0.2, using: &generator) }
            }
            let (a, b) = (random(isTable ? rows : columns), random(isTable ? columns : rows))
            builder.tensors.append(
                .init(tensor.name + ".lora_a", shape: (isTable ? [rank, rows] : [columns, rank]) + experts, a))
            builder.tensors.append(
                .init(tensor.name + ".lora_b", shape: [rank, isTable ? columns : rows] + experts, b))
            let factor = alpha == 0 ? 1 : alpha / Float(rank)
            deltas[tensor.name] = (0..<matrices * rows * columns).map { index in
                let (matrix, row, column) = (index / (rows * columns), index / columns % rows, index % columns)
                var sum: Float = 0
                for k in 0..<rank {
                    let x = isTable ? a[row * rank + k] : a[(matrix * rank + k) * columns + column]
                    let y = isTable ? b[column * rank + k] : b[(matrix * rows + row) * rank + k]
                    sum += factor * (x * y)
                }
                return sum
            }
        }
        change(&builder)
        let name = "adapter-\(seed).gguf"
        return (URL(filePath: try directory.write(builder.bytes(), as: name)), deltas)
    }

    /// The model with these added to its weights.
    private func merged(_ deltas: [([String: [Float]], Float)], into model: GGUFBuilder? = nil) throws -> URL {
        var builder = model ?? tiny.builder()
        builder.tensors = builder.tensors.map { tensor in
            var values = tensor.data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
            for (delta, scale) in deltas {
                for (index, value) in (delta[tensor.name] ?? []).enumerated() { values[index] += scale * value }
            }
            return .init(tensor.name, shape: tensor.shape.map { Int($0) }, values)
        }
        return URL(filePath: try directory.write(builder.bytes(), as: "merged.gguf"))
    }

    private func load(_ adapters: [LocalModel.AdapterFile]) async throws -> LocalModel {
        var configuration = LocalModel.Configuration(threads: 2)
        configuration.adapters = adapters
        return try await LocalModel.load(from: base, configuration: configuration)
    }

    private struct Answered: Equatable {
        let tokens: [Int32]
        let cached: Int
    }

    @Test(arguments: [["attn", "ffn", "output"], ["token_embd"], ["attn_v"]], [40, 1])
    func `an adapter gives the logits of merged weights`(names: [String], chunk: Int) async throws {
        let (url, delta) = try adapter(of: names)
        let expected = try await LocalModel.load(from: merged([(delta, 0.5)])).logits(of: Self.tokens, chunk: chunk)
        let bare = try await LocalModel.load(from: base).logits(of: Self.tokens, chunk: chunk)
        let logits = try await load([.init(url: url, scale: 0.5)]).logits(of: Self.tokens, chunk: chunk)
        #expect(normalizedMeanSquaredError(logits, expected) < 1e-7)
        #expect(normalizedMeanSquaredError(logits, bare) > 1e-3)
    }

    @Test(arguments: [40, 1])
    func `an adapter of experts gives the logits of merged experts`(chunk: Int) async throws {
        var mixture = tiny
        (mixture.experts, mixture.usedExperts) = (4, 2)
        let (url, delta) = try adapter(of: ["exps"], in: mixture.builder())
        #expect(delta.count == 3 * mixture.layers)
        let expected = try await LocalModel.load(from: merged([(delta, 1)], into: mixture.builder()))
            .logits(of: Self.tokens, chunk: chunk)
        let file = URL(filePath: try directory.write(mixture.builder().bytes(), as: "mixture.gguf"))
        let bare = try await LocalModel.load(from: file).logits(of: Self.tokens, chunk: chunk)
        var configuration = LocalModel.Configuration(threads: 2)
        configuration.adapters = [.init(url: url)]
        let logits = try await LocalModel.load(from: file, configuration: configuration)
            .logits(of: Self.tokens, chunk: chunk)
        #expect(normalizedMeanSquaredError(logits, expected) < 1e-7)
        #expect(normalizedMeanSquaredError(logits, bare) > 1e-3)
    }

    /// As jina-embeddings-v3 has one for each task.
    @Test(arguments: [["attn", "ffn"], ["token_embd.", "token_types"]])
    func `an encoder's embeddings, and a decoder's, are those of merged weights`(names: [String]) async throws {
        var encoder = TinyEncoder()
        (encoder.architecture, encoder.positions) = ("jina-bert-v3", .rotaryHalves)
        for (model, largest) in [(encoder.builder(), Int32(56)), (tiny.builder(), 250)] {
            let file = URL(filePath: try directory.write(model.bytes(), as: "model.gguf"))
            let (url, delta) = try adapter(of: names, in: model) {
                $0.metadata.append(("adapter.lora.task_name", .string("retrieval.query")))
                $0.metadata.append(("adapter.lora.prompt_prefix", .string("query: ")))
            }
            var configuration = LocalModel.Configuration(threads: 2)
            configuration.adapters = [.init(url: url, scale: 0.5)]
            let adapted = try await LocalModel.load(from: file, configuration: configuration)
            #expect(adapted.adapters.map { [$0.task, $0.promptPrefix] } == [["retrieval.query", "query: "]])
            let inputs = [1, 30, 7].map { count in (0..<count).map { Int32($0 * 37 + 5) % largest } }
            let found = try await adapted.embeddings(of: inputs).flatMap { $0 }
            let expected = try await LocalModel.load(from: merged([(delta, 0.5)], into: model)).embeddings(of: inputs)
            let bare = try await LocalModel.load(from: file).embeddings(of: inputs)
            #expect(normalizedMeanSquaredError(found, expected.flatMap { $0 }) < 1e-7)
            #expect(normalizedMeanSquaredError(found, bare.flatMap { $0 }) > 1e-4)
        }
    }

    @Test func `an adapter of an encoder's classifier is refused`() async throws {
        var encoder = TinyEncoder()
        encoder.labels = 1
        let (url, _) = try adapter(of: ["cls.weight"], in: encoder.builder())
        var configuration = LocalModel.Configuration()
        configuration.adapters = [.init(url: url)]
        let file = try encoder.write(in: directory)
        let error = try await #require(throws: ModelFileError.self) {
            _ = try await LocalModel.load(from: file, configuration: configuration)
        }
        #expect(error.message.contains("cls.weight.lora_a"))
    }

    @Test func `several adapters add up, each with its scale`() async throws {
        let first = try adapter(of: ["attn", "ffn"])
        let second = try adapter(of: ["attn_q", "output"], rank: 2, alpha: 0, seed: 6)
        let expected = try await LocalModel.load(from: merged([(first.deltas, 1), (second.deltas, -0.7)]))
            .logits(of: Self.tokens)
        let model = try await load([.init(url: first.url), .init(url: second.url, scale: -0.7)])
        #expect(normalizedMeanSquaredError(try await model.logits(of: Self.tokens), expected) < 1e-7)
        #expect(model.adapters.map(\.scale) == [1, Double(Float(-0.7))])
        try model.setAdapterScales([:])
        let bare = try await LocalModel.load(from: base).logits(of: Self.tokens)
        #expect(try await model.logits(of: Self.tokens) == bare)
        #expect(throws: LocalModelError.self) { try model.setAdapterScales([2: 1]) }
        #expect(throws: LocalModelError.self) { try model.setAdapterScales([0: .nan]) }
    }

    /// Greedy answers of the same prompts with other adapters, one after the other and side by side: cached pages of one
    /// are not the other's.
    @Test func `requests with other adapters do not share what they remember`() async throws {
        let (url, delta) = try adapter(of: ["attn", "ffn"])
        let prompt = (0..<90).map { Int32($0 * 31 % 250 + 3) }
        func answer(_ model: LocalModel, _ scales: [Int: Double]?) async throws -> Answered {
            var options = SamplingOptions(temperature: 0, maximumTokens: 12)
            options.adapterScales = scales
            var (tokens, cached): ([Int32], Int) = ([], -1)
            for try await piece in model.generate(tokens: prompt, options: options) {
                tokens += piece.tokens
                cached = piece.finish?.usage.cachedTokens ?? cached
            }
            return Answered(tokens: tokens, cached: cached)
        }
        let bare = try await answer(LocalModel.load(from: base), nil).tokens
        let full = try await answer(LocalModel.load(from: merged([(delta, 1)])), nil).tokens
        #expect(bare != full)
        let model = try await load([.init(url: url)])
        #expect(try await answer(model, nil) == Answered(tokens: full, cached: 0))
        #expect(try await answer(model, [:]) == Answered(tokens: bare, cached: 0))
        #expect(try await answer(model, [0: 1]) == Answered(tokens: full, cached: 64))
        #expect(try await answer(model, [0: 0]) == Answered(tokens: bare, cached: 64))
        async let one = answer(model, [0: 1])
        async let two = answer(model, [:])
        async let three = answer(model, [0: 0.5])
        let answers = try await (one.tokens, two.tokens, three.tokens)
        #expect(answers.0 == full)
        #expect(answers.1 == bare)
        await #expect(throws: LocalModelError.self) { try await answer(model, [1: 1]) }
    }

    @Test func `an adapter with invocation tokens acts from the last of them on`() async throws {
        let invocation: [UInt32] = [77, 78]
        let (url, _) = try adapter(of: ["attn", "ffn"]) {
            $0.metadata.append(("adapter.alora.invocation_tokens", .array(invocation.map { .uint32($0) })))
        }
        let model = try await load([.init(url: url)])
        let bare = try await LocalModel.load(from: base)
        let without: [Int32] = [1, 50, 60, 70, 80]
        #expect(try await model.logits(of: without) == bare.logits(of: without))
        let with: [Int32] = [1, 77, 78, 50, 77, 78, 60]
        let (adapted, plain) = (try await model.logits(of: with), try await bare.logits(of: with))
        let vocabulary = TinyModel.vocabularySize
        #expect(adapted[..<(4 * vocabulary)] == plain[..<(4 * vocabulary)])
        #expect(adapted[(4 * vocabulary)..<(5 * vocabulary)] != plain[(4 * vocabulary)..<(5 * vocabulary)])
    }

    @Test func `files that do not fit are refused with what is wrong`() async throws {
        func refusal(_ change: @escaping (inout GGUFBuilder) -> Void) async throws -> String {
            let (url, _) = try adapter(of: ["attn_q"], change: change)
            return try await #require(throws: ModelFileError.self) { _ = try await load([.init(url: url)]) }.message
        }
        #expect(try await refusal { $0.metadata[0].value = .string("gemma") }.contains("gemma"))
        #expect(try await refusal { $0.metadata[1].value = .string("model") }.contains("general.type"))
        #expect(try await refusal { $0.metadata[3].value = .float32(.nan) }.contains("alpha"))
        #expect(try await refusal { $0.tensors.removeLast() }.contains("lora_b"))
        #expect(try await refusal { $0.tensors.removeFirst() }.contains("lora_a"))
        #expect(try await refusal { $0.tensors = [] }.contains("no tensors"))
        #expect(
            try await refusal {
                $0.tensors[0] = .init("blk.0.attn_q.weight.lora_a", shape: [60, 4], .init(repeating: 0, count: 240))
            }
            .contains("must have the shape"))
        #expect(
            try await refusal {
                $0.tensors[1] = .init("blk.0.attn_q.weight.lora_b", shape: [3, 64], .init(repeating: 0, count: 192))
            }
            .contains("must have the shape"))
        #expect(
            try await refusal {
                $0.tensors.append(.init("blk.0.attn_norm.weight", shape: [64], .init(repeating: 0, count: 64)))
            }
            .contains("attn_norm"))
        #expect(
            try await refusal {
                for index in 0..<2 { $0.tensors[index].name = "blk.9.attn_q.weight.lora_" + ["a", "b"][index] }
            }
            .contains("blk.9.attn_q.weight"))
        #expect(
            try await refusal { $0.tensors[0].data.replaceSubrange(0..<4, with: [0, 0, 0xc0, 0x7f]) }.contains(
                "not a number"))
        await #expect(throws: ModelFileError.self) { _ = try await load([.init(url: base)]) }
    }
}

/// Reference logits of adapted models.
@Suite(.enabled(if: Fixtures.exist("more/lora-llama.json"), "reference data is not here"))
struct ReferenceAdapterTests {
    private struct Case: Decodable {
        struct Run: Decodable {
            struct Use: Decodable {
                let file: String
                let scale: Double
            }
            let adapters: [Use]
            let offset: Int
        }
        let base: String
        let token_ids: [Int32]
        let shape: [Int]
        let runs: [Run]
    }

    @Test(arguments: ["lora-llama", "lora-qwen3"], [48, 1])
    func `adapters give the reference's logits`(name: String, chunk: Int) async throws {
        let test = try JSONDecoder().decode(Case.self, from: Data(contentsOf: Fixtures.url("more/\(name).json")))
        let expected = try Fixtures.floats("more/\(name).f32")
        let count = test.shape[1] * test.shape[2]
        for run in test.runs {
            var configuration = LocalModel.Configuration()
            configuration.adapters = run.adapters.map { .init(url: Fixtures.url("more/\($0.file)"), scale: $0.scale) }
            let model = try await LocalModel.load(
                from: Fixtures.url("more/\(test.base)"), configuration: configuration)
            let logits = try await model.logits(of: test.token_ids, chunk: chunk)
            let error = normalizedMeanSquaredError(logits, Array(expected[run.offset..<run.offset + count]))
            #expect(error < 1e-5, "\(run.adapters.map { "\($0.file):\($0.scale)" })")
        }
    }
}
