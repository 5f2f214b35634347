import Foundation
import TestSupport
import Testing

@testable import FoundationModels
@testable import LocalLLM

/// What sessions of this module do beyond Apple's: seeds, probabilities, exact counts, and going on without computing again.
@Suite(.timeLimit(.minutes(2))) struct ReproducibilityTests {
    @Test func `a seed decides the answer`() async throws {
        let model = try tinyModel(context: 1024)
        func answer(_ seed: UInt64) async throws -> String {
            let session = LanguageModelSession(model: model, instructions: "Be brief.")
            let options = GenerationOptions(
                samplingMode: .random(top: 0, seed: seed), temperature: 1, maximumResponseTokens: 30)
            return try await session.respond(to: "Go", options: options).content
        }
        let first = try await answer(7)
        #expect(try await answer(7) == first)
        #expect(try await answer(8) != first)
    }

    @Test func `a session that goes on from a stored transcript computes only what is new`() async throws {
        let model = try tinyModel(context: 4096)
        let first = LanguageModelSession(model: model, instructions: String(repeating: "Be brief. ", count: 20))
        try await first.respond(to: "Question 1?", options: .greedy(100))
        let stored = try JSONEncoder().encode(first.transcript)
        let second = LanguageModelSession(
            model: model, transcript: try JSONDecoder().decode(Transcript.self, from: stored))
        let usage = try await second.respond(to: "Question 2?", options: .greedy(10)).usage
        #expect(usage.input.totalTokenCount > 300)
        // The question, what the template writes around it, and a page that was not full.
        #expect(usage.input.totalTokenCount - usage.input.cachedTokenCount < ";u:Question 2?;a:".utf8.count + 32)
    }

    @Test func `a later process with the folder of prompts goes on from a transcript`() async throws {
        let directory = try TemporaryDirectory()
        var model = TinyModel()
        model.context = 4096
        let file = URL(filePath: try directory.write(model.builder().bytes(), as: "tiny.gguf"))
        let prompts = directory.url.appending(path: "prompts")
        // Each model has its own cache in memory, as if it were another process.
        @Sendable func process() -> SystemLanguageModel {
            var configuration = LocalModel.Configuration(threads: 1)
            configuration.cacheDirectory = prompts
            return SystemLanguageModel(contentsOf: file, configuration: configuration)
        }

        let first = LanguageModelSession(model: process(), instructions: String(repeating: "Be brief. ", count: 20))
        try await first.respond(to: "Question 1?", options: .greedy(100))
        let stored = try JSONEncoder().encode(first.transcript)
        @Sendable func cached() async throws -> LanguageModelSession.Usage.Input {
            let later = LanguageModelSession(
                model: process(), transcript: try JSONDecoder().decode(Transcript.self, from: stored))
            return try await later.respond(to: "Question 2?", options: .greedy(10)).usage.input
        }
        // The files are written, and the answer is computed as a part of the prompt, after the answer has been given.
        try await eventually { try await cached().cachedTokenCount > 256 }
        let usage = try await cached()
        #expect(usage.totalTokenCount - usage.cachedTokenCount < ";u:Question 2?;a:".utf8.count + 32)
    }

    @Test func `a conversation's tokens are counted as the request will have them`() async throws {
        let model = try tinyModel(context: 1024)
        let transcript = Transcript.turns(3, length: 9, instructions: "Be nice.")
        let session = LanguageModelSession(model: model, transcript: transcript)
        let usage = try await session.respond(to: "How many?", options: .greedy(4)).usage
        let asked = session.transcript.dropLast()
        #expect(try await model.tokenCount(for: Array(asked)) == usage.input.totalTokenCount)
    }

    @Test func `on request an answer comes with its log probabilities`() async throws {
        let session = LanguageModelSession(model: try tinyModel(context: 1024))
        var options = GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 12)
        #expect(try await session.respond(to: "Go", options: options).tokenProbabilities.isEmpty)
        options[custom: LocalModel.self] = SamplingOptions(topLogprobs: 2)
        let response = try await session.respond(to: "Go", options: options)
        let tokens = response.tokenProbabilities
        #expect(tokens.count == response.usage.output.totalTokenCount && tokens.count == 12)
        #expect(tokens.map(\.text).joined().hasPrefix(response.content))
        for token in tokens {
            #expect(token.logProbability < 0 && token.alternatives.count == 2)
            // A greedy answer takes the most likely token.
            #expect(token.alternatives[0] == .init(text: token.text, logProbability: token.logProbability))
            #expect(token.alternatives[1].logProbability <= token.logProbability)
        }
    }
}
