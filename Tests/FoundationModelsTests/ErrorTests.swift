import Foundation
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite struct ErrorTests {
    private static let all: [any LocalizedError] = {
        let text = "the details"
        return [
            LanguageModelError.contextSizeExceeded(.init(contextSize: 1, tokenCount: 2, debugDescription: text)),
            LanguageModelError.rateLimited(.init(resetDate: .now, debugDescription: text)),
            LanguageModelError.guardrailViolation(.init(debugDescription: text)),
            LanguageModelError.refusal(.init(explanation: "No.", debugDescription: text)),
            LanguageModelError.unsupportedCapability(.init(capability: .vision, debugDescription: text)),
            LanguageModelError.unsupportedTranscriptContent(.init(unsupportedContent: [], debugDescription: text)),
            LanguageModelError.unsupportedGenerationGuide(.init(schemaName: "A", debugDescription: text)),
            LanguageModelError.unsupportedLanguageOrLocale(.init(languageCode: .german, debugDescription: text)),
            LanguageModelError.timeout(.init(debugDescription: text)),
            SystemLanguageModel.Error.assetsUnavailable(.init(debugDescription: text)),
            GeneratedContent.ParsingError(rawContent: "{", debugDescription: text),
        ]
    }()

    @Test func `each has a sentence for the user, advice and the details`() {
        #expect(Set(Self.all.map(\.localizedDescription)).count == Self.all.count)
        for error in Self.all {
            #expect(error.failureReason == "the details" && String(reflecting: error).contains("the details"))
            #expect(error.recoverySuggestion?.hasSuffix(".") == true)
        }
    }

    @Test func `a refusal explains itself`() async throws {
        guard case LanguageModelError.refusal(let refusal) = Self.all[3] else { return #expect(Bool(false)) }
        #expect(try await refusal.explanation.content == "No.")
        var shown: [String] = []
        for try await snapshot in refusal.explanationStream { shown.append(snapshot.content) }
        #expect(shown == ["No."])
    }

    @Test func `a refusal of the 26 SDK has the entries that explain it`() async throws {
        let entry = Transcript.Entry.prompt(.init(segments: .init(text: "No.")))
        let refusal = LanguageModelSession.GenerationError.Refusal(transcriptEntries: [entry])
        #expect(try await refusal.explanation.content == "No.")
        #expect(try await refusal.explanation.transcriptEntries == [entry])
    }

    @Test(arguments: [
        (LocalModelError.contextSizeExceeded(contextSize: 10, tokenCount: 12), "contextSizeExceeded", "12"),
        (.queueFull(limit: 7), "rateLimited", "7"), (.shutDown, "assetsUnavailable", "shut down"),
        (.templateFailed("line 3"), "assetsUnavailable", "line 3"), (.noTokenizer("none"), "assetsUnavailable", "none"),
        (.constraintFailed("no way"), "unsupportedGenerationGuide", "no way"),
    ])
    func `the engine's errors keep their details`(error: LocalModelError, name: String, detail: String) throws {
        let named = named(error)
        #expect(Mirror(reflecting: named).children.first?.label == name)
        #expect((named as? any LocalizedError)?.failureReason?.contains(detail) == true)
        if case LanguageModelError.contextSizeExceeded(let details) = named {
            #expect(details.contextSize == 10 && details.tokenCount == 12)
        }
    }

    @Test func `a broken file is an unavailable asset, a mistake in the options stays what it is`() throws {
        let file = named(ModelFileError(.truncated, "It ends early.", path: "/m.gguf"))
        #expect((file as? SystemLanguageModel.Error)?.debugDescription == "/m.gguf: It ends early.")
        #expect(named(LocalModelError.invalidOption("topK")) as? LocalModelError == .invalidOption("topK"))
        #expect(named(CancellationError()) is CancellationError)
    }
}
