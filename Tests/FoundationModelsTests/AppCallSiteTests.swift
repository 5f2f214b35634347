import Foundation
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite(.timeLimit(.minutes(5))) struct AppCallSiteTests {
    private let hearth = SystemLanguageModel(contentsOf: bundledModel)

    @MainActor
    @Test func `a view model sends, streams, stores and goes on`() async throws {
        let app = AssistantViewModel(model: hearth)
        #expect(["ready", "not yet"].contains(app.availabilityText))
        await app.send("My name is Anna.")
        #expect(app.messages.count == 2 && app.problem == nil)
        let stored = try app.save()
        let later = AssistantViewModel(model: hearth)
        try later.restore(stored)
        await later.send("What is my name?")
        #expect(later.messages.last?.contains("Anna") == true)
        #expect(later.lines.count == 5 && later.lines[0] == "instructions 0" && later.lines[1].hasPrefix("you: "))
        #expect(try await !later.recap().isEmpty)
        #expect(later.canSend)
    }

    @Test func `one-off requests come from anywhere`() async throws {
        let summarizer = Summarizer(model: hearth)
        #expect(try await !summarizer.title(for: ["cats", "dogs"], isShort: true).isEmpty)
        let (plain, whole) = try await summarizer.compare("Hello")
        #expect(!plain.isEmpty && !whole.isEmpty)
    }

    @Test func `tags are asked for, and sessions begun without tools`() async throws {
        var model = SystemLanguageModel(contentsOf: bundledModel, useCase: .contentTagging)
        let tagger = Tagger(model: model)
        #expect(try await !tagger.tags(for: "The sun over the sea.").isEmpty)
        let sessions = tagger.sessions()
        #expect(sessions.map(\.transcript.count) == [3, 1, 0])
        #expect(sessions[0].transcript.map(\.description) == ["(Instructions) ", "(Prompt) Hi", "(Response) Hello!"])
        model = hearth
        let (input, cached, output, all) = try await usageOf27(LanguageModelSession(model: model))
        #expect(input > 0 && cached >= 0 && output > 0 && all == input + output)
    }

    @Test func `errors are caught by their types`() {
        #expect(namesOf27(LanguageModelSession.Error.concurrentRequests) == "concurrent")
        #expect(namesOf27(SystemLanguageModel.Error.assetsUnavailable("gone")) == "unavailable")
        #expect(namesOf27(LanguageModelError.timeout(.init(debugDescription: "x"))) == "x")
    }
}
