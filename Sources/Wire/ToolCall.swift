/// A call of a tool, in a message, in a delta of one, and in an earlier message that a request repeats.
public struct ToolCall: Codable, Sendable, Equatable {
    public struct Function: Codable, Sendable, Equatable {
        /// Only in the first delta of a call.
        public var name: String?
        /// JSON, or in a delta a piece of it.
        public var arguments: String?

        public init(name: String? = nil, arguments: String? = nil) {
            self.name = name
            self.arguments = arguments
        }
    }

    /// A tool that takes text.
    public struct Custom: Codable, Sendable, Equatable {
        public var name: String?
        public var input: String?

        public init(name: String? = nil, input: String? = nil) {
            self.name = name
            self.input = input
        }
    }

    /// Counts the calls of a message, in deltas.
    public var index: Int?
    /// Only in the first delta, as is `type`.
    public var id: String?
    /// `function` or `custom`.
    public var type: String?
    public var function: Function?
    public var custom: Custom?

    public init(
        index: Int? = nil, id: String? = nil, type: String? = nil, function: Function? = nil, custom: Custom? = nil
    ) {
        self.index = index
        self.id = id
        self.type = type
        self.function = function
        self.custom = custom
    }
}
