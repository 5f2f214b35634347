import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Counts in a file's metadata that its tensors do not bear out. Memory must not be taken for them.
@Suite struct HostileCountTests {
    private func error(_ key: String, _ value: UInt32, experts: Int = 0) async throws -> ModelFileError? {
        var model = TinyModel()
        (model.experts, model.usedExperts) = (experts, min(experts, 2))
        var builder = model.builder()
        let name = "\(model.architecture).\(key)"
        builder.metadata.removeAll { $0.0 == name }
        builder.metadata.append((name, .uint32(value)))
        let directory = try TemporaryDirectory()
        let url = URL(filePath: try directory.write(builder.bytes(), as: "hostile.gguf"))
        return await #expect(throws: ModelFileError.self, "\(key)") {
            try await LocalModel.load(from: url, configuration: .init(threads: 1))
        }
    }

    @Test(arguments: [4097, 1 << 22, 1 << 28] as [UInt32])
    func `a model of too many blocks is refused before memory is taken for them`(count: UInt32) async throws {
        let error = try await error("block_count", count)
        #expect(error?.message.contains("block_count' must be at most 4096, but is \(count)") == true)
    }

    @Test(arguments: [1 << 16, 1 << 28] as [UInt32])
    func `more experts than a tensor has rows are refused before memory is taken for them`(count: UInt32) async throws {
        let error = try await error("expert_count", count, experts: 4)
        #expect(error?.message.contains("expert_count' must be at most") == true, "\(error as Any)")
        #expect(error?.message.contains("but is \(count)") == true, "\(error as Any)")
    }

    @Test(arguments: [
        "embedding_length", "feed_forward_length", "attention.head_count", "attention.key_length", "expert_used_count",
        "expert_group_count", "expert_feed_forward_length", "rope.dimension_count", "nextn_predict_layers",
    ])
    func `a count that no tensor bears out is refused`(key: String) async throws {
        // A model of experts has no feed-forward network of its own.
        let error = try await error(key, 1 << 28, experts: key == "feed_forward_length" ? 0 : 4)
        #expect([.badMetadata, .badTensor, .missingTensor].contains(error?.reason), "\(error as Any)")
    }
}
