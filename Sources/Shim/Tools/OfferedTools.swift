import Dialects
import Foundation
import JSON
import LocalLLM
import Template
import Wire

/// The tools of a request, and how its answer names them.
struct OfferedTools: Sendable {
    typealias Choice = ToolOffer.Choice

    /// Field of the answer that holds the calls.
    enum Form: Sendable, Equatable { case toolCalls, functionCall }

    /// Definitions in the chat endpoint's form, on which models are trained.
    private var definitions: [TemplateValue] = []
    /// The tools that may be called.
    private var declared: [DeclaredTool] = []
    /// Request field that holds each tool's schema, by tool name, for errors.
    private var fields: [String: String] = [:]
    /// The names of all definitions.
    private var names: Set<String> = []
    /// Tools that take text instead of JSON.
    private var custom: Set<String> = []
    /// Tools whose schemas are enforced exactly or refused.
    private var strict: Set<String> = []
    private var choice = Choice.auto
    private var allowsParallel = true
    var form = Form.toolCalls
    /// Namespaces and own names of the tools that have a namespace, by the name that the model sees.
    private(set) var namespaced: [String: NamespacedName] = [:]
    /// Types of the request's hosted tools, which are not offered to the model, each once.
    private(set) var leftOut: [String] = []

    /// A tool's name in a namespace of the request.
    struct NamespacedName: Sendable, Equatable {
        var namespace: String
        var name: String
    }

    /// The tools as a conversation takes them.
    var offer: ToolOffer {
        var offer = ToolOffer()
        offer.definitions = definitions
        offer.declared = declared
        offer.callable = callable
        offer.fields = fields
        offer.custom = custom
        offer.choice = choice
        offer.allowsSeveralCalls = allowsParallel
        return offer
    }

    /// The tools that may be called, with the schemas of their arguments.
    private var callable: [CallableTool] {
        let names = Set(declared.map(\.name))
        return definitions.compactMap { definition in
            guard case .object(let tool) = definition, case .object(let function)? = tool["function"],
                case .string(let name)? = function["name"], names.contains(name)
            else { return nil }
            return CallableTool(
                name: name, parameters: function["parameters"] ?? .object([:]), input: inputs[name],
                isStrict: strict.contains(name))
        }
    }

    /// Regular expressions and grammars for the input of custom tools, by name.
    private var inputs: [String: CallableTool.InputFormat] = [:]

    private init() {}

    /// The tools of a validated chat.
    init(_ body: ChatCompletionRequest) throws(APIError) {
        self.init()
        allowsParallel = body.parallelToolCalls ?? true
        if let functions = body.functions, !functions.isEmpty {
            guard body.tools?.isEmpty ?? true else {
                throw .invalid("functions", "cannot be combined with tools")
            }
            form = .functionCall
            allowsParallel = false
            for (index, function) in try Self.list(functions, "functions").enumerated() {
                try add(function, "functions[\(index)]")
            }
            try choose(body.functionCall.map { TemplateValue($0) ?? .undefined }, "function_call")
            return
        }
        try add(functions: body.tools)
        try choose(body.toolChoice.map { TemplateValue($0) ?? .undefined }, "tool_choice")
    }

    /// Tools in the chat endpoint's form, which the model may call.
    init(functions tools: JSON?) throws(APIError) {
        self.init()
        try add(functions: tools)
    }

    private mutating func add(functions tools: JSON?) throws(APIError) {
        guard let tools else { return }
        for (index, tool) in try Self.list(tools, "tools").enumerated() {
            let path = "tools[\(index)]"
            let (type, members) = try Self.tool(tool, path)
            guard case .object(let inner)? = members[type] else { throw .init(missing: "\(path).\(type)") }
            try add(.object(inner), "\(path).\(type)", isCustom: type == "custom")
        }
    }

    /// The tools of a responses request, whose fields are nested one level less.
    ///
    /// - Parameter refusesHosted: Whether tools that OpenAI's API runs itself are an error. Else they are left out.
    init(_ body: ResponseRequest, refusesHosted: Bool = false) throws(APIError) {
        self.init()
        allowsParallel = body.parallelToolCalls ?? true
        if let tools = body.tools {
            for (index, tool) in try Self.list(tools, "tools").enumerated() {
                let path = "tools[\(index)]"
                if case .object(let members) = tool, case .string(let type)? = members["type"] {
                    if Self.hostedTypes.contains(type), !refusesHosted {
                        if !leftOut.contains(type) { leftOut.append(type) }
                        continue
                    }
                    if type == "namespace" {
                        try add(namespace: members, path)
                        continue
                    }
                }
                let (type, members) = try Self.tool(tool, path)
                try add(.object(members), path, isCustom: type == "custom")
            }
        }
        try choose(body.toolChoice.map { TemplateValue($0) ?? .undefined }, "tool_choice")
    }

