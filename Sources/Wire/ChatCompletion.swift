/// The answer to `POST /v1/chat/completions`.
public struct ChatCompletion: Codable, Sendable, Equatable {
    public struct Choice: Codable, Sendable, Equatable {
        public var index: Int
        public var message: AssistantMessage
        /// `stop` or `length`.
        public var finishReason: String
        @Null public var logprobs: JSONValue? = nil

        enum CodingKeys: String, CodingKey {
            case index, message, logprobs
            case finishReason = "finish_reason"
        }
    }

    public struct AssistantMessage: Codable, Sendable, Equatable {
        public var role: String
        public var content: String
        @Null public var refusal: String? = nil
    }

    /// Unique, and begins with `chatcmpl-`.
    public var id: String
    public var object: String
    /// Unix seconds.
    public var created: Int
    public var model: String
    public var choices: [Choice]
    public var usage: TokenUsage
    /// Changes when the same seed may give another text.
    public var systemFingerprint: String

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage
        case systemFingerprint = "system_fingerprint"
    }

    public init(
        id: String, created: Int, model: String, systemFingerprint: String, text: String, finishReason: String,
        usage: TokenUsage
    ) {
        self.id = id
        object = "chat.completion"
        self.created = created
        self.model = model
        choices = [
            Choice(
                index: 0, message: AssistantMessage(role: "assistant", content: text), finishReason: finishReason)
        ]
        self.usage = usage
        self.systemFingerprint = systemFingerprint
    }
}

/// Tokens that a request cost.
public struct TokenUsage: Codable, Sendable, Equatable {
    public var promptTokens: Int
    public var completionTokens: Int
    public var totalTokens: Int

    enum CodingKeys: String, CodingKey {
        case promptTokens = "prompt_tokens"
        case completionTokens = "completion_tokens"
        case totalTokens = "total_tokens"
    }

    public init(promptTokens: Int, completionTokens: Int) {
        self.promptTokens = promptTokens
        self.completionTokens = completionTokens
        totalTokens = promptTokens + completionTokens
    }
}
