public import LocalLLM

/// A piece of an answer, as it comes.
public enum AnswerPiece: Sendable, Equatable {
    /// More of what the model thinks; the answer is without it.
    case thought(String)
    case text(String)
    /// What the answer took, where the engine says so; comes last, if at all.
    case usage(AnswerUsage)
}

/// Answers conversations, here or elsewhere.
///
/// Dropping a stream, or cancelling the task that iterates it, ends the work. Streams throw what kept the service from
/// answering, with words for a user, and `ContentBlocked` where a rule did.
public protocol ChatServiceProtocol: Sendable {
    /// Answers a conversation of user's and assistant's messages that ends with a user's.
    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error>

    /// Answers a prompt by itself, with no history.
    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error>
}

extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
    /// What a task yields, which is cancelled when nobody takes it any more.
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
