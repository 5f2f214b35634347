import JSON

/// A streamed chat request with only those fields that every OpenAI-compatible server knows.
package struct ChatQuestion: Encodable, Sendable {
    package var model: String
    package var messages: [RequestMessage]
    package var maximumTokens: Int?
    package var temperature: Double?
    private let stream = true
    private let streamOptions = ["include_usage": true]

    enum CodingKeys: String, CodingKey {
        case model, messages, temperature, stream
        case maximumTokens = "max_tokens"
        case streamOptions = "stream_options"
    }

    package init(model: String, messages: [RequestMessage], maximumTokens: Int? = nil, temperature: Double? = nil) {
        self.model = model
        self.messages = messages
        self.maximumTokens = maximumTokens
        self.temperature = temperature
    }
}

/// A chat completion or chunk of any OpenAI-compatible server: only the fields that servers agree on.
///
/// This server sends `ChatCompletion` and `ChatCompletionChunk`.
package struct ReceivedChat: Decodable, Sendable {
    /// The members of a choice and of its `message` or `delta`.
    package struct Choice: Decodable, Sendable {
        package let content: String?
        /// Text of the model's reasoning.
        package let thought: String?
        package let refusal: String?
        package let toolCalls: [ToolCall]
        package let finishReason: String?
        /// `nil` if the server gives one answer only and does not number it.
        package let index: Int?

        private enum CodingKeys: String, CodingKey {
            case message, delta, index
            case finishReason = "finish_reason"
        }

        private struct Part: Decodable {
            let content: String?
            let refusal: String?
            /// Servers use two names for reasoning; `reasoning` can also have other types.
            let reasoningContent: String?
            let reasoning: JSON?
            let toolCalls: [ToolCall]?

            enum CodingKeys: String, CodingKey {
                case content, refusal, reasoning
                case toolCalls = "tool_calls"
                case reasoningContent = "reasoning_content"
            }
        }

        package init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            let message = try fields.decodeIfPresent(Part.self, forKey: .message)
            let part = try message ?? fields.decodeIfPresent(Part.self, forKey: .delta)
            content = part?.content
            refusal = part?.refusal
            toolCalls = part?.toolCalls ?? []
            index = try? fields.decode(Int.self, forKey: .index)
            finishReason = try fields.decodeIfPresent(String.self, forKey: .finishReason)
            let reasoning: String? = if case .string(let text) = part?.reasoning { text } else { nil }
            thought = part?.reasoningContent ?? reasoning
        }
    }

    package struct Usage: Decodable, Sendable {
        package let promptTokens: Int
        package let completionTokens: Int
        private var promptDetails: PromptDetails?
        private var completionDetails: CompletionDetails?

        package init(promptTokens: Int, completionTokens: Int) {
            (self.promptTokens, self.completionTokens) = (promptTokens, completionTokens)
        }

        private struct PromptDetails: Decodable {
            let cachedTokens: Int?
            enum CodingKeys: String, CodingKey { case cachedTokens = "cached_tokens" }
        }

        private struct CompletionDetails: Decodable {
            let reasoningTokens: Int?
            enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
        }

        package var cachedTokens: Int { promptDetails?.cachedTokens ?? 0 }
        package var reasoningTokens: Int { completionDetails?.reasoningTokens ?? 0 }

        enum CodingKeys: String, CodingKey {
            case promptTokens = "prompt_tokens"
            case completionTokens = "completion_tokens"
            case promptDetails = "prompt_tokens_details"
            case completionDetails = "completion_tokens_details"
        }
    }

    /// Empty if absent.
    package var choices: [Choice] { received ?? [] }
    package let usage: Usage?
    package let error: ReceivedError?
    private let received: [Choice]?

    private enum CodingKeys: String, CodingKey {
        case usage, error
        case received = "choices"
    }
}

/// An error of any server: some omit members, send numbers instead of strings, or only a string.
package struct ReceivedError: Decodable, Sendable {
    package let message: String?
    package let param: String?
    package let code: String?

    private enum CodingKeys: CodingKey { case message, param, code }

    package init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            (message, param, code) = (text, nil, nil)
            return
        }
        let fields = try? decoder.container(keyedBy: CodingKeys.self)
        message = try? fields?.decode(String.self, forKey: .message)
        param = try? fields?.decode(String.self, forKey: .param)
        code = try? fields?.decode(String.self, forKey: .code)
    }
}
