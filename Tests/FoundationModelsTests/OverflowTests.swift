import TestSupport
import Testing

@testable import FoundationModels
@testable import LocalLLM

/// Each byte is a token of the tiny model; a turn of texts of 8 takes 22: `u:1aaaaaaa;a:1aaaaaaa;`.
@Suite(.timeLimit(.minutes(5))) struct OverflowTests {
    private func session(
        turns: Int, length: Int = 8, context: Int = 128, _ policy: ContextOverflowPolicy = .trim
    ) throws -> LanguageModelSession {
        let session = LanguageModelSession(
            model: try tinyModel(context: context), transcript: .turns(turns, length: length, instructions: "Be-nice."))
        session.contextOverflowPolicy = policy
        return session
    }

    private func overflow(
        _ body: () async throws -> Void
    ) async throws -> LanguageModelError.ContextSizeExceeded {
        let error = await #expect(throws: LanguageModelError.self) { try await body() }
        guard case .contextSizeExceeded(let context) = error else { throw try #require(error) }
        return context
    }

    @Test func `the oldest turns go, whole, and the transcript says so`() async throws {
        let session = try session(turns: 8)
        let response = try await session.respond(to: "Now?", options: .greedy(5))
        #expect(session.transcript.count == 1 + 16 + 2, "nothing is lost from the transcript")
        let omission = try #require(session.transcript.omissions.first)
        #expect(session.transcript.omissions.count == 1)
        #expect(response.omissions == [omission])

        // 128 less 5 for the answer and 16 to spare leaves 107: instructions, question and answer's begin take 21, a turn 22.
        let omitted = session.transcript.filter { omission.entryIDs.contains($0.id) }
        #expect(omitted.map(\.text) == session.transcript.texts[1..<11].map(\.self))
        let window = ConversationWindow(session.transcript)
        #expect(window.instructions.map(\.text) == ["Be-nice."])
        #expect(window.turns.map { $0.map(\.text) }.first == ["6aaaaaaa", "6aaaaaaa"])
        #expect(window.turns.last?.map(\.text) == ["Now?", response.content])
    }

    @Test func `the next turn needs no trimming, and sees what is left`() async throws {
        let session = try session(turns: 8)
        try await session.respond(to: "1", options: .greedy(2))
        let second = try await session.respond(to: "2", options: .greedy(2))
        #expect(session.transcript.omissions.count == 1)
        #expect(second.omissions.isEmpty)
    }

    @Test func `on request it is an error, with both numbers`() async throws {
        let session = try session(turns: 8, .fail)
        let before = session.transcript
        let context = try await overflow { try await session.respond(to: "Now?") }
        // 11 for the instructions, 176 for the turns, 7 for the question, 2 for the answer's begin, 1 for the beginning.
        #expect(context.debugDescription.contains("197"))
        #expect(context.debugDescription.contains("128"))
        #expect(session.transcript == before)
    }

    @Test(arguments: ContextOverflowPolicy.allCases)
    func `a prompt that alone does not fit is an error, and nothing is left out for it`(
        policy: ContextOverflowPolicy
    ) async throws {
        let session = try session(turns: 2, policy)
        let before = session.transcript
        let context = try await overflow { try await session.respond(to: String(repeating: "x", count: 500)) }
        #expect(context.debugDescription.contains("128") && context.contextSize == 128)
        #expect(context.tokenCount > 500)
        #expect(session.transcript == before)
    }

    @Test func `an answer that fills the context goes on without the oldest turns`() async throws {
        let session = try session(turns: 3)
        let response = try await session.respond(to: "Now?", options: .greedy(60))
        #expect(!session.transcript.omissions.isEmpty)
        #expect(response.usage.output.totalTokenCount == 60)
    }

    @Test(arguments: [ContextOverflowPolicy.fail, .trim])
    func `an answer that fills the context alone is an error`(policy: ContextOverflowPolicy) async throws {
        let session = try session(turns: 1, policy)
        let before = session.transcript
        let context = try await overflow {
            try await session.respond(to: "Now?", options: .init(samplingMode: .greedy))
        }
        #expect(context.debugDescription.contains("128"))
        #expect(session.transcript == before)
    }

    @Test func `a summary takes the place of what was left out`() async throws {
        let session = try session(turns: 50, context: 1024, .summarize)
        guard case .fixed(let model as SystemLanguageModel, _) = session.source else { return #expect(Bool(false)) }
        try await session.respond(to: "Now?", options: .greedy(5))
        let summary = try #require(session.transcript.omissions.first?.summary)
        #expect(!summary.isEmpty)
        let window = ConversationWindow(session.transcript)
        #expect(window.turns.count < 51 && window.turns.count > 1)
        let prompt = try window.prompt(for: await model.host.model())
        let text = String(decoding: prompt.tokens.dropFirst().map { UInt8($0 - 3) }, as: UTF8.self)
        #expect(text.contains("s:Be-nice.") && text.contains(summary))
    }

    @Test(arguments: [("They talked.", "Before.\nThey talked."), ("", "Before."), (" \n", "Before.")])
    func `a summary follows the earlier one, unless it says nothing`(said: String, kept: String) async throws {
        let model = ScriptedLanguageModel(said)
        let turns = ConversationWindow(try session(turns: 2).transcript).turns
        #expect(try await Summary.make(of: turns, after: "Before.", by: model, ExecutorStore()) == kept)
        let asked = try #require(model.script.requests.first?.transcript)
        // The task is in the user's message, after what it is about.
        guard case .prompt(let prompt)? = asked.last, asked.count == 1 else { return #expect(Bool(false)) }
        let text = prompt.segments.text
        #expect(text.hasPrefix("User: "))
        #expect(text.split(separator: "\n").last?.hasPrefix("Sum up") == true)
    }

    @Test func `summaries that grow too long keep the first sentences of each`() {
        let earlier = "Ada has a dog, Rex. It is 3.5 years old. They talked about trees."
        func add(_ summary: String, _ limit: Int) -> String? {
            Summary.add(summary, to: earlier) { $0.count <= limit }
        }
        #expect(add("She lives in Brno.\n\n She likes it.", 200) == earlier + "\nShe lives in Brno.\nShe likes it.")
        #expect(add("She lives in Brno.", 60) == "Ada has a dog, Rex. It is 3.5 years old.\nShe lives in Brno.")
        #expect(add("She lives in Brno. It is big.", 40) == "Ada has a dog, Rex.\nShe lives in Brno.")
        #expect(add("她住在布尔诺。她喜欢它。", 30) == "Ada has a dog, Rex.\n她住在布尔诺。")
        #expect(add("She lives in Brno.", 30) == "Ada has a\nShe lives in Brno.")
        #expect(add("", 0) == nil)
    }
}
