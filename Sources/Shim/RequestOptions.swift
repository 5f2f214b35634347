import LocalLLM
import Wire

extension GenerationOptions {
    /// What a validated request asks for.
    init(_ request: ChatCompletionRequest) {
        self.init(
            temperature: request.temperature,
            topK: request.topK.map { Int(max(0, $0.value)) },
            topP: request.topP,
            minP: request.minP,
            typicalP: request.typicalP,
            repetitionPenalty: request.repetitionPenalty ?? request.repeatPenalty,
            presencePenalty: request.presencePenalty ?? 0,
            frequencyPenalty: request.frequencyPenalty ?? 0,
            logitBias: request.logitBiasByToken,
            seed: request.seed.map { UInt64(bitPattern: $0.value) },
            // More than any context holds means: to its end.
            maximumTokens: (request.maxCompletionTokens ?? request.maxTokens).map { Int(min($0.value, 1 << 30)) },
            stop: request.stop?.elements ?? [])
    }
}

extension ChatMessage {
    /// `developer` is the newer name of `system`.
    init(_ message: Message) {
        self.init(
            role: message.role == "developer" ? .system : Role(rawValue: message.role),
            content: message.content?.text ?? "")
    }
}

extension TokenUsage {
    init(_ usage: Usage) {
        self.init(promptTokens: usage.promptTokens, completionTokens: usage.completionTokens)
    }
}
