package import JSON

/// Response of `POST /v1/messages`.
package struct MessagesAnswer: Codable, Sendable, Equatable {
    /// A content block of the answer.
    package struct Block: Codable, Sendable, Equatable {
        /// `text`, `thinking` or `tool_use`.
        package var type: String
        package var text: String?
        package var thinking: String?
        /// Always empty: this server does not sign reasoning or require signatures.
        package var signature: String?
        package var id: String?
        package var name: String?
        package var input: JSON?

        package init(type: String) {
            self.type = type
            text = type == "text" ? "" : nil
            thinking = type == "thinking" ? "" : nil
            signature = type == "thinking" ? "" : nil
        }

        package init(toolUse id: String, name: String) {
            type = "tool_use"
            self.id = id
            self.name = name
            input = .object([:])
        }
    }

    package struct Usage: Codable, Sendable, Equatable {
        package var inputTokens: Int
        package var outputTokens: Int
        package var cacheReadInputTokens: Int
        package var cacheCreationInputTokens = 0

        package init(_ usage: TokenUsage) {
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
    package var id: String
    package var type = "message"
    package var role = "assistant"
    package var model: String
    package var content: [Block] = []
    /// `end_turn`, `max_tokens`, `stop_sequence` or `tool_use`.
    @Null package var stopReason: String? = nil
    @Null package var stopSequence: String? = nil
    package var usage: Usage

    package init(id: String, model: String, usage: Usage) {
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
package struct MessagesEvent: Codable, Sendable {
    package struct Delta: Codable, Sendable {
        package var type: String?
        package var text: String?
        package var thinking: String?
        package var partialJSON: String?
        package var stopReason: String?
        package var stopSequence: Null<String>?

        package init(type: String? = nil) { self.type = type }

        enum CodingKeys: String, CodingKey {
            case type, text, thinking
            case partialJSON = "partial_json"
            case stopReason = "stop_reason"
            case stopSequence = "stop_sequence"
        }
    }

    package var type: String
    package var message: MessagesAnswer?
    package var index: Int?
    package var contentBlock: MessagesAnswer.Block?
    package var delta: Delta?
    package var usage: MessagesAnswer.Usage?

    package init(_ type: String) { self.type = type }

    enum CodingKeys: String, CodingKey {
        case type, message, index, delta, usage
        case contentBlock = "content_block"
    }
}

/// An error in the form of Anthropic's API.
package struct MessagesErrorBody: Codable, Sendable {
    package struct Detail: Codable, Sendable {
        package var type: String
        package var message: String
    }

    package var type = "error"
    package var error: Detail

    package init(_ error: APIError) {
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
package struct TokenCount: Codable, Sendable {
    package var inputTokens: Int

    package init(inputTokens: Int) { self.inputTokens = inputTokens }

    enum CodingKeys: String, CodingKey { case inputTokens = "input_tokens" }
}
