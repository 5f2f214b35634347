import Dialects
import LocalLLM
import Tokenizer
import Wire

extension OfferedTools {
    /// For templates that do not print tools: what a model must know to call them.
    var instructions: String {
        let definitions = definitions.map { $0.json }.joined(separator: "\n")
        return """
            You can call functions. To call one, answer with a JSON object between <tool_call> and </tool_call>:
            <tool_call>
            {"name": "function name", "arguments": {"argument name": "value"}}
            </tool_call>
            The results come back between <tool_response> and </tool_response>. These are the functions, as JSON:
            \(definitions)
            """
    }

    /// Text that the answer must begin with, so that it is a call: its markers, and the name where there is no choice.
    func forcedBeginning(_ dialect: Dialect, after prompt: String) -> String {
        guard areCallable, choice != .auto else { return "" }
        let name = declared.count == 1 ? declared[0].name : nil
        if dialect.history.showsTools { return dialect.callBeginning(name: name, after: prompt) }
        // As the instructions say.
        return dialect.closing(after: prompt) + "<tool_call>\n{\"name\": \""
            + (name.map { "\($0)\", \"arguments\":" } ?? "")
    }
}

extension [ChatMessage] {
    /// The messages for a template that knows no tools: calls and results are text.
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
                message = .user("<tool_response>\n\(message.content)\n</tool_response>")
            }
            return message
        }
    }

    /// With the name of the function in each result, which some templates print: it is the call's.
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
    /// With every text, also of keys, changed.
    func mapStrings(_ change: (String) -> String) -> TemplateValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let values): .array(values.map { $0.mapStrings(change) })
        case .object(let object):
            .object(TemplateObject(object.entries.map { (key: change($0.key), value: $0.value.mapStrings(change)) }))
        case .undefined, .none, .bool, .int, .double: self
        }
    }

    /// As JSON.
    var json: String {
        switch self {
        case .undefined, .none: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .double(let value): value.isFinite ? "\(value)" : "null"
        case .string(let text): (try? JSON.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
        case .array(let values): "[\(values.map(\.json).joined(separator: ", "))]"
        case .object(let object):
            "{\(object.entries.map { "\(TemplateValue.string($0.key).json): \($0.value.json)" }.joined(separator: ", "))}"
        }
    }
}
