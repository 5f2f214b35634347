/// What a session does when the conversation no longer fits the model's context.
///
/// Instructions and the prompt always stay; earlier turns are dropped whole, oldest first. Dropped turns are recorded
/// in `Transcript.omissions` and `Response.omissions`, and stay in the transcript.
public enum ContextOverflowPolicy: String, Sendable, Codable, CaseIterable {
    /// Drops the oldest turns, and answers.
    case trim
    /// Has the model summarize the oldest turns, replaces them by the summary in what the model reads, and answers. Later
    /// summaries are added to it.
    case summarize
    /// Throws `LanguageModelError.contextSizeExceeded`, as Apple's framework does.
    case fail
}
