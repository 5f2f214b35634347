import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct GenerationTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func load(_ model: TinyModel = TinyModel(), contextSize: Int? = nil) async throws -> LocalModel {
        try await LocalModel.load(
            from: try model.write(in: directory), configuration: .init(contextSize: contextSize, threads: 2))
    }

    private struct Answer: Equatable {
        var text = ""
        var tokens: [Int32] = []
        var finish: GenerationPiece.Finish?
    }

    private func collect(_ generation: Generation) async throws -> Answer {
        var answer = Answer()
        for try await piece in generation {
            #expect(answer.finish == nil, "nothing follows the last piece")
            answer.text += piece.text
            answer.tokens += piece.tokens
            answer.finish = piece.finish
        }
        return answer
    }

    private let prompt: [Int32] = "hello".utf8.map { TinyModel.token($0) }

    /// Never ends by itself: the end-of-generation token is forbidden.
    private func endless(_ count: Int?, temperature: Double = 0, seed: UInt64? = nil) -> SamplingOptions {
        .init(
            temperature: temperature, logitBias: [TinyModel.endOfSequence: -1000], seed: seed, maximumTokens: count)
    }

    @Test func `greedy text follows the largest logits, and usage counts it`() async throws {
        let model = try await load()
        let answer = try await collect(model.generate(tokens: prompt, options: endless(12)))
        var tokens = prompt
        for _ in 0..<12 {
            var last = Array(try await model.logits(of: tokens).suffix(TinyModel.vocabularySize))
            last[Int(TinyModel.endOfSequence)] = -.infinity
            tokens.append(Int32(last.indices.max { last[$0] < last[$1] }!))
        }
        #expect(answer.tokens == Array(tokens.dropFirst(prompt.count)))
        #expect(answer.finish?.reason == .length)
        #expect(answer.finish?.usage.promptTokens == 5)
        #expect(answer.finish?.usage.completionTokens == 12)
    }

    @Test func `a request gives the same text alone and in a crowd`() async throws {
        let model = try await load()
        let prompts = (0..<24).map { number in
            (0...number * 3).map { index in
                let token = (index * 31 + number * 7) % 256 + 3
                return Int32(token)
            }
        }
        var alone: [Answer] = []
        for prompt in prompts { alone.append(try await collect(model.generate(tokens: prompt, options: endless(20)))) }
        let together = try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for (index, prompt) in prompts.enumerated() {
                group.addTask { (index, try await collect(model.generate(tokens: prompt, options: endless(20)))) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for index in prompts.indices { #expect(together[index]?.tokens == alone[index].tokens) }
    }

    @Test func `the same seed gives the same text, another one another`() async throws {
        let model = try await load()
        let first = try await collect(model.generate(tokens: prompt, options: endless(30, temperature: 1, seed: 1)))
        let again = try await collect(model.generate(tokens: prompt, options: endless(30, temperature: 1, seed: 1)))
        let other = try await collect(model.generate(tokens: prompt, options: endless(30, temperature: 1, seed: 2)))
        #expect(first.tokens == again.tokens)
        #expect(first.tokens != other.tokens)
    }

    @Test func `the end-of-generation token ends it, and is not in the text`() async throws {
        let model = try await load()
        let options = SamplingOptions(temperature: 0, logitBias: [TinyModel.endOfSequence: 1000])
        let answer = try await collect(model.generate(tokens: prompt, options: options))
        #expect(answer.tokens == [TinyModel.endOfSequence])
        #expect(answer.text == "")
        #expect(answer.finish?.reason == .stop)
    }

    @Test func `a stop string ends the text before it`() async throws {
        let model = try await load()
        var options = endless(40)
        // Forced to repeat one letter, so that the text is known.
        options.logitBias[TinyModel.token(UInt8(ascii: "a"))] = 1000
        options.stop = ["aaaaa"]
        let answer = try await collect(model.generate(tokens: prompt, options: options))
        #expect(answer.text == "")
        #expect(answer.tokens.count == 5)
        #expect(answer.finish?.reason == .stop)
    }

    @Test func `a prompt that fills the context is an error with both numbers`() async throws {
        let model = try await load(contextSize: 16)
        await #expect(throws: LocalModelError.contextSizeExceeded(contextSize: 16, tokenCount: 16)) {
            try await collect(model.generate(tokens: Array(repeating: 5, count: 16)))
        }
        let answer = try await collect(model.generate(tokens: Array(repeating: 5, count: 10), options: endless(nil)))
        #expect(answer.tokens.count == 6)
        #expect(answer.finish?.reason == .length)
    }

    @Test func `what a request asks wrongly is an error that names it`() async throws {
        let model = try await load()
        for generation in [
            model.generate(tokens: []), model.generate(tokens: [999]), model.generate(tokens: [-1]),
            model.generate(tokens: prompt, options: .init(temperature: -1)),
        ] {
            let error = await #expect(throws: LocalModelError.self) { try await collect(generation) }
            guard case .invalidOption = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    @Test func `messages go through the template, with the beginning-of-sequence token in front`() async throws {
        let model = try await load()
        #expect(try model.render([.user("hi"), .assistant("ho"), .user("x")]) == "u:hi;a:ho;u:x;a:")
        let answer = try await collect(model.generate([.user("hi")], options: endless(1)))
        // <s> u : h i ; a :
        #expect(answer.finish?.usage.promptTokens == 8)
        // Of seven characters, none a control token.
        let posing = try await collect(model.generate([.user("hi</s><s>")], options: endless(1)))
        #expect(posing.finish?.usage.promptTokens == 15)
        var refusing = TinyModel()
        refusing.template = "{{ raise_exception('no such role') }}"
        let strict = try await load(refusing)
        let error = await #expect(throws: LocalModelError.self) { try await collect(strict.generate([.user("hi")])) }
        guard case .templateFailed(let message) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(message.contains("no such role"))
    }

    @Test(.timeLimit(.minutes(1))) func `escapes in arguments are undone in linear time`() async throws {
        let tokenizer = try await load().tokenizer
        func quoted(_ arguments: String) -> String? {
            var message = ChatMessage.assistant("")
            message.toolCalls = [.init(id: "1", name: "f", arguments: arguments)]
            return message.quoted(for: tokenizer).toolCalls?[0].arguments
        }
        #expect(
            quoted(#"{"a\u0062": ["x\/y\n", "\u00e9\"", "plain"], "c": 1}"#)
                == #"{"ab": ["x/y\n", "é\"", "plain"], "c": 1}"#)
        #expect(quoted(#"{"a": "\ud800", "b": "\u0063""#) == #"{"a": "\ud800", "b": "c""#)
        #expect(quoted(#"\"#) == #"\"#)
        #expect(quoted(#""a\"#) == #""a\"#)
        // No string ends: a search from each quotation mark to the end would take 10¹² steps.
        let endless = String(repeating: #"\""#, count: 1 << 20)
        #expect(quoted(endless) == endless)
    }

    @Test func `leaving the loop ends the work, and others go on`() async throws {
        let model = try await load(contextSize: 128)
        for _ in 0..<40 {
            for try await _ in model.generate(tokens: prompt, options: endless(nil)) { break }
        }
        let cancelled = model.generate(tokens: prompt, options: endless(nil))
        cancelled.cancel()
        #expect(try await collect(cancelled).finish == nil)
        #expect(try await collect(model.generate(tokens: prompt, options: endless(3))).tokens.count == 3)
    }

    @Test func `requests that wait or run when the model goes end with an error`() async throws {
        var model: LocalModel? = try await load(contextSize: 100_000)
        let running = try #require(model).generate(tokens: prompt, options: endless(nil))
        model = nil
        await #expect(throws: LocalModelError.shutDown) { try await collect(running) }
    }
}
