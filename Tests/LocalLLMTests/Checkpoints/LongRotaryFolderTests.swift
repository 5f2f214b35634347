import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Folders of Phi 3 with LongRoPE: factors on the frequencies for short and for long contexts.
@Suite struct LongRotaryFolderTests {
    private let directory: TemporaryDirectory
    private static let tokens: [Int32] = [1, 30, 75, 200, 9, 114, 3, 77]
    /// One per pair of a head of 16 values.
    private static let short: [Float] = [1, 1.05, 1.1, 1.2, 1.3, 1.5, 1.7, 2]
    private static let long: [Float] = [1.1, 1.5, 2, 3, 5, 8, 13, 21]
    /// √(1 + ln(128 / 32) / ln 32): the model was trained with 32 tokens and extended to 128.
    private static let magnitude: Float = 1.183_216

    init() throws { directory = try TemporaryDirectory() }

    private var tiny: TinyModel {
        var tiny = TinyModel()
        tiny.architecture = "phi3"
        return tiny
    }

    /// - Parameter scaling: `rope_scaling`, without its braces.
    private func folder(_ scaling: String, original: Int = 32) throws -> URL {
        try tiny.writeFolder(
            in: directory, architecture: "Phi3ForCausalLM",
            config: #", "original_max_position_embeddings": \#(original), "rope_scaling": {\#(scaling)}"#
        ) { tensors in
            for layer in 0..<tiny.layers {
                Self.join(&tensors, "model.layers.\(layer).self_attn.", ["q_proj", "k_proj", "v_proj"], as: "qkv_proj")
                Self.join(&tensors, "model.layers.\(layer).mlp.", ["gate_proj", "up_proj"], as: "gate_up_proj")
            }
        }
    }

    private static func factors(_ type: String, short: [Float] = Self.short, long: [Float] = Self.long) -> String {
        #""type": "\#(type)", "short_factor": \#(short), "long_factor": \#(long)"#
    }

    /// Puts matrices below each other.
    private static func join(
        _ tensors: inout [SafetensorsBuilder.Tensor], _ prefix: String, _ parts: [String], as name: String
    ) {
        let found = parts.compactMap { part in tensors.first { $0.name == prefix + part + ".weight" } }
        tensors.removeAll { tensor in found.contains { $0.name == tensor.name } }
        tensors.append(
            .init(
                prefix + name + ".weight", type: "F32",
                shape: [found.reduce(0) { $0 + $1.shape[0] }, found[0].shape[1]], data: found.flatMap(\.data)))
    }

    /// The same model as a file, with factors for all contexts.
    private func file(_ factors: [Float]) throws -> URL {
        var tiny = tiny
        tiny.extra = [("phi3.rope.scaling.attn_factor", .float32(Self.magnitude))]
        var builder = tiny.builder()
        builder.tensors.append(.init("rope_freqs.weight", shape: [factors.count], factors))
        return URL(filePath: try directory.write(builder.bytes(), as: "phi.gguf"))
    }

    private func logits(_ url: URL, contextSize: Int) async throws -> [Float] {
        let configuration = LocalModel.Configuration(contextSize: contextSize, threads: 1)
        return try await LocalModel.load(from: url, configuration: configuration).logits(of: Self.tokens)
    }

    @Test(arguments: ["longrope", "su"])
    func `the context size chooses the factors`(type: String) async throws {
        let url = try folder(Self.factors(type))
        // 32 is the context that the model was trained with.
        for (contextSize, factors) in [(32, Self.short), (33, Self.long), (128, Self.long)] {
            let expected = try await logits(file(factors), contextSize: contextSize)
            let found = try await logits(url, contextSize: contextSize)
            #expect(normalizedMeanSquaredError(found, expected) < 1e-9)
        }
        let (short, long) = (try await logits(url, contextSize: 32), try await logits(url, contextSize: 128))
        #expect(normalizedMeanSquaredError(short, long) > 1e-4)
    }

    @Test func `the keys are those of llama.cpp's converter`() throws {
        let file = try GGUFFile(path: folder(Self.factors("longrope")).path)
        #expect(try file.metadata.int("phi3.rope.scaling.original_context_length") == 32)
        #expect(try file.metadata.int("phi3.rope.dimension_count") == 16)
        #expect(abs(try file.metadata.double("phi3.rope.scaling.attn_factor") - Double(Self.magnitude)) < 1e-6)
        // The factors imply the type.
        #expect(try file.metadata.stringIfPresent("phi3.rope.scaling.type") == nil)
        #expect(file.tensorIfPresent("rope_factors_short.weight")?.floats() == Self.short)
        #expect(file.tensorIfPresent("rope_factors_long.weight")?.floats() == Self.long)
    }

    @Test func `a model that is not extended has no magnitude`() throws {
        let file = try GGUFFile(path: folder(Self.factors("longrope"), original: 128).path)
        #expect(try file.metadata.double("phi3.rope.scaling.attn_factor") == 1)
    }

    @Test func `factors of a wrong number are refused`() throws {
        let url = try folder(Self.factors("longrope", long: [1, 2, 3]))
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.message.contains("'long_factor' and 'short_factor' must have 8 numbers") == true)
    }
}
