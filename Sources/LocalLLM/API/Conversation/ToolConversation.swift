package import Dialects
package import Template

extension LocalModel {
    /// A conversation with tools in the template's form or, if the template has no tools, as text.
    ///
    /// - Parameter tools: In the form of the chat endpoint.
    package static func preparing(
        _ messages: [ChatMessage], tools: [TemplateValue], for dialect: Dialect, quote: (String) -> String
    ) -> (messages: [ChatMessage], variables: TemplateObject) {
        var (messages, variables) = (messages, TemplateObject())
        if !tools.isEmpty {
            if dialect.history.showsTools {
                variables["tools"] = .array(tools.map { $0.mapStrings(quote) })
            } else {
                messages.insert(.system(instructions(for: tools)), at: 0)
            }
        }
        return (dialect.history.showsCalls ? messages.withNamedResults : messages.withoutTools, variables)
    }

    /// Instructions for calling tools, for templates that do not print tools.
    private static func instructions(for tools: [TemplateValue]) -> String {
        """
        You can call functions. To call one, answer with a JSON object between <tool_call> and </tool_call>:
        <tool_call>
        {"name": "function name", "arguments": {"argument name": "value"}}
        </tool_call>
        The results come back between <tool_response> and </tool_response>. These are the functions, as JSON:
        \(tools.map { $0.json }.joined(separator: "\n"))
        """
    }
}

extension [ChatMessage] {
    /// The messages for a template without tools: calls and results become text.
    var withoutTools: [ChatMessage] {
        map { message in
            var message = message
            if let calls = message.toolCalls, !calls.isEmpty {
                let texts = calls.map { call in
                    let name = TemplateValue.string(call.name).json
                    return "<tool_call>\n{\"name\": \(name), \"arguments\": \(call.arguments)}\n</tool_call>"
                }
                message.content = ([message.content].filter { !$0.isEmpty } + texts).joined(separator: "\n")
                message.toolCalls = nil
            }
            if message.role == .tool {
                let images = message.images
                message = .user("<tool_response>\n\(message.content)\n</tool_response>")
                message.images = images
            }
            return message
        }
    }

    /// Adds to each result the function name of its call, which some templates print.
    var withNamedResults: [ChatMessage] {
        var names: [String: String] = [:]
        return map { message in
            for call in message.toolCalls ?? [] { names[call.id] = call.name }
            var message = message
            if message.role == .tool, message.name == nil { message.name = message.toolCallID.flatMap { names[$0] } }
            return message
        }
    }
}

extension TemplateValue {
    /// Applies `change` to all strings, keys included.
    package func mapStrings(_ change: (String) -> String) -> TemplateValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let values): .array(values.map { $0.mapStrings(change) })
        case .object(let object):
            .object(TemplateObject(object.entries.map { (key: change($0.key), value: $0.value.mapStrings(change)) }))
        case .undefined, .none, .bool, .int, .double: self
        }
    }
}
