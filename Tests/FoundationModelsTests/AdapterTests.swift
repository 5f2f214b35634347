import Foundation
import FoundationModels
import TestSupport
import Testing

@Suite struct SessionAdapterTests {
    @Test func `a session answers with an adapter, which no other file is`() async throws {
        let directory = try TemporaryDirectory()
        let tiny = TinyModel()
        let base = try tiny.write(in: directory)
        var adapter = GGUFBuilder([
            "general.architecture": tiny.builder().metadata.first { $0.key == "general.architecture" }!.value,
            "general.type": .string("adapter"), "general.name": .string("twisted"), "adapter.type": .string("lora"),
            "adapter.lora.alpha": .float32(8),
        ])
        var generator = SeededGenerator(seed: 5)
        let rank = 4
        for tensor in tiny.builder().tensors where tensor.name.contains("ffn") && tensor.shape.count == 2 {
            let (columns, rows) = (Int(tensor.shape[0]), Int(tensor.shape[1]))
            func random(_ count: Int) -> [Float] { (0..<count).map { _ in .random(in: -1...1, using: &generator) } }
            adapter.tensors.append(.init(tensor.name + ".lora_a", shape: [columns, rank], random(columns * rank)))
            adapter.tensors.append(.init(tensor.name + ".lora_b", shape: [rank, rows], random(rank * rows)))
        }
        let file = URL(filePath: try directory.write(adapter.bytes(), as: "twisted.gguf"))
        let opened = try SystemLanguageModel.Adapter(fileURL: file)
        #expect(opened.creatorDefinedMetadata["name"] as? String == "twisted")
        try await opened.compile()

        let model = SystemLanguageModel(contentsOf: base, adapter: opened)
        try await model.load()
        let options = GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 8)
        let adapted = try await LanguageModelSession(model: model).respond(to: "hello", options: options).content
        let bare = LanguageModelSession(model: SystemLanguageModel(contentsOf: base))
        #expect(try await bare.respond(to: "hello", options: options).content != adapted)
        let error = #expect(throws: SystemLanguageModel.Adapter.AssetError.self) {
            try SystemLanguageModel.Adapter(fileURL: base)
        }
        #expect(error?.errorDescription?.contains("general.type") == true)
    }

    @Test func `an adapter without a file is named`() {
        let error = #expect(throws: SystemLanguageModel.Adapter.AssetError.self) {
            try SystemLanguageModel.Adapter(name: "no-such-adapter")
        }
        #expect(error?.errorDescription?.contains("no-such-adapter.gguf") == true)
        #expect(SystemLanguageModel.Adapter.compatibleAdapterIdentifiers(name: "no-such-adapter").isEmpty)
    }
}
