package import LocalLLM

extension SystemLanguageModel {
    /// Continues a text as it is, without the chat template. Loads the model if it is not loaded.
    package func complete(_ text: String, options: GenerationOptions) async throws -> Conversation {
        let model = try await host.model()
        var request = ConversationRequest(.texts([TextPrompt(text: text, tokens: try model.tokens(of: text))]))
        request.sampling = SamplingOptions(options)
        return try await model.begin(request, guardrail: guardrails)
    }
}
