import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct LoadingTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func error(loading builder: GGUFBuilder) async throws -> ModelFileError? {
        let url = URL(filePath: try directory.write(builder.bytes(), as: "model.gguf"))
        return await #expect(throws: ModelFileError.self) { try await LocalModel.load(from: url) }
    }

    @Test func `what is missing or does not fit is named with what was expected and found`() async throws {
        var builder = TinyModel().builder()
        builder.tensors.removeAll { $0.name == "blk.1.attn_k.weight" }
        var error = try await error(loading: builder)
        #expect(error?.reason == .missingTensor)
        #expect(error?.message == "Tensor 'blk.1.attn_k.weight' of shape [64, 32] is missing.")

        builder = TinyModel().builder()
        let index = builder.tensors.firstIndex { $0.name == "blk.0.ffn_up.weight" }!
        builder.tensors[index] = .init("blk.0.ffn_up.weight", shape: [64, 95], Array(repeating: 0, count: 64 * 95))
        error = try await self.error(loading: builder)
        #expect(error?.message == "Tensor 'blk.0.ffn_up.weight' must have the shape [64, 96], but has [64, 95].")

        builder = TinyModel().builder()
        builder.metadata[0].value = .string("hal9000")
        error = try await self.error(loading: builder)
        #expect(error?.reason == .unsupported)
        #expect(error?.message.contains("hal9000") == true)
    }

    @Test func `an architecture without reference data is refused with the option that allows it`() throws {
        for architecture in Architecture.all where architecture.check == .none {
            var builder = TinyModel().builder()
            builder.metadata[0].value = .string(architecture.name)
            let file = try GGUFFile(path: directory.write(builder.bytes(), as: "unchecked.gguf"))
            let error = #expect(throws: ModelFileError.self) {
                _ = try Loading(.init(threads: 1)) { _ in }.run(file)
            }
            #expect(error?.reason == .unsupported && error?.message.contains("--unchecked") == true)
        }
        try Registry.refuseUnchecked(GGUFFile(path: TinyModel().write(in: directory).path))
    }

    @Test func `hyperparameters of any value are refused or work, and never trap`() async throws {
        let base = TinyModel().builder()
        let values: [GGUFBuilder.Value] = [
            .uint32(0), .uint32(1), .uint32(3), .uint32(7), .uint32(1 << 31), .uint64(.max), .int64(.min), .int32(-1),
            .float32(.nan), .float32(-1), .float32(.infinity), .string("x"), .int32s([1, 2]),
        ]
        let extra = [
            "llama.rope.dimension_count", "llama.rope.freq_base", "llama.rope.scaling.factor",
            "llama.rope.scaling.type",
            "llama.expert_count", "llama.attention.scale", "general.sampling.temp", "general.sampling.top_k",
            "tokenizer.chat_template",
        ]
        let keys = base.metadata.map(\.key).filter { $0.hasPrefix("llama.") || $0.hasPrefix("tokenizer.") } + extra
        var loaded = 0
        for key in keys {
            for value in values {
                var builder = base
                builder.metadata.removeAll { $0.key == key }
                builder.metadata.append((key, value))
                let url = URL(filePath: try directory.write(builder.bytes(), as: "model.gguf"))
                guard let model = try? await LocalModel.load(from: url, configuration: .init(threads: 1)) else {
                    continue
                }
                loaded += 1
                _ = try await model.logits(of: [5, 6, 7])
            }
        }
        // Some are harmless: a context of 3, an epsilon of infinity.
        #expect(loaded > 10)
    }

    @Test func `a rope scaling that is not known is refused by name`() async throws {
        var model = TinyModel()
        model.extra = [("llama.rope.scaling.type", .string("spiral"))]
        #expect(try await error(loading: model.builder())?.message.contains("spiral") == true)
    }

    @Test func `a tokenizer or template that cannot be used is no obstacle until text is asked for`() async throws {
        var builder = TinyModel().builder()
        builder.metadata.removeAll { $0.key == "tokenizer.ggml.model" || $0.key == "tokenizer.chat_template" }
        builder.metadata.append(("tokenizer.ggml.model", .string("runes")))
        builder.metadata.append(("tokenizer.chat_template", .string("{% if %}")))
        let url = URL(filePath: try directory.write(builder.bytes(), as: "model.gguf"))
        let model = try await LocalModel.load(from: url)
        #expect(try await model.logits(of: [5]).count == TinyModel.vocabularySize)
        let missing = #expect(throws: LocalModelError.self) { try model.tokenizer }
        #expect("\(String(describing: missing))".contains("runes"))
        let broken = #expect(throws: LocalModelError.self) { try model.render([.user("hi")]) }
        #expect("\(String(describing: broken))".contains("tokenizer.chat_template"))
        // Clients of a server see these messages, and not where its files are.
        #expect(![missing, broken].contains { "\(String(describing: $0))".contains("/") })
    }

    @Test(arguments: ["", " \n"]) func `an empty chat template is as good as none`(_ template: String) async throws {
        var builder = TinyModel().builder()
        builder.metadata.removeAll { $0.key == "tokenizer.chat_template" }
        let absent = URL(filePath: try directory.write(builder.bytes(), as: "absent.gguf"))
        builder.metadata.append(("tokenizer.chat_template", .string(template)))
        let url = URL(filePath: try directory.write(builder.bytes(), as: "model.gguf"))
        let model = try await LocalModel.load(from: url)
        #expect(!model.info.hasChatTemplate)
        #expect(try model.render([.user("hi")]) == (try await LocalModel.load(from: absent)).render([.user("hi")]))
        #expect(try model.render([.user("hi")]).contains("hi"))
    }

    @Test func `invalid UTF-8 in texts that are only shown is replaced`() async throws {
        var builder = TinyModel().builder()
        builder.metadata.removeAll { $0.key == "general.name" }
        builder.metadata.append(("general.name", .bytes(Array("Caf".utf8) + [0xe9, 0x20] + Array("7B".utf8))))
        builder.metadata.append(("general.license", .bytes([0xff])))
        let url = URL(filePath: try directory.write(builder.bytes(), as: "model.gguf"))
        let model = try await LocalModel.load(from: url)
        #expect(model.info.name == "Caf\u{FFFD} 7B" && model.info.license == "\u{FFFD}")
        _ = try model.tokenizer
    }

    @Test func `progress rises to 1, and a cancelled task stops loading`() async throws {
        let url = try TinyModel().write(in: directory)
        let seen = Mutex<[Double]>([])
        let model = try await LocalModel.load(from: url) { value in seen.withLock { $0.append(value) } }
        let values = seen.withLock { $0 }
        #expect(values.first == 0 && values.last == 1 && values == values.sorted())
        #expect(model.info.architecture == "llama")
        #expect(model.info.quantization == "F32")

        let task = Task { try await LocalModel.load(from: url) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a configuration that cannot be is refused`() async throws {
        let url = try TinyModel().write(in: directory)
        for configuration in [
            LocalModel.Configuration(contextSize: 0), .init(threads: 0), .init(threads: 1 << 20),
        ] {
            await #expect(throws: LocalModelError.self) {
                try await LocalModel.load(from: url, configuration: configuration)
            }
        }
    }
}
