import Foundation
import Testing

@testable import LocalLLM

@Suite struct GenerationErrorTests {
    typealias GenerationError = LanguageModelSession.GenerationError

    private static let all: [GenerationError] = {
        let context = GenerationError.Context(debugDescription: "the details")
        return [
            .exceededContextWindowSize(context), .assetsUnavailable(context), .guardrailViolation(context),
            .unsupportedGuide(context), .unsupportedLanguageOrLocale(context), .decodingFailure(context),
            .rateLimited(context), .concurrentRequests(context),
            .refusal(.init(transcriptEntries: [.prompt(.init(segments: .init(text: "No.")))]), context),
        ]
    }()

    @Test func `each has a sentence for the user, advice and the details`() {
        #expect(Set(Self.all.map(\.localizedDescription)).count == Self.all.count)
        for error in Self.all {
            #expect(error.failureReason == "the details")
            #expect(error.recoverySuggestion?.hasSuffix(".") == true)
        }
    }

    @Test func `a refusal explains itself`() async throws {
        guard case .refusal(let refusal, _) = Self.all.last else { return #expect(Bool(false)) }
        #expect(try await refusal.explanation.content == "No.")
        var shown: [String] = []
        for try await snapshot in refusal.explanationStream { shown.append(snapshot.content) }
        #expect(shown == ["No."])
    }

    @Test(arguments: [
        (LocalModelError.contextSizeExceeded(contextSize: 10, tokenCount: 12), "exceededContextWindowSize", "12"),
        (.queueFull(limit: 7), "rateLimited", "7"), (.shutDown, "assetsUnavailable", "shut down"),
        (.templateFailed("line 3"), "assetsUnavailable", "line 3"), (.noTokenizer("none"), "assetsUnavailable", "none"),
    ])
    func `the engine's errors keep their details`(error: LocalModelError, name: String, detail: String) throws {
        let named = try #require(GenerationError(error))
        #expect(Mirror(reflecting: named).children.first?.label == name)
        #expect(named.failureReason?.contains(detail) == true)
        let isOverflow = name == "exceededContextWindowSize"
        #expect(named.context.contextSize == (isOverflow ? 10 : nil))
        #expect(named.context.tokenCount == (isOverflow ? 12 : nil))
    }

    @Test func `a broken file is an unavailable asset, a mistake in the options stays what it is`() throws {
        let file = try #require(GenerationError(ModelFileError(.truncated, "It ends early.", path: "/m.gguf")))
        guard case .assetsUnavailable(let context) = file else { return #expect(Bool(false)) }
        #expect(context.debugDescription == "/m.gguf: It ends early.")
        #expect(GenerationError(LocalModelError.invalidOption("topK")) == nil)
        #expect(GenerationError(CancellationError()) == nil)
    }
}
