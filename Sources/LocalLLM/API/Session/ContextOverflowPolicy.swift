/// What a session does when the conversation does not fit the model's context any more.
///
/// Instructions and the prompt always stay, and earlier turns go whole, the oldest first. What goes is recorded in
/// `Transcript.omissions` and stays in the transcript.
public enum ContextOverflowPolicy: String, Sendable, Codable, CaseIterable {
    /// Leaves the oldest turns out, and answers.
    case trimOldest
    /// Throws `GenerationError.exceededContextWindowSize`.
    case throwError
    /// Has the model sum up the oldest turns, shows it the summary instead of them, and answers.
    case summarize
}
