public import Observation

/// The view model of a text field with suggestions, which are requested when the user pauses.
@MainActor @Observable
public final class SuggestionViewModel {
    /// The input.
    public var text = "" {
        didSet { if text != oldValue { lookUp() } }
    }
    /// Continuations of `text`, the most likely first.
    public private(set) var suggestions: [String] = []
    /// Whether a request is running.
    public private(set) var isLoading = false
    /// Called with the submitted text.
    @ObservationIgnored public var onSubmit: @MainActor (String) -> Void = { _ in }

    @ObservationIgnored private let pause: Duration
    @ObservationIgnored private let suggest: @Sendable (String) async throws -> [String]
    @ObservationIgnored private var work: Task<Void, Never>?

    /// - Parameters:
    ///   - most: Maximum number of suggestions.
    ///   - pause: Time without input before a request.
    ///   - user: The app's id of the user.
    public convenience init(
        _ client: SuggestClient, most: Int = 3, pause: Duration = .milliseconds(300), user: String? = nil
    ) {
        self.init(pause: pause) { try await client.suggestions(for: $0, most: most, user: user) }
    }

    init(pause: Duration, suggest: @escaping @Sendable (String) async throws -> [String]) {
        self.pause = pause
        self.suggest = suggest
    }

    /// Appends a suggestion to the text.
    public func accept(_ suggestion: String) { text += suggestion }

    /// Passes the text to `onSubmit` and empties the field.
    public func submit() {
        let submitted = text
        guard submitted.contains(where: { !$0.isWhitespace }) else { return }
        text = ""
        onSubmit(submitted)
    }

    /// Cancels the previous request and starts one for the current text. A failure shows no suggestions and no error.
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
