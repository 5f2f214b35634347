/// Body of `POST /v1/responses`.
public typealias ResponseRequest = GenerationRequest<ResponseFields>

/// What a request for a response has besides `GenerationFields`.
///
/// Field names and ranges: OpenAI API reference, "Create a model response".
public struct ResponseFields: Codable, Sendable {
    /// Absent: the only model of the server.
    public var model: String?
    public var input: ResponseInput
    /// A system message for this response alone: those that refer to it later do not inherit it.
    public var instructions: String?
    /// Most tokens to generate, reasoning included.
    public var maxOutputTokens: WholeNumber?
    /// A stored response whose conversation this one goes on with.
    public var previousResponseID: String?
    /// Whether the response can be asked for, and referred to, later. Absent: yes.
    public var store: Bool?
    /// Given back as it is.
    public var metadata: [String: String]?
    /// 0...20.
    public var topLogprobs: WholeNumber?
    public var include: [String]?
    /// Given back as it is: there are no built-in tools here to call.
    public var maxToolCalls: WholeNumber?
    public var reasoning: ReasoningOptions?
    public var text: TextOptions?

    // Looked at only to refuse what is not served, rather than to answer as if it had not been asked for.
    public var truncation: String?
    public var background: Bool?
    public var conversation: JSONValue?
    public var prompt: JSONValue?

    public var hasPicture: Bool {
        guard case .items(let items) = input else { return false }
        return items.contains { $0.content?.hasPicture == true }
    }

    public struct ReasoningOptions: Codable, Sendable {
        /// Goes to the model's chat template, for those that look at it.
        public var effort: String?
    }

    public struct TextOptions: Codable, Sendable {
        public var format: JSONValue?
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

/// A user's message, or a list of messages and of output that an earlier response gave.
public enum ResponseInput: Codable, Sendable {
    case text(String)
    case items([Item])

    public struct Item: Codable, Sendable {
        /// Absent: `message`.
        public var type: String?
        public var role: String?
        public var content: MessageContent?
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

    /// The messages of validated input. Thoughts belong to the assistant's message after them.
    public var messages: [Message] {
        switch self {
        case .text(let text): return [Message(role: "user", content: .text(text))]
        case .items(let items):
            var (messages, thoughts): ([Message], String?) = ([], nil)
            for item in items {
                if item.type == "reasoning" {
                    thoughts = item.content?.text
                } else {
                    messages.append(
                        Message(role: item.role ?? "", content: item.content, reasoningContent: thoughts))
                    thoughts = nil
                }
            }
            return messages
        }
    }
}
