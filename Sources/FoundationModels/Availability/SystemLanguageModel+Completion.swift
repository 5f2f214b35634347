public import LocalLLM

extension SystemLanguageModel {
    /// A piece of a text with which a model continues another.
    public struct CompletionPiece: Sendable {
        /// The next characters; may be empty.
        public let text: String
        /// Numbers of tokens and times of the whole text, in the last piece only.
        public let usage: LocalLLM.Usage?
    }

    /// Continues a text as it is, without the chat template, as models do that were not trained for conversations. Loads the
    /// model if it is not loaded.
    ///
    /// Leaving the loop or cancelling the task ends the generation. Iterating throws `LocalLLM.GuardrailViolation` if a guardrail
    /// of the model stops the text, and what the model throws, such as `LocalModelError`.
    public func complete(
        _ text: String, options: GenerationOptions = GenerationOptions()
    ) -> AsyncThrowingStream<CompletionPiece, any Swift.Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await delta in try await completion(of: text, options).streams[0] {
                        continuation.yield(CompletionPiece(text: delta.content, usage: delta.finish?.usage))
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func completion(of text: String, _ options: GenerationOptions) async throws -> Conversation {
        let model = try await host.model()
        var request = ConversationRequest(.texts([TextPrompt(text: text, tokens: try model.tokens(of: text))]))
        request.sampling = SamplingOptions(options)
        return try await model.begin(request, guardrail: guardrails)
    }
}