    /// Types of tools that OpenAI's API runs itself, or that only its models are trained for.
    private static let hostedTypes: Set<String> = [
        "file_search", "computer", "computer_use_preview", "web_search", "web_search_2025_08_26",
        "web_search_preview", "web_search_preview_2025_03_11", "mcp", "code_interpreter",
        "programmatic_tool_calling", "image_generation", "local_shell", "shell", "tool_search", "apply_patch",
    ]

    /// Adds the tools of a namespace. The client runs them; the name that the model sees begins with the namespace.
    private mutating func add(namespace members: TemplateObject, _ path: String) throws(APIError) {
        guard case .string(let namespace)? = members["name"] else { throw .init(missing: "\(path).name") }
        try Self.check(name: namespace, path)
        guard case .array(let tools)? = members["tools"] else { throw .init(missing: "\(path).tools") }
        for (index, tool) in tools.enumerated() {
            let path = "\(path).tools[\(index)]"
            let (type, members) = try Self.tool(tool, path)
            try add(.object(members), path, isCustom: type == "custom", in: namespace)
        }
    }

    /// Tools converted from another API's form, already checked.
    ///
    /// - Parameter tools: `parameters` is a JSON Schema, `path` the tool's field in the request.
    init(
        _ tools: [(path: String, name: String, description: String?, parameters: TemplateValue, isStrict: Bool)],
        _ choice: Choice, allowsParallel: Bool
    ) throws(APIError) {
        self.init()
        self.allowsParallel = allowsParallel
        for tool in tools {
            var function: TemplateObject = ["name": .string(tool.name)]
            function["description"] = tool.description.map { .string($0) }
            function["parameters"] = tool.parameters
            function["strict"] = .bool(tool.isStrict)
            try add(.object(function), tool.path)
            fields[tool.name] = "\(tool.path).input_schema"
        }
        try set(choice, "tool_choice")
    }

    // MARK: Definitions

    private static func list(_ tools: JSON, _ field: String) throws(APIError) -> [TemplateValue] {
        guard let value = TemplateValue(tools) else {
            throw .invalid(field, "nests deeper than \(TemplateValue.maximumJSONDepth) levels")
        }
        switch value {
        case .array(let tools): return tools
        case .none: return []
        default: throw .invalid(field, "expected an array")
        }
    }

    private static func tool(_ tool: TemplateValue, _ path: String) throws(APIError) -> (String, TemplateObject) {
        guard case .object(let members) = tool else { throw .invalid(path, "expected an object") }
        guard case .string(let type)? = members["type"] else { throw .init(missing: "\(path).type") }
        guard type == "function" || type == "custom" else {
            throw .invalid("\(path).type", "tools of type \"\(type)\" are not supported by this server")
        }
        return (type, members)
    }

    private static func check(name: String, _ path: String) throws(APIError) {
        guard (1...128).contains(name.utf8.count), !name.contains(where: \.isWhitespace) else {
            throw .invalid("\(path).name", "expected 1 to 128 bytes without white space")
        }
    }

    private mutating func add(
        _ tool: TemplateValue, _ path: String, isCustom: Bool = false, in namespace: String? = nil
    ) throws(APIError) {
        guard case .object(let members) = tool else { throw .invalid(path, "expected an object") }
        guard case .string(let own)? = members["name"] else { throw .init(missing: "\(path).name") }
        try Self.check(name: own, path)
        let name = ToolCall.name(own, in: namespace)
        if let namespace { namespaced[name] = NamespacedName(namespace: namespace, name: own) }
        guard names.insert(name).inserted else {
            throw .invalid("\(path).name", "duplicate tool name \"\(name)\"")
        }
        var function: TemplateObject = ["name": .string(name)]
        if let description = members["description"], description != .none { function["description"] = description }
        if isCustom {
            custom.insert(name)
            fields[name] = "\(path).format"
            function["parameters"] = Self.textParameters
            if case .object(let format)? = members["format"], format["type"] != .string("text") {
                inputs[name] = try Self.input(format, "\(path).format")
            }
        } else {
            fields[name] = "\(path).parameters"
            switch members["strict"] ?? .none {
            case .none, .bool(false): break
            case .bool(true): strict.insert(name)
            default: throw .invalid("\(path).strict", "expected a boolean")
            }
            switch members["parameters"] ?? .none {
            case .none: function["parameters"] = .object(["type": .string("object"), "properties": .object([:])])
            case .object(let schema): function["parameters"] = .object(schema)
            default: throw .invalid("\(path).parameters", "expected an object")
            }
        }
        declared.append(DeclaredTool(name: name, parameters: ArgumentSchema(function["parameters"] ?? .undefined)))
        definitions.append(.object(["type": .string("function"), "function": .object(function)]))
    }

