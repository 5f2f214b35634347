import Constraint
import JSON
import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// LoRA adapters as PEFT saves them, against models with weights to which they were added.
@Suite struct AdapterFolderTests {
    private let directory: TemporaryDirectory
    private let tiny = TinyModel()
    private static let tokens: [Int32] = (0..<40).map { Int32($0 * 37 % 250 + 3) }

    init() throws { directory = try TemporaryDirectory() }

    /// A random update of one matrix: B · A.
    private struct Update {
        let module: String
        let rank: Int
        let (rows, columns): (Int, Int)
        let a: [Float]
        let b: [Float]

        init(_ module: String, rank: Int, rows: Int, columns: Int, seed: UInt64) {
            var generator = SeededGenerator(seed: seed)
            (self.module, self.rank, self.rows, self.columns) = (module, rank, rows, columns)
            a = (0..<rank * columns).map { _ in Float.random(in: -0.2...0.2, using: &generator) }
            b = (0..<rows * rank).map { _ in Float.random(in: -0.2...0.2, using: &generator) }
        }

        var tensors: [SafetensorsBuilder.Tensor] {
            let name = "base_model.model.\(module).lora_"
            return [
                .init(name + "A.weight", shape: [rank, columns], a), .init(name + "B.weight", shape: [rows, rank], b),
            ]
        }

        /// The values of B · A times a factor, added to a matrix.
        func added(to values: [Float], _ factor: Float) -> [Float] {
            values.indices.map { index in
                let (row, column) = (index / columns, index % columns)
                var sum: Float = 0
                for k in 0..<rank { sum += b[row * rank + k] * a[k * columns + column] }
                return values[index] + factor * sum
            }
        }
    }

    /// Of the first layer: queries and keys, whose rows llama.cpp's files reorder, and others; of the second, one.
    private var updates: [Update] {
        let (width, hidden) = (tiny.width, tiny.feedForward)
        let queries = tiny.heads * tiny.headWidth
        let layer = "model.layers.0."
        return [
            Update(layer + "self_attn.q_proj", rank: 4, rows: queries, columns: width, seed: 1),
            Update(
                layer + "self_attn.k_proj", rank: 4, rows: tiny.kvHeads * tiny.headWidth, columns: width, seed: 2),
            Update(layer + "self_attn.o_proj", rank: 2, rows: width, columns: queries, seed: 3),
            Update(layer + "mlp.up_proj", rank: 4, rows: hidden, columns: width, seed: 4),
            Update("model.layers.1.mlp.down_proj", rank: 4, rows: width, columns: hidden, seed: 5),
        ]
    }

    private static let config =
        #""peft_type": "LORA", "r": 4, "lora_alpha": 8, "rank_pattern": {"o_proj": 2}, "alpha_pattern": {"layers.1.mlp.down_proj": 3, "^model.*up_proj": 5}"#

    /// Scales by PEFT's rules for `config`.
    private func factor(_ update: Update, isRankStabilized: Bool) -> Float {
        let alpha: Float = update.module.hasSuffix("down_proj") ? 3 : update.module.hasSuffix("up_proj") ? 5 : 8
        return alpha / (isRankStabilized ? Float(update.rank).squareRoot() : Float(update.rank))
    }

    private func folder(
        config: String = config, change: (inout [SafetensorsBuilder.Tensor]) -> Void = { _ in }
    ) throws -> URL {
        var tensors = updates.flatMap(\.tensors)
        change(&tensors)
        let url = directory.url.appending(path: "adapter")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data("{\(config)}".utf8).write(to: url.appending(path: "adapter_config.json"))
        try Data(SafetensorsBuilder(tensors).bytes()).write(to: url.appending(path: "adapter_model.safetensors"))
        return url
    }

    private func load(_ base: URL, _ adapter: URL, scale: Double = 1) async throws -> LocalModel {
        var configuration = LocalModel.Configuration(threads: 1)
        configuration.adapters = [.init(url: adapter, scale: scale)]
        return try await LocalModel.load(from: base, configuration: configuration)
    }

