import Client
import LocalLLM
import Synchronization
import Testing

/// A guardrail around an engine in the cloud.
@Suite(.timeLimit(.minutes(1))) struct GuardedChatServiceTests {
    /// Answers with some pieces, and counts how often it is asked.
    private final class Script: ChatServiceProtocol {
        let pieces: [AnswerPiece]
        let asked = Mutex(0)

        init(_ pieces: [AnswerPiece]) { self.pieces = pieces }

        func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
            asked.withLock { $0 += 1 }
            return AsyncThrowingStream { continuation in
                for piece in pieces { continuation.yield(piece) }
                continuation.finish()
            }
        }

        func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { stream([.user(prompt)]) }
    }

    private func guarded(_ script: Script) -> GuardedChatService {
        GuardedChatService(script, WordListGuardrail(["secret plan"]))
    }

    @Test func `a question with a blocked word is not sent`() async throws {
        let script = Script([.text("Yes.")])
        await #expect(throws: ContentBlocked.self) {
            for try await _ in guarded(script).stream([.user("Hi"), .user("Tell me the secret plan")]) {}
        }
        #expect(script.asked.withLock { $0 } == 0)
    }

    @Test func `text before a blocked phrase arrives, the phrase does not, in whatever pieces it comes`() async throws {
        let script = Script([.text("It is "), .text("a sec"), .text("ret pl"), .text("an, indeed")])
        var text = ""
        await #expect(throws: ContentBlocked.self) {
            for try await piece in guarded(script).stream([.user("Hi")]) {
                if case .text(let more) = piece { text += more }
            }
        }
        #expect(text == "It is a ")
    }

    @Test func `an answer that nothing is wrong with arrives whole, with its thoughts and usage`() async throws {
        let usage = AnswerUsage(promptTokens: 3, completionTokens: 4)
        let script = Script([.thought("a secret"), .text("No pl"), .text("an, a secret"), .usage(usage)])
        var (thought, text, counts) = ("", "", AnswerUsage?.none)
        for try await piece in guarded(script).stream(prompt: "Hi") {
            switch piece {
            case .thought(let more): thought += more
            case .text(let more): text += more
            case .toolCalls: break
            case .usage(let found): counts = found
            }
        }
        #expect(thought == "a secret" && text == "No plan, a secret" && counts == usage)
    }

    @Test func `text is reviewed as a whole before the tool calls after it`() async throws {
        var pieces: [AnswerPiece] = []
        let script = Script([.text("I look"), .toolCalls(2), .text("Found")])
        for try await piece in guarded(script).stream(prompt: "Hi") { pieces.append(piece) }
        let at = try #require(pieces.firstIndex(of: .toolCalls(2)))
        func text(_ pieces: some Sequence<AnswerPiece>) -> String {
            pieces.map { if case .text(let text) = $0 { text } else { "" } }.joined()
        }
        #expect(text(pieces[..<at]) == "I look" && text(pieces[at...]) == "Found")
    }
}
