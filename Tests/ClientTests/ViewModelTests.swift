import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Client

@MainActor @Suite(.timeLimit(.minutes(2))) struct ImageViewModelTests {
    private struct Failure: LocalizedError { var errorDescription: String? { "no paint" } }

    @Test func `an image is drawn, and the one before stays where the next fails`() async throws {
        let fox = try #require(URL(string: "https://example.com/fox.png"))
        let screen = ImageViewModel { prompt in
            guard prompt == "a fox" else { throw Failure() }
            return fox
        }
        await screen.generate()
        #expect(screen.imageUrl == nil && !screen.isFinished && screen.errorMessage == nil)
        screen.prompt = "a fox"
        await screen.generate()
        #expect(screen.imageUrl == fox && screen.isFinished && !screen.isLoading)
        screen.prompt = "a wolf"
        await screen.generate()
        #expect(screen.imageUrl == fox && !screen.isFinished && screen.errorMessage == "no paint")
        screen.prompt = "a fox"
        await screen.generate()
        #expect(screen.isFinished && screen.errorMessage == nil)
        screen.imageDidFail()
        #expect(screen.errorMessage == "Failed to load image" && !screen.isFinished)
    }

    @Test func `an image that nobody waits for any more is no failure`() async {
        let screen = ImageViewModel { _ in
            try await Task.sleepForEver()
            return URL(filePath: "/")
        }
        screen.prompt = "a fox"
        let drawing = Task { await screen.generate() }
        while !screen.isLoading { await Task.yield() }
        await screen.cancel()
        await drawing.value
        #expect(screen.imageUrl == nil && !screen.isLoading && screen.errorMessage == nil)
    }
}

@MainActor @Suite(.timeLimit(.minutes(2))) struct SuggestionViewModelTests {
    @Test func `only what the text is after a pause is asked for`() async {
        let asked = Record<String>()
        let field = SuggestionViewModel(pause: .milliseconds(50)) { text in
            asked.add(text)
            return [text == "Once" ? " upon" : "?"]
        }
        for text in ["O", "On", "Onc", "Once"] { field.text = text }
        while field.suggestions.isEmpty { await Task.yield() }
        #expect(field.suggestions == [" upon"] && !field.isLoading)
        #expect(asked.all == ["Once"])
        field.accept(" upon")
        #expect(field.text == "Once upon" && field.suggestions.isEmpty)
    }

    @Test func `typing on ends the request under way, and its answer is not shown`() async {
        let asked = Record<String>()
        let field = SuggestionViewModel(pause: .zero) { text in
            asked.add(text)
            if text == "a" { try await Task.sleepForEver() }
            return [text + "!"]
        }
        field.text = "a"
        while asked.all.isEmpty { await Task.yield() }
        field.text = "ab"
        while field.suggestions.isEmpty { await Task.yield() }
        #expect(field.suggestions == ["ab!"])
        var submitted: [String] = []
        field.onSubmit = { submitted.append($0) }
        field.submit()
        field.submit()
        #expect(submitted == ["ab"] && field.text == "" && field.suggestions.isEmpty)
    }
}
