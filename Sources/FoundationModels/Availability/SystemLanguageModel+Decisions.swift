public import LocalLLM

extension SystemLanguageModel {
    /// The probabilities of given answers to questions about a conversation. Loads the model if it is not loaded.
    ///
    /// - Throws: As `LocalModel.decide`. Questions that a guardrail of the model stops are answered by `.refusal`.
    public func decide(
        _ questions: [DecisionQuestion], about messages: [ChatMessage]
    ) async throws -> Decisions {
        var options = DecisionOptions()
        options.guardrail = guardrails
        return try await host.model().decide(questions, about: messages, options: options)
    }
}