    /// Parameters of a text tool, which the model sees as a function with the single argument `input`.
    private static let textParameters = TemplateValue.object([
        "type": .string("object"), "properties": .object(["input": .object(["type": .string("string")])]),
        "required": .array([.string("input")]),
    ])

    /// The regular expression or grammar for a custom tool's input.
    private static func input(
        _ format: TemplateObject, _ path: String
    ) throws(APIError) -> CallableTool.InputFormat {
        guard format["type"] == .string("grammar") else { throw .invalid("\(path).type", "expected text or grammar") }
        // The chat endpoint nests it one level deeper.
        let grammar: TemplateObject = if case .object(let inner)? = format["grammar"] { inner } else { format }
        guard case .string(let definition)? = grammar["definition"] else { throw .init(missing: "\(path).definition") }
        switch grammar["syntax"] {
        case .string("regex")?: return .init("input", .regex, definition)
        case .string("lark")?: return .init("input", .lark, definition)
        default: throw .invalid("\(path).syntax", "expected regex or lark")
        }
    }

    // MARK: Choice

    private mutating func choose(_ value: TemplateValue?, _ field: String) throws(APIError) {
        switch value {
        case nil, TemplateValue.none?, .undefined?: break
        case .string("none")?: choice = .none
        case .string("auto")?: break
        case .string("required")? where form == .toolCalls: try set(.required, field)
        case .object(let members)?: try choose(members, field)
        default:
            throw .invalid(field, "expected \"none\", \"auto\", \"required\" or an object that names a function")
        }
    }

    private mutating func choose(_ members: TemplateObject, _ field: String) throws(APIError) {
        if members["type"] == .string("allowed_tools") {
            let inner: TemplateObject =
                if case .object(let inner)? = members["allowed_tools"] { inner } else { members }
            guard case .array(let tools)? = inner["tools"] else { throw .init(missing: "\(field).allowed_tools.tools") }
            var names: Set<String> = []
            for tool in tools {
                guard case .object(let tool) = tool else {
                    throw .invalid("\(field).allowed_tools.tools", "expected objects that name functions")
                }
                if case .string(let type)? = tool["type"], leftOut.contains(type) { continue }
                guard let name = Self.name(in: tool) else {
                    throw .invalid("\(field).allowed_tools.tools", "expected objects that name functions")
                }
                try check(name, field)
                names.insert(name)
            }
            declared.removeAll { !names.contains($0.name) }
            switch inner["mode"] ?? .string("auto") {
            case .string("auto"): break
            case .string("required"): try set(.required, field)
            default: throw .invalid("\(field).allowed_tools.mode", "expected \"auto\" or \"required\"")
            }
            return
        }
        guard let name = Self.name(in: members) else {
            if case .string(let type)? = members["type"], leftOut.contains(type) {
                throw .invalid(field, "this server does not run tools of type \"\(type)\"")
            }
            throw .invalid(field, "expected a function's name")
        }
        try set(.named(name), field)
    }

    private static func name(in members: TemplateObject) -> String? {
        for key in ["function", "custom"] {
            if case .object(let inner)? = members[key], case .string(let name)? = inner["name"] { return name }
        }
        guard case .string(let name)? = members["name"] else { return nil }
        if case .string(let namespace)? = members["namespace"] { return ToolCall.name(name, in: namespace) }
        return name
    }

    private func check(_ name: String, _ field: String) throws(APIError) {
        guard names.contains(name) else {
            throw .invalid(field, "no such tool: \"\(name)\"")
        }
    }

    private mutating func set(_ choice: Choice, _ field: String) throws(APIError) {
        guard !declared.isEmpty || choice == .auto || choice == .none else {
            throw .invalid(field, "needs tools")
        }
        if case .named(let name) = choice {
            try check(name, field)
            declared.removeAll { $0.name != name }
        }
        self.choice = choice
    }
}
