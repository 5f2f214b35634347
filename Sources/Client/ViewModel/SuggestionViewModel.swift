public import Observation

/// A text field that offers ways to go on: it asks once the user pauses, and only for what the text is then.
@MainActor @Observable
public final class SuggestionViewModel {
    /// What the user has typed.
    public var text = "" {
        didSet { if text != oldValue { lookUp() } }
    }
    /// Ways in which `text` could go on, the likeliest first.
    public private(set) var suggestions: [String] = []
    public private(set) var isLoading = false
    /// Called with the text that the user has submitted.
    @ObservationIgnored public var onSubmit: @MainActor (String) -> Void = { _ in }

    @ObservationIgnored private let pause: Duration
    @ObservationIgnored private let suggest: @Sendable (String) async throws -> [String]
    @ObservationIgnored private var work: Task<Void, Never>?

    /// - Parameters:
    ///   - most: Suggestions at a time.
    ///   - pause: How long nothing must be typed before the server is asked.
    ///   - user: Who is typing, in the app's words.
    public convenience init(
        _ client: SuggestClient, most: Int = 3, pause: Duration = .milliseconds(300), user: String? = nil
    ) {
        self.init(pause: pause) { try await client.suggestions(for: $0, most: most, user: user) }
    }

    init(pause: Duration, suggest: @escaping @Sendable (String) async throws -> [String]) {
        self.pause = pause
        self.suggest = suggest
    }

    /// Puts a suggestion behind the text.
    public func accept(_ suggestion: String) { text += suggestion }

    /// Hands the text to `onSubmit`, and empties the field.
    public func submit() {
        let submitted = text
        guard submitted.contains(where: { !$0.isWhitespace }) else { return }
        text = ""
        onSubmit(submitted)
    }

    /// What was typed before is not asked for any more. Suggestions are no answer anybody waits for: one that fails is none.
    private func lookUp() {
        work?.cancel()
        (suggestions, isLoading) = ([], false)
        let text = text
        guard text.contains(where: { !$0.isWhitespace }) else { return }
        work = Task {
            do {
                try await Task.sleep(for: pause)
                isLoading = true
                let found = try await suggest(text)
                if !Task.isCancelled { (suggestions, isLoading) = (found, false) }
            } catch {
                if !Task.isCancelled { isLoading = false }
            }
        }
    }
}
