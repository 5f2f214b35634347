import Foundation
import LocalLLM
import TestSupport
import Testing

/// Encoders, rerankers and encoder-decoders of the reference data.
struct ReferenceEncoderTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let makers = ReferenceModel.all.filter { $0.sequences != nil }

    @Test(arguments: makers)
    func `gives the reference's vectors, together and alone`(reference: ReferenceModel) async throws {
        let model = try await LocalModel.load(from: try reference.write(in: directory))
        let sequences = try #require(reference.sequences)
        // A folder has no key for the pooling of a reranker.
        let options = EmbeddingOptions(pooling: reference.columns == 1 ? .rank : nil, normalizes: false)
        let together = try await model.embeddings(of: sequences, options: options)
        #expect(together.map(\.count) == sequences.map { _ in reference.columns })
        #expect(normalizedMeanSquaredError(together.flatMap { $0 }, reference.results) < 1e-6)
        var alone: [Float] = []
        for sequence in sequences { alone += try await model.embeddings(of: [sequence], options: options)[0] }
        #expect(normalizedMeanSquaredError(alone, reference.results) < 1e-6)
    }

    private static let encoderDecoders = ReferenceModel.all.filter { $0.encoderTokens != nil }

    @Test(arguments: encoderDecoders, [26, 5, 1])
    func `an encoder-decoder gives the reference's logits`(reference: ReferenceModel, chunk: Int) async throws {
        let model = try await LocalModel.load(from: try reference.write(in: directory))
        let input = try #require(reference.encoderTokens)
        let logits = try await model.logits(of: reference.tokens, encoding: input, chunk: chunk)
        #expect(normalizedMeanSquaredError(logits, reference.results) < 1e-6)
    }
}
