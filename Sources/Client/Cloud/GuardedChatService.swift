public import LocalLLM

/// Adds a guardrail to a service: reviews the last user message and the whole answer.
///
/// Streams throw `ContentBlocked` if the guardrail refuses. Local sessions do this themselves
/// (`SystemLanguageModel.Guardrails`).
public struct GuardedChatService: ChatServiceProtocol {
    private let service: any ChatServiceProtocol
    private let guardrail: any Guardrail

    public init(_ service: any ChatServiceProtocol, _ guardrail: any Guardrail) {
        self.service = service
        self.guardrail = guardrail
    }

    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        guarded(messages.last { $0.role == .user }?.content ?? "") { service.stream(messages) }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        guarded(prompt) { service.stream(prompt: prompt) }
    }

    private func guarded(
        _ prompt: String, _ answer: @escaping @Sendable () -> AsyncThrowingStream<AnswerPiece, any Error>
    ) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { continuation in
            if case .violation(let message) = guardrail.review(GuardedText(.prompt, prompt, isWhole: true)) {
                throw ContentBlocked(message)
            }
            var (thoughts, text) = (AnswerGuard(guardrail), AnswerGuard(guardrail))
            var usage: AnswerUsage?
            func send(thought: String, _ piece: String, isLast: Bool) throws {
                do {
                    let thought = try thoughts.pass(thought, isLast: isLast)
                    let piece = try text.pass(piece, isLast: isLast)
                    if !thought.isEmpty { continuation.yield(.thought(thought)) }
                    if !piece.isEmpty { continuation.yield(.text(piece)) }
                } catch {
                    throw ContentBlocked(error.message)
                }
            }
            for try await piece in answer() {
                switch piece {
                case .thought(let more): try send(thought: more, "", isLast: false)
                case .text(let more): try send(thought: "", more, isLast: false)
                case .toolCalls(let count):
                    // A message ends with its calls, so its text is reviewed as a whole.
                    try send(thought: "", "", isLast: true)
                    (thoughts, text) = (AnswerGuard(guardrail), AnswerGuard(guardrail))
                    continuation.yield(.toolCalls(count))
                case .usage(let counts): usage = counts
                }
            }
            try send(thought: "", "", isLast: true)
            if let usage { continuation.yield(.usage(usage)) }
        }
    }
}
