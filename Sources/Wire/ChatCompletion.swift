/// Response of `POST /v1/chat/completions`.
package struct ChatCompletion: Codable, Sendable, Equatable {
    package struct Choice: Codable, Sendable, Equatable {
        package var index: Int
        package var message: AssistantMessage
        /// `stop`, `length`, `tool_calls` or `function_call`.
        package var finishReason: String
        @Null package var logprobs: ChatLogprobs?

        enum CodingKeys: String, CodingKey {
            case index, message, logprobs
            case finishReason = "finish_reason"
        }

        package init(index: Int, message: AssistantMessage, finishReason: String, logprobs: ChatLogprobs? = nil) {
            self.index = index
            self.message = message
            self.finishReason = finishReason
            self.logprobs = logprobs
        }
    }

    package struct AssistantMessage: Codable, Sendable, Equatable {
        package var role: String
        /// `nil` if the message has only tool calls.
        @Null package var content: String?
        /// The model's reasoning. Not in OpenAI's API; most clients read this name.
        package var reasoningContent: String?
        @Null package var refusal: String? = nil
        package var toolCalls: [ToolCall]?
        /// The call, if the request used the older `functions`.
        package var functionCall: ToolCall.Function?

        enum CodingKeys: String, CodingKey {
            case role, content, refusal
            case reasoningContent = "reasoning_content"
            case toolCalls = "tool_calls"
            case functionCall = "function_call"
        }

        package init(content: String?, reasoningContent: String? = nil) {
            role = "assistant"
            self.content = content
            self.reasoningContent = reasoningContent
        }
    }

    /// Begins with `chatcmpl-`.
    package var id: String
    package var object: String
    package var created: Int
    package var model: String
    package var choices: [Choice]
    package var usage: TokenUsage
    package var systemFingerprint: String
    /// llama.cpp's extension, only if requested.
    package var timings: Timings?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage, timings
        case systemFingerprint = "system_fingerprint"
    }

    package init(_ identity: AnswerIdentity, choices: [Choice], usage: TokenUsage) {
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
package struct ChatLogprobs: Codable, Sendable, Equatable {
    package struct Alternative: Codable, Sendable, Equatable {
        /// The token's text. Bytes of incomplete characters are written `\xNN`, as OpenAI does.
        package var token: String
        /// Natural logarithm of the probability, at least -9999.
        package var logprob: Double
        package var bytes: [UInt8]

        package init(token: String, logprob: Double, bytes: [UInt8]) {
            self.token = token
            self.logprob = logprob
            self.bytes = bytes
        }
    }

    package struct Token: Codable, Sendable, Equatable {
        package var token: String
        package var logprob: Double
        package var bytes: [UInt8]
        /// The most likely first; empty unless requested.
        package var topLogprobs: [Alternative]

        enum CodingKeys: String, CodingKey {
            case token, logprob, bytes
            case topLogprobs = "top_logprobs"
        }

        package init(_ token: Alternative, topLogprobs: [Alternative]) {
            self.token = token.token
            logprob = token.logprob
            bytes = token.bytes
            self.topLogprobs = topLogprobs
        }
    }

    package var content: [Token]
    @Null package var refusal: [Token]? = nil

    package init(content: [Token]) { self.content = content }
}
