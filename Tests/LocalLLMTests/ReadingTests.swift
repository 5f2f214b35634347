import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct ReadingTests {
    private let directory: TemporaryDirectory
    private let tokens = (0..<50).map { Int32($0 * 37 % 256 + 3) }
    init() throws { directory = try TemporaryDirectory() }

    private func load(_ model: TinyModel = TinyModel()) async throws -> LocalModel {
        try await LocalModel.load(from: try model.write(in: directory), configuration: .init(threads: 2))
    }

    /// Logarithms of the softmax, in double precision.
    private func logSoftmax(_ logits: ArraySlice<Float>) -> [Double] {
        let sum = logits.reduce(0) { $0 + exp(Double($1)) }
        return logits.map { Double($0) - log(sum) }
    }

    @Test func `logprobs of a text are the log-softmax of its logits`() async throws {
        let model = try await load()
        let logits = try await model.logits(of: tokens)
        let logprobs = try await model.logprobs(of: tokens, top: 3)
        #expect(logprobs.map(\.token) == Array(tokens.dropFirst()))
        for (position, reported) in logprobs.enumerated() {
            let size = TinyModel.vocabularySize
            let expected = logSoftmax(logits[position * size..<(position + 1) * size])
            #expect(abs(reported.logprob - expected[Int(reported.token)]) < 1e-5)
            let best = expected.indices.sorted { expected[$0] > expected[$1] }.prefix(3)
            #expect(reported.top.map(\.token) == best.map { Int32($0) })
            #expect(zip(reported.top, best).allSatisfy { abs($0.logprob - expected[$1]) < 1e-5 })
        }
    }

    @Test func `generated tokens carry the model's own logprobs, whatever the sampler does`() async throws {
        let model = try await load()
        var tokens = tokens
        var logprobs: [TokenLogprob] = []
        let options = SamplingOptions(
            temperature: 1.5, presencePenalty: 1, logitBias: [TinyModel.endOfSequence: -1000], seed: 5,
            maximumTokens: 20, topLogprobs: 2)
        for try await piece in model.generate(tokens: tokens, options: options) {
            #expect(piece.logprobs.map(\.token) == piece.tokens)
            tokens += piece.tokens
            logprobs += piece.logprobs
        }
        let expected = try await model.logprobs(of: tokens, top: 2).suffix(20)
        #expect(logprobs.count == 20)
        for (reported, expected) in zip(logprobs, expected) {
            #expect(reported.token == expected.token && reported.top.map(\.token) == expected.top.map(\.token))
            #expect(abs(reported.logprob - expected.logprob) < 1e-4)
        }
    }

    @Test func `of equally likely tokens the first come first`() {
        let logits: [Float] = [1, 3, 3, 2, 3]
        let logprob = logits.withUnsafeBufferPointer { TokenLogprob(of: 0, in: $0, top: 4) }
        #expect(logprob.top.map(\.token) == [1, 2, 4, 3])
        #expect(logits.withUnsafeBufferPointer { TokenLogprob(of: 0, in: $0, top: 0) }.top.isEmpty)
    }

    private func embedding(_ model: LocalModel, of tokens: [Int32], _ pooling: Pooling) async throws -> [Float] {
        try await model.embeddings(of: [tokens], options: .init(pooling: pooling))[0]
    }

    /// Multiplying the last state by the output matrix gives the logits, but for a factor.
    @Test func `the last token's embedding is the state that its logits come from`() async throws {
        let description = TinyModel()
        let model = try await load(description)
        let embedding = try await embedding(model, of: tokens, .last)
        #expect(abs(embedding.reduce(0) { $0 + $1 * $1 } - 1) < 1e-5)
        let output = description.weights()["output.weight"]!
        let product = (0..<TinyModel.vocabularySize).map { row in
            zip(embedding, output[row * description.width..<(row + 1) * description.width]).reduce(0) {
                $0 + $1.0 * $1.1
            }
        }
        let logits = try await model.logits(of: tokens).suffix(TinyModel.vocabularySize)
        let factor = zip(product, logits).reduce(0) { $0 + $1.0 * $1.1 } / product.reduce(0) { $0 + $1 * $1 }
        #expect(zip(product, logits).allSatisfy { abs($0 * factor - $1) < 1e-3 })
    }

    @Test func `the mean of a text is made from all of its states`() async throws {
        let model = try await load()
        var mean = [Float](repeating: 0, count: 64)
        for count in 1...tokens.count {
            // The states themselves are not to be seen: of unit length they differ from the mean's terms.
            let last = try await embedding(model, of: Array(tokens.prefix(count)), .last)
            for index in mean.indices { mean[index] += last[index] }
        }
        let length = mean.reduce(0) { $0 + $1 * $1 }.squareRoot()
        let found = try await embedding(model, of: tokens, .mean)
        let cosine = zip(found, mean).reduce(0) { $0 + $1.0 * $1.1 } / length
        #expect(cosine > 0.99)
        #expect(
            try await embedding(model, of: [tokens[0]], .mean)
                == embedding(model, of: [tokens[0]], .last))
    }

    @Test func `a text longer than the context is refused, and so is none`() async throws {
        let model = try await load()
        let long = [Int32](repeating: 5, count: 129)
        await #expect(throws: LocalModelError.contextSizeExceeded(contextSize: 128, tokenCount: 129)) {
            try await model.embeddings(of: [long])
        }
        await #expect(throws: LocalModelError.self) { try await embedding(model, of: [], .last) }
        await #expect(throws: LocalModelError.self) { try await model.logprobs(of: tokens, top: 101) }
    }
}
