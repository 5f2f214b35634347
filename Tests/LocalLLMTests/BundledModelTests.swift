import Foundation
import LocalLLM
import Testing

/// The model in models/, against what its own recipe's network (PyTorch, float32, the same quantized weights) answers.
@Suite struct BundledModelTests {
    private struct Case: Decodable {
        let messages: [ChatMessage]
        let prompt: String
        let prompt_ids: [Int32]
        let greedy_ids: [Int32]
        let text: String
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../models").standardized

    private static func file(_ suffix: String) throws -> URL {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }
        return folder.appending(path: try #require(names.first))
    }

    @Test func `answers its recipe's questions token for token`() async throws {
        let model = try await LocalModel.load(from: try Self.file(".gguf"))
        let cases = try JSONDecoder().decode([Case].self, from: Data(contentsOf: try Self.file(".cases.json")))
        #expect(cases.count >= 10)
        for test in cases {
            #expect(try model.render(test.messages) == test.prompt)
            #expect(try model.tokens(of: test.prompt) == test.prompt_ids)
            var ids: [Int32] = []
            var text = ""
            let options = SamplingOptions(temperature: 0, maximumTokens: test.greedy_ids.count)
            for try await piece in model.generate(test.messages, options: options) {
                ids += piece.tokens
                text += piece.text
            }
            #expect(ids == test.greedy_ids)
            #expect(text == test.text)
        }
    }
}
