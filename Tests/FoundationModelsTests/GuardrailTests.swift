import Foundation
import TestSupport
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite(.timeLimit(.minutes(5))) struct GuardrailTests {
    private func violation(_ body: () async throws -> Void) async throws -> LanguageModelError {
        let error = try #require(await #expect(throws: LanguageModelError.self) { try await body() })
        guard case .guardrailViolation = error else { throw error }
        return error
    }

    private func session(_ guardrails: any Guardrail...) -> LanguageModelSession {
        LanguageModelSession(model: SystemLanguageModel(contentsOf: bundledModel, guardrails: .init(guardrails)))
    }

    @Test func `a prompt that is refused never reaches the model`() async throws {
        let guardrail = WordListGuardrail(["france"], message: "Not about countries.")
        let model = SystemLanguageModel(contentsOf: bundledModel, guardrails: .init([guardrail]))
        let session = LanguageModelSession(model: model)
        let error = try await violation { try await session.respond(to: "What is the capital of France?") }
        #expect(error.localizedDescription == "Not about countries.")
        #expect(session.transcript.isEmpty && !session.isResponding)
        if case .loading = model.status { Issue.record("the model was loaded") }
    }

    @Test func `an answer stops before the first word that is refused`() async throws {
        let question = "What is the capital of France?"
        let free = try await session().respond(to: question, options: .greedy(30)).content
        #expect(free.contains("Paris"))
        let session = session(WordListGuardrail(["paris"]))
        var shown = ""
        _ = try await violation {
            for try await snapshot in session.streamResponse(to: question, options: .greedy(30)) {
                shown = snapshot.content
            }
        }
        #expect(!shown.contains("P") && free.hasPrefix(shown))
        #expect(session.transcript.isEmpty && !session.isResponding)
    }

    /// Everything that is shown of a text that comes in such pieces, and whether it was stopped.
    private func show(_ pieces: [String], _ phrases: [String]) -> (shown: [String], isStopped: Bool) {
        var answer = AnswerGuard(SystemLanguageModel.Guardrails([WordListGuardrail(phrases)]))
        var shown: [String] = []
        for (index, piece) in pieces.enumerated() {
            do {
                shown.append(try answer.pass(piece, isLast: index == pieces.count - 1))
            } catch {
                return (shown, true)
            }
        }
        return (shown, false)
    }

    @Test(arguments: [
        // Cut anywhere, the word is found, and nothing of it was shown.
        (["a b", "ad", " c"], ["bad"], ["a ", ""], true),
        (["a ", "B", "A", "D", "."], ["bad"], ["a ", "", "", ""], true),
        (["bad"], ["bad"], [], true),
        // Longer words only look like it.
        (["a b", "ad", "ge c"], ["bad"], ["a ", "", "badge c"], false),
        (["x", "bad c"], ["bad"], ["x", "bad c"], false),
        (["a bad", "ger"], ["bad"], ["a ", "badger"], false),
        // Phrases, whatever is between their words.
        (["very", " ba", "d, idea now"], ["bad idea"], ["very", " "], true),
        (["very bad", " - ", "id", "ol"], ["bad idea"], ["very ", "", "", "bad - idol"], false),
        (["it is bad"], ["bad idea"], ["it is bad"], false),
        // Two phrases that begin alike.
        (["big bad ", "wolf "], ["big bad sheep", "bad wolf"], [""], true),
    ])
    func `words are found across borders`(
        pieces: [String], phrases: [String], shown: [String], isStopped: Bool
    ) {
        let result = show(pieces, phrases)
        #expect(result.shown == shown)
        #expect(result.isStopped == isStopped)
    }

    @Test func `all guardrails must let a text pass`() throws {
        let guardrails = SystemLanguageModel.Guardrails([WordListGuardrail(["bad"]), WordListGuardrail(["good"])])
        var answer = AnswerGuard(guardrails)
        #expect(try answer.pass("some goo", isLast: false) == "some ")
        #expect(throws: GuardrailViolation.self) { try answer.pass("d", isLast: true) }
        var free = AnswerGuard(SystemLanguageModel.Guardrails.default)
        #expect(try free.pass("bad", isLast: false) == "bad")
    }

    @Test func `the file has a word or phrase a line`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(Array("# names\n\n Secret Plan \nxyzzy\n".utf8), as: "words")
        let guardrail = try WordListGuardrail(contentsOf: URL(fileURLWithPath: file))
        func isBlocked(_ text: String) -> Bool {
            if case .violation = guardrail.review(GuardedText(.prompt, text, isWhole: true)) { true } else { false }
        }
        #expect(isBlocked("the secret plan") && isBlocked("XYZZY") && !isBlocked("names"))
        #expect(throws: LocalModelError.self) {
            try WordListGuardrail(
                contentsOf: URL(fileURLWithPath: try directory.write(Array("#\n".utf8), as: "empty")))
        }
        #expect(throws: (any Error).self) { try WordListGuardrail(contentsOf: URL(fileURLWithPath: "/nowhere/at/all")) }
    }
}
