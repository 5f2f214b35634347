package import JSON

/// Body of `POST /v1/responses`.
package typealias ResponseRequest = GenerationRequest<ResponseFields>

/// Fields of a responses request besides `GenerationFields`.
///
/// Field names and ranges: OpenAI API reference, "Create a model response".
package struct ResponseFields: Codable, Sendable {
    /// Absent: the server's only model.
    package var model: String?
    package var input: ResponseInput
    /// A system message for this response only; responses that continue it do not inherit it.
    package var instructions: String?
    /// Id of the stored response to continue.
    package var previousResponseID: String?
    /// Whether to store the response, so that it can be fetched and continued. Absent: yes.
    package var store: Bool?
    /// Repeated in the response.
    package var metadata: [String: String]?
    /// 0...20.
    package var topLogprobs: WholeNumber?
    package var include: [String]?
    /// Repeated in the response without effect: there are no built-in tools.
    package var maxToolCalls: WholeNumber?
    package var reasoning: ReasoningOptions?
    package var text: TextOptions?
    /// Whether the response is computed after the request was answered.
    package var background: Bool?
    /// The conversation whose items precede the input, and that gets the input and the output.
    package var conversation: ConversationReference?

    // Decoded only to refuse unsupported values.
    package var truncation: String?
    package var prompt: JSON?

    package var hasImage: Bool { input.hasImage }

    package struct ReasoningOptions: Codable, Sendable {
        /// Passed to the model's chat template, if it uses it.
        package var effort: String?
        /// Requests the reasoning as a summary too, where some clients expect it. `generate_summary` is the old name.
        package var summary: String?
        package var generateSummary: String?

        enum CodingKeys: String, CodingKey {
            case effort, summary
            case generateSummary = "generate_summary"
        }

        /// `nil`: none.
        package var requestedSummary: String? {
            let summary = summary ?? generateSummary
            return summary == "none" ? nil : summary
        }
    }

    package struct TextOptions: Codable, Sendable {
        package var format: ResponseFormat?
        /// Repeated in the response without effect: models are not trained to obey it.
        package var verbosity: String?
    }

    enum CodingKeys: String, CodingKey {
        case model, input, instructions, store, metadata, include, reasoning, text, truncation, background
        case conversation, prompt
        case previousResponseID = "previous_response_id"
        case topLogprobs = "top_logprobs"
        case maxToolCalls = "max_tool_calls"
    }
}

/// A stored conversation, as an id or an object with it.
package struct ConversationReference: Codable, Sendable, Equatable {
    package let id: String

    private enum CodingKeys: CodingKey { case id }

    package init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: CodingKeys.self) {
            id = try object.decode(String.self, forKey: .id)
        } else {
            id = try decoder.singleValueContainer().decode(String.self)
        }
    }
}

