public import LocalLLM

/// A provider as a chat service.
extension ChatServiceProtocol where Self: Provider {
    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { continuation in
            let answer = try await begin(ConversationRequest(.messages(messages)), guardrail: nil)
            for stream in answer.streams {
                for try await delta in stream {
                    if !delta.reasoning.isEmpty { continuation.yield(.thought(delta.reasoning)) }
                    if !delta.content.isEmpty { continuation.yield(.text(delta.content)) }
                    let begun = delta.calls.count { $0.name != nil }
                    if begun > 0 { continuation.yield(.toolCalls(begun)) }
                    guard let usage = delta.finish?.usage, usage.completionTokens > 0 else { continue }
                    continuation.yield(
                        .usage(
                            AnswerUsage(
                                promptTokens: usage.promptTokens, completionTokens: usage.completionTokens)))
                }
            }
        }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { stream([.user(prompt)]) }
}
