public import LocalLLM

/// A piece of a streamed answer.
public enum AnswerPiece: Sendable, Equatable {
    /// More reasoning, which is not part of the answer.
    case thought(String)
    case text(String)
    /// The model makes this many tool calls. All text that precedes them was sent before.
    case toolCalls(Int)
    /// Token counts and speed, last, if the service reports them.
    case usage(AnswerUsage)
}

/// A local or remote chat service.
///
/// Dropping a stream or cancelling the iterating task cancels the answer. Streams throw errors with text for users, and
/// `ContentBlocked` if a guardrail refuses.
public protocol ChatServiceProtocol: Sendable {
    /// Answers a conversation of user and assistant messages that ends with a user message.
    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error>

    /// Answers a single prompt without history.
    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error>
}

extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
    /// A stream produced by a task, which is cancelled when the stream is dropped.
    static func task(_ body: @escaping @Sendable (Continuation) async throws -> Void) -> Self {
        Self { continuation in
            let task = Task {
                do {
                    try await body(continuation)
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