/// A user message, or a list of messages and of output items of earlier responses.
package enum ResponseInput: Codable, Sendable {
    case text(String)
    case items([Item])

    package struct Item: Codable, Sendable {
        /// Absent: `message`.
        package var type: String?
        package var role: String?
        package var content: MessageContent?
        // Fields of calls and their results:
        package var callID: String?
        package var name: String?
        /// The namespace of the called tool.
        package var namespace: String?
        /// JSON arguments of a `function_call`.
        package var arguments: String?
        /// Text input of a `custom_tool_call`.
        package var input: String?
        package var output: MessageContent?
        /// Summary of `reasoning`; some clients send it without the reasoning itself.
        package var summary: MessageContent?
        /// The item, if it belongs to a tool that OpenAI's API runs itself; the other fields are then absent.
        package var hosted: HostedItem?

        enum CodingKeys: String, CodingKey {
            case type, role, content, name, namespace, arguments, input, output, summary
            case callID = "call_id"
        }

        init(role: String, content: MessageContent) {
            (type, self.role, self.content) = ("message", role, content)
        }

        package init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            type = try fields.decodeIfPresent(String.self, forKey: .type)
            if let type, HostedItem.required[type] != nil {
                hosted = try HostedItem(from: decoder)
                return
            }
            role = try fields.decodeIfPresent(String.self, forKey: .role)
            content = try fields.decodeIfPresent(MessageContent.self, forKey: .content)
            callID = try fields.decodeIfPresent(String.self, forKey: .callID)
            name = try fields.decodeIfPresent(String.self, forKey: .name)
            namespace = try fields.decodeIfPresent(String.self, forKey: .namespace)
            arguments = try fields.decodeIfPresent(String.self, forKey: .arguments)
            input = try fields.decodeIfPresent(String.self, forKey: .input)
            output = try fields.decodeIfPresent(MessageContent.self, forKey: .output)
            summary = try fields.decodeIfPresent(MessageContent.self, forKey: .summary)
        }

        package func encode(to encoder: any Encoder) throws {
            if let hosted { return try hosted.encode(to: encoder) }
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encodeIfPresent(type, forKey: .type)
            try fields.encodeIfPresent(role, forKey: .role)
            try fields.encodeIfPresent(content, forKey: .content)
            try fields.encodeIfPresent(callID, forKey: .callID)
            try fields.encodeIfPresent(name, forKey: .name)
            try fields.encodeIfPresent(namespace, forKey: .namespace)
            try fields.encodeIfPresent(arguments, forKey: .arguments)
            try fields.encodeIfPresent(input, forKey: .input)
            try fields.encodeIfPresent(output, forKey: .output)
            try fields.encodeIfPresent(summary, forKey: .summary)
        }
    }

    package init(from decoder: any Decoder) throws {
        let isList = (try? decoder.unkeyedContainer()) != nil
        let container = try decoder.singleValueContainer()
        self = isList ? .items(try container.decode([Item].self)) : .text(try container.decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .items(let items): try container.encode(items)
        }
    }

    /// The messages of validated input. Reasoning belongs to the next assistant message, calls to the previous one.
    package var messages: [RequestMessage] {
        switch self {
        case .text(let text): return [RequestMessage(role: "user", content: .text(text))]
        case .items(let items):
            var (messages, thoughts): ([RequestMessage], String?) = ([], nil)
            func add(_ message: RequestMessage) {
                var message = message
                if message.role == "assistant", let calls = message.toolCalls, thoughts == nil,
                    messages.last?.role == "assistant"
                {
                    messages[messages.count - 1].toolCalls = (messages[messages.count - 1].toolCalls ?? []) + calls
                } else {
                    message.reasoningContent = thoughts
                    messages.append(message)
                }
                thoughts = nil
            }
            for item in items {
                if item.type == "reasoning" {
                    let parts = [thoughts, item.thoughts].compactMap(\.self)
                    thoughts = parts.isEmpty ? nil : parts.joined(separator: "\n\n")
                } else if let hosted = item.hosted {
                    hosted.messages.forEach(add)
                } else {
                    add(item.message)
                }
            }
            return messages
        }
    }
}

extension ResponseInput {
    /// The items; a text is a message of the user.
    package var items: [Item] {
        switch self {
        case .text(let text): [Item(role: "user", content: .text(text))]
        case .items(let items): items
        }
    }

    /// Whether any item has an image.
    package var hasImage: Bool {
        guard case .items(let items) = self else { return false }
        return items.contains { $0.content?.hasImage == true || $0.output?.hasImage == true }
    }

    /// Types of the items that the model does not see, in order.
    package var hiddenTypes: [String] {
        guard case .items(let items) = self else { return [] }
        return items.compactMap { item in
            item.hosted.map { $0.messages.isEmpty } == true ? item.type : nil
        }
    }
}

extension ResponseInput.Item {
    /// The text of reasoning, else its summary.
    fileprivate var thoughts: String? {
        for text in [content?.text, summary?.text] { if let text, !text.isEmpty { return text } }
        return nil
    }

    fileprivate var message: RequestMessage {
        let known = name.map { ToolCall.name($0, in: namespace) }
        switch type {
        case "function_call":
            return call(ToolCall(id: callID, type: "function", function: .init(name: known, arguments: arguments)))
        case "custom_tool_call":
            return call(ToolCall(id: callID, type: "custom", custom: .init(name: known, input: input)))
        case "function_call_output", "custom_tool_call_output":
            var result = RequestMessage(role: "tool", content: output)
            result.toolCallID = callID
            return result
        default: return RequestMessage(role: role ?? "", content: content)
        }
    }

    private func call(_ call: ToolCall) -> RequestMessage {
        var message = RequestMessage(role: "assistant", content: nil)
        message.toolCalls = [call]
        return message
    }
}
