import Foundation
import FoundationModels
import Testing

/// A model of a view, as apps write it: Observation is not imported.
@MainActor @Observable private final class Riddle {
    private(set) var text = ""

    func ask(_ session: LanguageModelSession) async throws {
        for try await snapshot in session.streamResponse(to: "A riddle", options: .init(maximumResponseTokens: 8)) {
            text = snapshot.content
        }
    }
}

@Suite(.timeLimit(.minutes(2))) struct ObservableModelTests {
    @Test @MainActor func `an observable type shows a streamed answer`() async throws {
        let riddle = Riddle()
        let (changes, continuation) = AsyncStream<Void>.makeStream()
        withObservationTracking {
            _ = riddle.text
        } onChange: {
            continuation.yield()
        }
        try await riddle.ask(LanguageModelSession(model: ScriptedLanguageModel(.init("What has keys?"))))
        #expect(riddle.text == "What has keys?")
        for await _ in changes { break }
    }
}
