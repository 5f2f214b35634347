public import Template

/// How a model writes an answer that is more than plain text: its thoughts, its tool calls, what it puts around content.
///
/// Read off the model's chat template by ``Dialect/init(template:variables:source:)``. All markers are texts as the template writes them,
/// control tokens included.
public struct Dialect: Sendable, Equatable {
    /// What encloses thoughts.
    public struct Thoughts: Sendable, Equatable {
        /// Empty, as is `close`, for models that do not mark thoughts.
        public var open = "<think>"
        public var close = "</think>"
        /// White space that the template writes between the markers and the thoughts, and after `close`.
        public var afterOpen = "\n"
        public var beforeClose = "\n"
        public var afterClose = "\n\n"

        public init() {}

        /// Whether `open` is a control token in its looks. Text that a model quotes may contain `<think>`, but never `<|channel>`.
        var isControl: Bool { open.contains("|") || open.contains("｜") }
    }

    /// How a conversation's earlier turns are handed to the template.
    public struct History: Sendable, Equatable {
        /// Whether the arguments of earlier calls are given as JSON text rather than as an object.
        public var argumentsAsText = false
        /// Whether the template prints tools, and calls.
        public var showsTools = false
        public var showsCalls = false
        /// Whether it takes identifiers of nine letters and digits only.
        public var needsShortIDs = false
        /// Member of a message under which the template looks for its thoughts; `nil` if it never prints them.
        public var reasoningKey: String?
    }

    public var thoughts = Thoughts()
    /// Written around content by some templates; both may be empty.
    public var contentOpen = ""
    public var contentClose = ""
    /// What the template writes where the assistant's turn ends, marker by marker.
    public var turnEnd: [String] = []
    /// Ways to write calls, the one that the template shows first.
    public var calls: [CallSyntax] = []
    public var history = History()
    /// Whether answers come in Harmony's channels (gpt-oss), which have a reader of their own.
    public var isHarmony = false

    public init() {}

    /// Every text that means something in an answer.
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

/// One way to write tool calls.
public struct CallSyntax: Sendable, Equatable {
    /// A part of what is written around calls. White space between parts may be there or not.
    public enum Piece: Sendable, Equatable, Hashable {
        case text(String)
        /// The function's name.
        case name
        /// The call's identifier.
        case id
        /// Digits: the number of the call.
        case number
    }

    public enum Body: Sendable, Equatable {
        /// A JSON object with the name and the arguments, or an array of them.
        case object(ObjectKeys)
        /// A header with the name, then the arguments.
        case header([Piece], Arguments)
        /// `[name(key=value, …), …]`
        case pythonic
    }

    public enum Arguments: Sendable, Equatable {
        case json
        /// An object whose keys are bare and whose strings are between this text: `{key:<|"|>text<|"|>}`.
        case quoted(String)
        case tagged(ArgumentTags)
    }

    /// Written once, before the first call; before each; after each; between two; after the last.
    public var open: [Piece] = []
    public var each: [Piece] = []
    public var eachClose: [Piece] = []
    public var separator: [Piece] = []
    public var close: [Piece] = []
    public var body: Body
    /// Whether the template can write more than one call in a message.
    public var allowsSeveral = true
    /// What the template writes before the name of the first call, and between the name and the arguments; both as they are.
    public var beforeName = ""
    public var afterName = ""
}

/// Members of the JSON object that is a call.
public struct ObjectKeys: Sendable, Equatable {
    public var name = "name"
    public var arguments = "arguments"
    public var id: String?
    /// Member whose value holds the two, as `function` does in OpenAI's own form.
    public var wrapper: String?
    /// Whether the object has one member, the function's name, with the arguments.
    public var nameIsKey = false

    public init() {}
}

/// How arguments are written as a tag each: `keyOpen KEY afterKey VALUE valueClose`.
public struct ArgumentTags: Sendable, Equatable {
    public var keyOpen = ""
    /// Between the key and a string; values of other types may have forms of their own.
    public var afterKey = ""
    /// Between the key and values that are JSON, where that differs from `afterKey`.
    public var afterKeyOfJSON: [String] = []
    /// White space that belongs to the tags, not to the value.
    public var beforeValue = ""
    public var afterValue = ""
    public var valueClose = ""
    /// Whether a value may stand in `<![CDATA[ … ]]>`.
    public var mayBeCDATA = false
    /// What follows the key in the closing tag, for tags named after the argument: `<KEY>value</KEY>`.
    public var afterClosingKey: String?
}

extension DeclaredTool {
    /// Reads a request's tools: `[{"type": "function", "function": {"name": …, "parameters": …}}]`.
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
