/// Body of `POST /v1/responses`.
public typealias ResponseRequest = GenerationRequest<ResponseFields>

/// Fields of a responses request besides `GenerationFields`.
///
/// Field names and ranges: OpenAI API reference, "Create a model response".
public struct ResponseFields: Codable, Sendable {
    /// Absent: the server's only model.
    public var model: String?
    public var input: ResponseInput
    /// A system message for this response only; responses that continue it do not inherit it.
    public var instructions: String?
    /// Maximum tokens to generate, including reasoning.
    public var maxOutputTokens: WholeNumber?
    /// Id of the stored response to continue.
    public var previousResponseID: String?
    /// Whether to store the response, so that it can be fetched and continued. Absent: yes.
    public var store: Bool?
    /// Repeated in the response.
    public var metadata: [String: String]?
    /// 0...20.
    public var topLogprobs: WholeNumber?
    public var include: [String]?
    /// Repeated in the response without effect: there are no built-in tools.
    public var maxToolCalls: WholeNumber?
    public var reasoning: ReasoningOptions?
    public var text: TextOptions?

    // Decoded only to refuse unsupported values.
    public var truncation: String?
    public var background: Bool?
    public var conversation: JSONValue?
    public var prompt: JSONValue?

    /// Whether any item has an image.
    public var hasImage: Bool {
        guard case .items(let items) = input else { return false }
        return items.contains { $0.content?.hasImage == true }
    }

    public struct ReasoningOptions: Codable, Sendable {
        /// Passed to the model's chat template, if it uses it.
        public var effort: String?
        /// Requests the reasoning as a summary too, where some clients expect it. `generate_summary` is the old name.
        public var summary: String?
        public var generateSummary: String?

        enum CodingKeys: String, CodingKey {
            case effort, summary
            case generateSummary = "generate_summary"
        }

        public var requestedSummary: String? { summary ?? generateSummary }
    }

    public struct TextOptions: Codable, Sendable {
        public var format: ResponseFormat?
        public var verbosity: String?
    }

    enum CodingKeys: String, CodingKey {
        case model, input, instructions, store, metadata, include, reasoning, text, truncation, background
        case conversation, prompt
        case maxOutputTokens = "max_output_tokens"
        case previousResponseID = "previous_response_id"
        case topLogprobs = "top_logprobs"
        case maxToolCalls = "max_tool_calls"
    }
}

/// A user message, or a list of messages and of output items of earlier responses.
public enum ResponseInput: Codable, Sendable {
    case text(String)
    case items([Item])

    public struct Item: Codable, Sendable {
        /// Absent: `message`.
        public var type: String?
        public var role: String?
        public var content: MessageContent?
        // Fields of calls and their results:
        public var callID: String?
        public var name: String?
        /// JSON arguments of a `function_call`.
        public var arguments: String?
        /// Text input of a `custom_tool_call`.
        public var input: String?
        public var output: MessageContent?

        enum CodingKeys: String, CodingKey {
            case type, role, content, name, arguments, input, output
            case callID = "call_id"
        }
    }

    public init(from decoder: any Decoder) throws {
        let isList = (try? decoder.unkeyedContainer()) != nil
        let container = try decoder.singleValueContainer()
        self = isList ? .items(try container.decode([Item].self)) : .text(try container.decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .items(let items): try container.encode(items)
        }
    }

    /// The messages of validated input. Reasoning belongs to the next assistant message, calls to the previous one.
    public var messages: [RequestMessage] {
        switch self {
        case .text(let text): return [RequestMessage(role: "user", content: .text(text))]
        case .items(let items):
            var (messages, thoughts): ([RequestMessage], String?) = ([], nil)
            for item in items {
                if item.type == "reasoning" {
                    thoughts = item.content?.text
                } else if let call = item.call {
                    if messages.last?.role != "assistant" || thoughts != nil {
                        messages.append(RequestMessage(role: "assistant", content: nil, reasoningContent: thoughts))
                    }
                    messages[messages.count - 1].toolCalls = (messages[messages.count - 1].toolCalls ?? []) + [call]
                    thoughts = nil
                } else {
                    messages.append(item.message(thoughts))
                    thoughts = nil
                }
            }
            return messages
        }
    }
}

extension ResponseInput.Item {
    /// The item as a tool call; `nil` for other items.
    fileprivate var call: ToolCall? {
        switch type {
        case "function_call":
            ToolCall(id: callID, type: "function", function: .init(name: name, arguments: arguments))
        case "custom_tool_call": ToolCall(id: callID, type: "custom", custom: .init(name: name, input: input))
        default: nil
        }
    }

    fileprivate func message(_ thoughts: String?) -> RequestMessage {
        guard type == "function_call_output" || type == "custom_tool_call_output" else {
            return RequestMessage(role: role ?? "", content: content, reasoningContent: thoughts)
        }
        var result = RequestMessage(role: "tool", content: output)
        result.toolCallID = callID
        return result
    }
}
