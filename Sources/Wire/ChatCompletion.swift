/// Response of `POST /v1/chat/completions`.
public struct ChatCompletion: Codable, Sendable, Equatable {
    public struct Choice: Codable, Sendable, Equatable {
        public var index: Int
        public var message: AssistantMessage
        /// `stop`, `length`, `tool_calls` or `function_call`.
        public var finishReason: String
        @Null public var logprobs: ChatLogprobs?

        enum CodingKeys: String, CodingKey {
            case index, message, logprobs
            case finishReason = "finish_reason"
        }

        public init(index: Int, message: AssistantMessage, finishReason: String, logprobs: ChatLogprobs? = nil) {
            self.index = index
            self.message = message
            self.finishReason = finishReason
            self.logprobs = logprobs
        }
    }

    public struct AssistantMessage: Codable, Sendable, Equatable {
        public var role: String
        /// `nil` if the message has only tool calls.
        @Null public var content: String?
        /// The model's reasoning. Not in OpenAI's API; most clients read this name.
        public var reasoningContent: String?
        @Null public var refusal: String? = nil
        public var toolCalls: [ToolCall]?
        /// The call, if the request used the older `functions`.
        public var functionCall: ToolCall.Function?

        enum CodingKeys: String, CodingKey {
            case role, content, refusal
            case reasoningContent = "reasoning_content"
            case toolCalls = "tool_calls"
            case functionCall = "function_call"
        }

        public init(content: String?, reasoningContent: String? = nil) {
            role = "assistant"
            self.content = content
            self.reasoningContent = reasoningContent
        }
    }

    /// Begins with `chatcmpl-`.
    public var id: String
    public var object: String
    public var created: Int
    public var model: String
    public var choices: [Choice]
    public var usage: TokenUsage
    public var systemFingerprint: String
    /// llama.cpp's extension, only if requested.
    public var timings: Timings?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage, timings
        case systemFingerprint = "system_fingerprint"
    }

    public init(_ identity: AnswerIdentity, choices: [Choice], usage: TokenUsage) {
        id = identity.id
        object = "chat.completion"
        created = identity.created
        model = identity.model
        systemFingerprint = identity.systemFingerprint
        self.choices = choices
        self.usage = usage
    }
}

/// Log probabilities of a choice's tokens, in the chat endpoint's form.
public struct ChatLogprobs: Codable, Sendable, Equatable {
    public struct Alternative: Codable, Sendable, Equatable {
        /// The token's text. Bytes of incomplete characters are written `\xNN`, as OpenAI does.
        public var token: String
        /// Natural logarithm of the probability, at least -9999.
        public var logprob: Double
        public var bytes: [UInt8]

        public init(token: String, logprob: Double, bytes: [UInt8]) {
            self.token = token
            self.logprob = logprob
            self.bytes = bytes
        }
    }

    public struct Token: Codable, Sendable, Equatable {
        public var token: String
        public var logprob: Double
        public var bytes: [UInt8]
        /// The most likely first; empty unless requested.
        public var topLogprobs: [Alternative]

        enum CodingKeys: String, CodingKey {
            case token, logprob, bytes
            case topLogprobs = "top_logprobs"
        }

        public init(_ token: Alternative, topLogprobs: [Alternative]) {
            self.token = token.token
            logprob = token.logprob
            bytes = token.bytes
            self.topLogprobs = topLogprobs
        }
    }

    public var content: [Token]
    @Null public var refusal: [Token]? = nil

    public init(content: [Token]) { self.content = content }
}
