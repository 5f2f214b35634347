import Foundation
import LocalLLM
import TestSupport
import Testing
import Tokenizer

/// Vectors and scores against those of the reference implementation.
@Suite(.enabled(if: Fixtures.exist("more/index.json"), "needs ../shared/fixtures"))
struct EncoderFixtureTests {
    private struct Index: Decodable {
        struct Fixture: Decodable { let kind: String }
        let fixtures: [String: Fixture]
    }

    private struct Case: Decodable {
        struct Tokenization: Decodable {
            let text: String
            let ids: [Int32]
        }
        let sequences: [[Int32]]
        let shape: [Int]
        let tokenizations: [Tokenization]?
    }

    private static func read<T: Decodable>(_ name: String) throws -> T {
        try JSONDecoder().decode(T.self, from: Data(contentsOf: Fixtures.url("more/\(name).json")))
    }

    private static let names: [String] =
        (try? read("index") as Index)?.fixtures.filter { $0.value.kind == "embed" }.keys.sorted() ?? []

    @Test(arguments: names)
    func `gives the reference's vectors, together and alone`(name: String) async throws {
        let test: Case = try Self.read(name)
        let model = try await LocalModel.load(from: Fixtures.url("more/\(name).gguf"))
        let options = EmbeddingOptions(normalizes: false)
        let together = try await model.embeddings(of: test.sequences, options: options)
        #expect(together.map(\.count) == Array(repeating: test.shape[1], count: test.shape[0]))
        let expected = try Fixtures.floats("more/\(name).f32")
        #expect(normalizedMeanSquaredError(together.flatMap { $0 }, expected) < 1e-5)
        let exact = try Fixtures.floats("more/\(name).exact.f32")
        #expect(normalizedMeanSquaredError(together.flatMap { $0 }, exact) < 1e-6)
        var alone: [Float] = []
        for sequence in test.sequences { alone += try await model.embeddings(of: [sequence], options: options)[0] }
        #expect(normalizedMeanSquaredError(alone, expected) < 1e-5)
    }

    @Test(arguments: names)
    func `gives texts the reference's tokens`(name: String) async throws {
        let test: Case = try Self.read(name)
        guard let tokenizations = test.tokenizations else { return }
        let tokenizer = try LocalModel.tokenizer(of: Fixtures.url("more/\(name).gguf"))
        for tokenization in tokenizations {
            #expect(tokenizer.encode(tokenization.text, addSpecial: true, parseSpecial: false) == tokenization.ids)
        }
    }
}
