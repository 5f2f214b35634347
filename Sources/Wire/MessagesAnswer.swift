public import JSON

/// Response of `POST /v1/messages`.
public struct MessagesAnswer: Codable, Sendable, Equatable {
    /// A content block of the answer.
    public struct Block: Codable, Sendable, Equatable {
        /// `text`, `thinking` or `tool_use`.
        public var type: String
        public var text: String?
        public var thinking: String?
        /// Always empty: this server does not sign reasoning or require signatures.
        public var signature: String?
        public var id: String?
        public var name: String?
        public var input: JSON?

        public init(type: String) {
            self.type = type
            text = type == "text" ? "" : nil
            thinking = type == "thinking" ? "" : nil
            signature = type == "thinking" ? "" : nil
        }

        public init(toolUse id: String, name: String) {
            type = "tool_use"
            self.id = id
            self.name = name
            input = .object([:])
        }
    }

    public struct Usage: Codable, Sendable, Equatable {
        public var inputTokens: Int
        public var outputTokens: Int
        public var cacheReadInputTokens: Int
        public var cacheCreationInputTokens = 0

        public init(_ usage: TokenUsage) {
            cacheReadInputTokens = usage.promptTokensDetails.cachedTokens
            inputTokens = usage.promptTokens - cacheReadInputTokens
            outputTokens = usage.completionTokens
        }

        enum CodingKeys: String, CodingKey {
            case inputTokens = "input_tokens"
            case outputTokens = "output_tokens"
            case cacheReadInputTokens = "cache_read_input_tokens"
            case cacheCreationInputTokens = "cache_creation_input_tokens"
        }
    }

    /// Begins with `msg_`.
    public var id: String
    public var type = "message"
    public var role = "assistant"
    public var model: String
    public var content: [Block] = []
    /// `end_turn`, `max_tokens`, `stop_sequence` or `tool_use`.
    @Null public var stopReason: String? = nil
    @Null public var stopSequence: String? = nil
    public var usage: Usage

    public init(id: String, model: String, usage: Usage) {
        self.id = id
        self.model = model
        self.usage = usage
    }

    enum CodingKeys: String, CodingKey {
        case id, type, role, model, content, usage
        case stopReason = "stop_reason"
        case stopSequence = "stop_sequence"
    }
}

/// One event of a streamed message. Each event type uses some of the fields.
public struct MessagesEvent: Codable, Sendable {
    public struct Delta: Codable, Sendable {
        public var type: String?
        public var text: String?
        public var thinking: String?
        public var partialJSON: String?
        public var stopReason: String?
        public var stopSequence: Null<String>?

        public init(type: String? = nil) { self.type = type }

        enum CodingKeys: String, CodingKey {
            case type, text, thinking
            case partialJSON = "partial_json"
            case stopReason = "stop_reason"
            case stopSequence = "stop_sequence"
        }
    }

    public var type: String
    public var message: MessagesAnswer?
    public var index: Int?
    public var contentBlock: MessagesAnswer.Block?
    public var delta: Delta?
    public var usage: MessagesAnswer.Usage?

    public init(_ type: String) { self.type = type }

    enum CodingKeys: String, CodingKey {
        case type, message, index, delta, usage
        case contentBlock = "content_block"
    }
}

/// An error in the form of Anthropic's API.
public struct MessagesErrorBody: Codable, Sendable {
    public struct Detail: Codable, Sendable {
        public var type: String
        public var message: String
    }

    public var type = "error"
    public var error: Detail

    public init(_ error: APIError) {
        let type =
            switch error.status {
            case 401: "authentication_error"
            case 403: "permission_error"
            case 404: "not_found_error"
            case 413: "request_too_large"
            case 429: "rate_limit_error"
            case 503, 529: "overloaded_error"
            case 504: "timeout_error"
            case 400..<500: "invalid_request_error"
            default: "api_error"
            }
        self.error = Detail(type: type, message: error.message)
    }
}

/// Response of `POST /v1/messages/count_tokens`.
public struct TokenCount: Codable, Sendable {
    public var inputTokens: Int

    public init(inputTokens: Int) { self.inputTokens = inputTokens }

    enum CodingKeys: String, CodingKey { case inputTokens = "input_tokens" }
}
