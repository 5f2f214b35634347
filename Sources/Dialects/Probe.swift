import Template

/// Renders sample conversations to find the text that a template writes around them.
struct Probe {
    static let name1 = "fnalpha"
    static let name2 = "fnbravo"
    static let key1 = "keyalpha"
    static let key2 = "keybravo"
    static let value1 = "valalpha"
    static let value2 = "valbravo"
    // Some templates require identifiers of nine letters and digits.
    static let id1 = "idalpha01"
    static let id2 = "idbravo02"
    static let content = "CONTENTTEXT"
    static let thoughts = "THOUGHTTEXT"

    struct Call {
        var name: String
        var id: String
        var arguments: TemplateObject
    }

    /// Far more than real templates need, but low enough to stop a malicious one quickly.
    private static let limits = {
        var limits = ChatTemplate.Limits()
        limits.steps = 200_000
        limits.outputBytes = 1 << 20
        return limits
    }()

    let template: ChatTemplate
    let variables: TemplateObject
    var argumentsAsText = false

    /// Renders a conversation of a user's message and, optionally, an assistant's.
    func render(_ assistant: TemplateObject?, generation: Bool = false, _ extra: TemplateObject = [:]) -> String? {
        var messages: [TemplateValue] = [.object(["role": .string("user"), "content": .string("USERTEXT")])]
        if let assistant { messages.append(.object(assistant)) }
        var variables = variables
        variables["messages"] = .array(messages)
        variables["add_generation_prompt"] = .bool(generation)
        variables["tools"] = tools
        variables["bos_token"] = variables["bos_token"] ?? .string("")
        variables["eos_token"] = variables["eos_token"] ?? .string("")
        for (key, value) in extra.entries { variables[key] = value }
        return try? template.render(variables, limits: Self.limits)
    }

    var tools: TemplateValue { .array([tool(Self.name1), tool(Self.name2)]) }

    private func tool(_ name: String) -> TemplateValue {
        let property: TemplateValue = .object(["type": .string("string"), "description": .string("")])
        return .object([
            "type": .string("function"),
            "function": .object([
                "name": .string(name), "description": .string("A function."),
                "parameters": .object([
                    "type": .string("object"),
                    "properties": .object([Self.key1: property, Self.key2: property]),
                    "required": .array([]),
                ]),
            ]),
        ])
    }

    func message(content: String = "", thoughts: (key: String, text: String)? = nil, calls: [Call] = [])
        -> TemplateObject
    {
        var message: TemplateObject = ["role": .string("assistant"), "content": .string(content)]
        if let thoughts { message[thoughts.key] = .string(thoughts.text) }
        guard !calls.isEmpty else { return message }
        message["tool_calls"] = .array(
            calls.map { call in
                let arguments: TemplateValue =
                    argumentsAsText ? .string(Self.json(call.arguments)) : .object(call.arguments)
                return .object([
                    "id": .string(call.id), "type": .string("function"),
                    "function": .object(["name": .string(call.name), "arguments": arguments]),
                ])
            })
        return message
    }

    /// Arguments of the probes as JSON; they are short strings and numbers.
    private static func json(_ object: TemplateObject) -> String {
        let members = object.entries.map { key, value in
            if case .string(let text) = value { return "\"\(key)\": \"\(text)\"" }
            return "\"\(key)\": null"
        }
        return "{\(members.joined(separator: ", "))}"
    }

    static var call1: Call { Call(name: name1, id: id1, arguments: [key1: .string(value1)]) }
    static var call2: Call { Call(name: name2, id: id2, arguments: [key2: .string(value2)]) }
}