    @Test(arguments: [false, true])
    func `an adapter folder gives the logits of merged weights, for a folder and for a file`(
        isRankStabilized: Bool
    ) async throws {
        let merged = try tiny.writeFolder(in: directory, as: "merged", architecture: "LlamaForCausalLM") { tensors in
            for update in updates {
                let index = tensors.firstIndex { $0.name == update.module + ".weight" }!
                let values = tensors[index].data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
                tensors[index] = .init(
                    tensors[index].name, shape: tensors[index].shape,
                    update.added(to: values, 0.5 * factor(update, isRankStabilized: isRankStabilized)))
            }
        }
        let expected = try await LocalModel.load(from: merged).logits(of: Self.tokens)
        let adapter = try folder(config: Self.config + (isRankStabilized ? #", "use_rslora": true"# : ""))
        let base = try tiny.writeFolder(in: directory, as: "base", architecture: "LlamaForCausalLM")
        let bare = try await LocalModel.load(from: base).logits(of: Self.tokens)
        #expect(normalizedMeanSquaredError(bare, expected) > 1e-3)
        for model in [base, try tiny.write(in: directory)] {
            let adapted = try await load(model, adapter, scale: 0.5)
            #expect(adapted.adapters.count == 1)
            for chunk in [40, 1] {
                let logits = try await adapted.logits(of: Self.tokens, chunk: chunk)
                #expect(normalizedMeanSquaredError(logits, expected) < 1e-7)
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a pattern made to be slow is matched in linear time, or refused`() async throws
    {
        let base = try tiny.write(in: directory)
        // Backtracking tries 2³⁰ ways to divide a name into words.
        let slow = try folder(
            config: Self.config.replacing("\"o_proj\": 2", with: #""([a-z0-9_.]+)+!": 3, "o_proj": 2"#))
        _ = try await load(base, slow)
        for pattern in ["(o_proj", #"(o)\\1_proj"#, "(?<=o)_proj"] {
            let refused = try folder(config: Self.config.replacing("o_proj", with: pattern))
            let error = await #expect(throws: ModelFileError.self, "\(pattern)") { try await load(base, refused) }
            #expect(error?.message.contains("'rank_pattern' has a pattern") == true, "\(error?.message ?? "")")
        }
    }

    /// An adapter may have as many matrices and patterns as its file has room for.
    @Test func `the number of matches is bounded, of plain names too`() throws {
        let patterns = ModulePatterns(steps: 3)
        for _ in 0..<3 { #expect(try patterns.match("up_proj", "model.layers.0.mlp.up_proj")) }
        let error = #expect(throws: ConstraintError.self) { try patterns.match("up_proj", "up_proj") }
        #expect(error?.kind == .budget)
    }

    @Test func `an update of the embeddings is that of each token's row`() async throws {
        let update = Update(
            "model.embed_tokens", rank: 4, rows: tiny.width, columns: TinyModel.vocabularySize, seed: 7)
        let adapter = try folder(config: #""peft_type": "LORA", "r": 4, "lora_alpha": 4"#) { tensors in
            tensors = update.tensors
            for index in tensors.indices {
                tensors[index].name = tensors[index].name.replacing("lora_", with: "lora_embedding_")
                    .replacing(".weight", with: "")
            }
        }
        let merged = try tiny.writeFolder(in: directory, as: "merged", architecture: "LlamaForCausalLM") { tensors in
            let index = tensors.firstIndex { $0.name == "model.embed_tokens.weight" }!
            let values = tensors[index].data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
            let (width, count) = (tiny.width, TinyModel.vocabularySize)
            // B · A has a column for each token, the table a row.
            let added = update.added(to: [Float](repeating: 0, count: values.count), 1)
            let sum = values.indices.map { values[$0] + added[$0 % width * count + $0 / width] }
            tensors[index] = .init(tensors[index].name, shape: tensors[index].shape, sum)
        }
        let base = try tiny.write(in: directory)
        let logits = try await load(base, adapter).logits(of: Self.tokens)
        let expected = try await LocalModel.load(from: merged).logits(of: Self.tokens)
        #expect(normalizedMeanSquaredError(logits, expected) < 1e-7)
    }

    @Test(arguments: [
        (#""peft_type": "IA3", "r": 4, "lora_alpha": 8"#, "peft_type"),
        (#""peft_type": "LORA", "r": 4, "lora_alpha": 8, "use_dora": true"#, "use_dora"),
        (#""peft_type": "LORA", "r": 4, "lora_alpha": 8, "fan_in_fan_out": true"#, "fan_in_fan_out"),
        (#""peft_type": "LORA", "r": 0, "lora_alpha": 8"#, "'r'"),
        (#""peft_type": "LORA", "r": 4, "lora_alpha": "much""#, "lora_alpha"),
        (#""peft_type": "LORA", "r": 4, "lora_alpha": 8"#, "rank"),
        (#""peft_type": "LORA""#, "'r'"), ("", "peft_type"), ("x", "JSON"),
    ])
    func `a configuration that cannot be used is refused by its key`(config: String, text: String) async throws {
        let (base, adapter) = (try tiny.write(in: directory), try folder(config: config))
        let error = try await #require(throws: ModelFileError.self) { _ = try await load(base, adapter) }
        #expect(error.description.contains(text), "\(error)")
    }

    @Test(arguments: [
        ("half", "lora_b"), ("shape", "shape"), ("unknown", "model.layers.0.mlp.new"), ("layer", "blk.9"),
        ("bias", "q_proj.bias"), ("dtype", "I64"), ("nan", "not a number"), ("cut", "the data ends"),
        ("file", "No such file"),
    ])
    func `weights that do not fit are refused by name`(kind: String, text: String) async throws {
        let base = try tiny.write(in: directory)
        let adapter = try folder { tensors in
            let index = tensors.firstIndex { $0.name.contains("0.self_attn.q_proj.lora_B") }!
            switch kind {
            case "half": tensors.remove(at: index)
            case "shape":
                tensors[index] = .init(tensors[index].name, shape: [60, 4], .init(repeating: 0, count: 240))
            case "unknown", "layer":
                let (old, new) = kind == "layer" ? ("layers.0", "layers.9") : ("self_attn.q_proj", "mlp.new")
                for part in index - 1...index { tensors[part].name = tensors[part].name.replacing(old, with: new) }
            case "bias":
                tensors.append(
                    .init(
                        "base_model.model.model.layers.0.self_attn.q_proj.bias", shape: [64],
                        .init(repeating: 0, count: 64)))
            case "dtype":
                tensors[index].type = "I64"
                tensors[index].shape = [tensors[index].shape[0], 2]
            case "nan": tensors[index].data.replaceSubrange(0..<4, with: [0, 0, 0xC0, 0x7F])
            default: break
            }
        }
        let weights = adapter.appending(path: "adapter_model.safetensors")
        if kind == "cut" { try Data(contentsOf: weights).dropLast(8).write(to: weights) }
        if kind == "file" { try FileManager.default.removeItem(at: weights) }
        let error = try await #require(throws: ModelFileError.self) { _ = try await load(base, adapter) }
        #expect(error.description.contains(text), "\(error)")
    }
}
