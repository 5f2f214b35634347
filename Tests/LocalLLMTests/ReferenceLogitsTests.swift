import Foundation
import LocalLLM
import TestSupport
import Testing

/// Logits against those of the reference implementation, at every position.
@Suite(.enabled(if: Fixtures.exist("quants/index.json"), "needs ../shared/fixtures"))
struct ReferenceLogitsTests {
    private struct Quants: Decodable {
        struct Case: Decodable {
            let file: String
            let logits: String
            let nmse_of_llama_cpp_against_these_logits: Double
        }
        let token_ids: [Int32]
        let cases: [String: Case]
    }

    private static func index<T: Decodable>(_ path: String) throws -> T {
        try JSONDecoder().decode(T.self, from: Data(contentsOf: Fixtures.url(path)))
    }

    private static let quants: Quants? = try? index("quants/index.json")

    private static let quantFormats = quants?.cases.keys.sorted() ?? []

    @Test(arguments: quantFormats, [16, 1])
    func `quantized weights give the logits of their dequantized values`(format: String, chunk: Int) async throws {
        let index: Quants = try Self.index("quants/index.json")
        let test = try #require(index.cases[format])
        let model = try await LocalModel.load(from: Fixtures.url("quants/\(test.file)"))
        let logits = try await model.logits(of: index.token_ids, chunk: chunk)
        let error = normalizedMeanSquaredError(logits, try Fixtures.floats("quants/\(test.logits)"))
        // A prompt's MLP is rounded to 8 bits: at most half of the error that llama.cpp makes. Answers are not.
        let half = test.nmse_of_llama_cpp_against_these_logits / 2
        #expect(error < (chunk == 1 ? 1e-6 : max(1e-6, half)))
    }

    private struct Story: Decodable {
        struct Case: Decodable {
            let prompt: String
            let prompt_ids: [Int32]
            let greedy_ids: [Int32]
            let text: String
        }
        let cases: [Case]
    }

    @Test func `a trained model continues its stories token for token`() async throws {
        let stories: Story = try Self.index("models/stories260K.json")
        let model = try await LocalModel.load(from: Fixtures.url("models/stories260K.gguf"))
        for story in stories.cases {
            var ids: [Int32] = []
            var text = ""
            let options = SamplingOptions(temperature: 0, maximumTokens: story.greedy_ids.count)
            for try await piece in model.generate(tokens: story.prompt_ids, options: options) {
                ids += piece.tokens
                text += piece.text
            }
            #expect(ids == story.greedy_ids)
        }
    }
}
