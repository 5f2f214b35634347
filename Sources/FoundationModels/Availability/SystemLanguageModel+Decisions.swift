package import LocalLLM

extension SystemLanguageModel {
    /// The probabilities of given answers to questions about a conversation. Loads the model if it is not loaded.
    package func decide(
        _ questions: [DecisionQuestion], about messages: [ChatMessage]
    ) async throws -> Decisions {
        var options = DecisionOptions()
        options.guardrail = guardrails
        return try await host.model().decide(questions, about: messages, options: options)
    }
}
