public import Template

/// A model's notation of answers beyond plain text: markers of reasoning, tool calls and content.
///
/// Derived from the chat template by ``Dialect/init(template:variables:)``. All markers are texts as the
/// template writes them, control tokens included.
public struct Dialect: Sendable, Equatable {
    /// Markers of reasoning.
    public struct Thoughts: Sendable, Equatable {
        /// Empty, like `close`, if the model does not mark reasoning.
        public var open = "<think>"
        public var close = "</think>"
        /// White space that the template writes after `open`, before `close`, and after `close`.
        public var afterOpen = "\n"
        public var beforeClose = "\n"
        public var afterClose = "\n\n"

        public init() {}

        /// Whether `open` looks like a control token. Text that a model quotes may contain `<think>`, but never
        /// `<|channel>`.
        var isControl: Bool { open.contains("|") || open.contains("｜") }
    }

    /// How earlier turns of a conversation are passed to the template.
    public struct History: Sendable, Equatable {
        /// Whether arguments of earlier calls are passed as JSON text instead of as objects.
        public var argumentsAsText = false
        /// Whether the template prints tools, and below whether it prints calls.
        public var showsTools = false
        public var showsCalls = false
        /// Whether call identifiers must be nine letters and digits.
        public var needsShortIDs = false
        /// Key of a message's reasoning in the template; `nil` if the template never prints it.
        public var reasoningKey: String?
    }

    public var thoughts = Thoughts()
    /// Markers around content in some templates; both may be empty.
    public var contentOpen = ""
    public var contentClose = ""
    /// Markers with which the template ends the assistant's turn.
    public var turnEnd: [String] = []
    /// Notations of tool calls; the one in the template comes first.
    public var calls: [CallSyntax] = []
    public var history = History()
    /// Whether answers use Harmony's channels (gpt-oss), which have a parser of their own.
    public var isHarmony = false

    public init() {}

    /// All marker texts of an answer.
    public var markers: [String] {
        var texts = [thoughts.open, thoughts.close, contentOpen, contentClose] + turnEnd
        if isHarmony { texts.append("<|start|><|channel|><|message|><|constrain|><|end|><|return|><|call|>") }
        for call in calls {
            for pieces in [call.open, call.each, call.body.header, call.eachClose, call.separator, call.close] {
                texts += pieces.compactMap(\.text)
            }
            texts += call.body.texts
        }
        return texts
    }
}

/// A notation of tool calls.
public struct CallSyntax: Sendable, Equatable {
    /// A part of the text around calls. White space between parts is optional.
    public enum Element: Sendable, Equatable, Hashable {
        case text(String)
        /// The function's name.
        case name
        /// The call's identifier.
        case id
        /// Digits: the index of the call.
        case number
    }

    public enum Body: Sendable, Equatable {
        /// A JSON object with the name and the arguments, or an array of them.
        case object(ObjectKeys)
        /// A header with the name, then the arguments.
        case header([Element], Arguments)
        /// `[name(key=value, …), …]`
        case pythonic
    }

    public enum Arguments: Sendable, Equatable {
        case json
        /// An object with bare keys, and strings between this delimiter: `{key:<|"|>text<|"|>}`.
        case quoted(String)
        case tagged(ArgumentTags)
    }

    /// Before the first call; below: before each, after each, between two, after the last.
    public var open: [Element] = []
    public var each: [Element] = []
    public var eachClose: [Element] = []
    public var separator: [Element] = []
    public var close: [Element] = []
    public var body: Body
    /// Whether a message can contain more than one call.
    public var allowsSeveral = true
    /// The exact text before the name of the first call, and below between the name and the arguments.
    public var beforeName = ""
    public var afterName = ""
}

/// Keys of a call's JSON object.
public struct ObjectKeys: Sendable, Equatable {
    public var name = "name"
    public var arguments = "arguments"
    public var id: String?
    /// Key of a nested object with name and arguments, like `function` in OpenAI's format.
    public var wrapper: String?
    /// Whether the object has a single key, the function's name, with the arguments as its value.
    public var nameIsKey = false

    public init() {}
}

/// Arguments written as one tag each: `keyOpen KEY afterKey VALUE valueClose`.
public struct ArgumentTags: Sendable, Equatable {
    public var keyOpen = ""
    /// Between the key and a string; values of other types may have their own forms.
    public var afterKey = ""
    /// Between the key and JSON values, if it differs from `afterKey`.
    public var afterKeyOfJSON: [String] = []
    /// White space that is part of the tags, before and after the value.
    public var beforeValue = ""
    public var afterValue = ""
    public var valueClose = ""
    /// Whether a value may be enclosed in `<![CDATA[ … ]]>`.
    public var mayBeCDATA = false
    /// Text after the key in the closing tag, for tags named after the argument: `<KEY>value</KEY>`.
    public var afterClosingKey: String?
}

extension DeclaredTool {
    /// Parses a request's tools: `[{"type": "function", "function": {"name": …, "parameters": …}}]`.
    public static func list(_ tools: TemplateValue?) -> [DeclaredTool] {
        guard case .array(let tools) = tools else { return [] }
        return tools.compactMap { tool in
            guard case .object(let tool) = tool, case .object(let function) = tool["function"],
                case .string(let name) = function["name"]
            else { return nil }
            return DeclaredTool(name: name, parameters: ArgumentSchema(function["parameters"] ?? .undefined))
        }
    }
}

/// A function that the model may call.
public struct DeclaredTool: Sendable {
    public var name: String
    /// JSON Schema of the arguments.
    public var parameters: ArgumentSchema

    public init(name: String, parameters: ArgumentSchema = ArgumentSchema()) {
        self.name = name
        self.parameters = parameters
    }
}
