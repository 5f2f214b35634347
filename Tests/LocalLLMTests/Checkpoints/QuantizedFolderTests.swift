import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LocalLLM

/// Folders of safetensors that are quantized while they are loaded.
@Suite struct QuantizedFolderTests {
    private let directory: TemporaryDirectory
    private let folder: URL
    private static let tokens: [Int32] = [1, 30, 75, 200, 9, 114]

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        // Rows of whole superblocks.
        (tiny.width, tiny.feedForward, tiny.headWidth) = (256, 256, 64)
        folder = try tiny.writeFolder(in: directory, architecture: "LlamaForCausalLM")
    }

    private func load(
        _ url: URL, _ type: String?, progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws -> LocalModel {
        var configuration = LocalModel.Configuration(threads: 2)
        configuration.quantization = type
        return try await LocalModel.load(from: url, configuration: configuration, progress: progress)
    }

    @Test(arguments: ["Q4_K_M", "Q8_0", "Q4_0", "Q5_1", "IQ4_XS", "MXFP4", "F16"])
    func `a folder quantized while loading is the file that would be written`(type: String) async throws {
        let target = directory.url.appending(path: "\(type).gguf")
        try Quantizer(modelAt: folder.path, try #require(Mixture(named: type))).write(to: target.path)
        let steps = Mutex<[Double]>([])
        let loaded = try await load(folder, type) { progress in steps.withLock { $0.append(progress) } }
        let written = try await load(target, nil)
        #expect(try await loaded.logits(of: Self.tokens) == written.logits(of: Self.tokens))
        let plain = try await load(folder, nil).logits(of: Self.tokens)
        let error = normalizedMeanSquaredError(try await loaded.logits(of: Self.tokens), plain)
        #expect(error > 0 && error < 0.2, "\(type): \(error)")
        let progress = steps.withLock { $0 }
        #expect(progress.count > 2 && progress == progress.sorted() && progress.last.map { $0 > 0.9 } == true)
    }

    @Test func `a file is quantized while loading, too`() async throws {
        let file = directory.url.appending(path: "plain.gguf")
        _ = try Quantizer.copy(modelAt: folder.path, to: file.path)
        let fromFile = try await load(file, "Q4_K_M").logits(of: Self.tokens)
        #expect(try await load(folder, "Q4_K_M").logits(of: Self.tokens) == fromFile)
    }

    @Test func `an unknown type is refused with the known ones`() async throws {
        let error = try await #require(throws: LocalModelError.self) { _ = try await load(folder, "Q9_K") }
        let text = "\(error)"
        #expect(text.contains("Q9_K") && text.contains("Q4_K_M") && text.contains("Q8_0"), "\(text)")
    }

    @Test func `values that no format holds are refused by name`() async throws {
        var tiny = TinyModel()
        (tiny.width, tiny.feedForward, tiny.headWidth) = (256, 256, 64)
        let broken = try tiny.writeFolder(in: directory, as: "broken", architecture: "LlamaForCausalLM") { tensors in
            let index = tensors.firstIndex { $0.name == "model.layers.1.mlp.up_proj.weight" }!
            tensors[index].data.replaceSubrange(0..<4, with: [0, 0, 0xC0, 0x7F])
        }
        for type in ["Q4_K_M", "Q8_0"] {
            let error = try await #require(throws: ModelFileError.self) { _ = try await load(broken, type) }
            #expect(error.description.contains("blk.1.ffn_up.weight"), "\(error)")
        }
    }
}
