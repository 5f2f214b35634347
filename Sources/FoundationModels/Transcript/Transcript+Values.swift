public import Foundation

extension Transcript {
    /// A generated value in a transcript.
    public struct StructuredSegment: Sendable, Equatable, Identifiable, CustomStringConvertible {
        /// Kept when the transcript is saved.
        public var id: String
        /// Origin of the value: the name of its type or tool.
        public var source: String
        /// The value; models read it as JSON.
        public var content: GeneratedContent

        /// A value for a transcript that an app writes itself.
        public init(id: String = UUID().uuidString, source: String, content: GeneratedContent) {
            self.id = id
            self.source = source
            self.content = content
        }

        /// The same under the 27 SDK's label: `schemaName` is `source`.
        public init(id: String = UUID().uuidString, schemaName: String, content: GeneratedContent) {
            self.init(id: id, source: schemaName, content: content)
        }

        /// The same as `source`.
        public var schemaName: String {
            get { source }
            set { source = newValue }
        }

        public var description: String { content.jsonString }
    }

    /// The schema of an answer.
    public struct ResponseFormat: Sendable, Equatable, CustomStringConvertible {
        /// What the answer has to follow.
        public enum Kind: Sendable, Equatable {
            /// Values of a schema.
            case schema(GenerationSchema)
        }

        /// Name of the type.
        public let name: String
        /// The schema, to switch over: more kinds may come.
        public let kind: Kind
        var schema: GenerationSchema {
            switch kind {
            case .schema(let schema): schema
            }
        }

        /// The schema of a type, under the type's name.
        public init<Content: Generable>(type: Content.Type) {
            self.init(schema: Content.generationSchema, name: String(describing: type))
        }

        /// A schema that was built at run time, under its own name.
        public init(schema: GenerationSchema) { self.init(schema: schema, name: schema.name) }

        init(schema: GenerationSchema, name: String) {
            kind = .schema(schema)
            self.name = name
        }

        public var description: String { name }
    }
}

extension Transcript {
    /// A tool as described to the model.
    public struct ToolDefinition: Sendable, Equatable {
        /// The name by which the model calls the tool.
        public var name: String
        public var description: String
        /// The schema of the arguments, always an object.
        public var parameters: GenerationSchema

        /// A tool without code, for counting tokens and for transcripts that an app writes itself.
        public init(name: String, description: String, parameters: GenerationSchema) {
            self.name = name
            self.description = description
            self.parameters = parameters
        }

        /// The name, description and parameters of a tool at this moment.
        public init(tool: some Tool) {
            self.init(name: tool.name, description: tool.description, parameters: tool.parameters)
        }
    }

    /// Tool calls that a model made in one message.
    public struct ToolCalls: Sendable, Equatable, Identifiable, RandomAccessCollection, CustomStringConvertible {
        /// Kept when the transcript is saved; not an id of a call.
        public var id: String
        private var calls: [ToolCall]

        /// Calls for a transcript that an app writes itself. Each needs an output with its id among the entries that
        /// follow.
        public init(id: String = UUID().uuidString, _ calls: some Sequence<ToolCall>) {
            self.id = id
            self.calls = Array(calls)
        }

        public var startIndex: Int { calls.startIndex }
        public var endIndex: Int { calls.endIndex }
        /// The calls in the order in which the model wrote them.
        public subscript(index: Int) -> ToolCall { calls[index] }
        public var description: String { "(ToolCalls) \(calls.map(\.description).joined(separator: ", "))" }
    }

    /// One call.
    public struct ToolCall: Sendable, Identifiable, CustomStringConvertible {
        /// Links the call with its output; a service gives it, or the session makes one.
        public var id: String
        /// The name of the tool, which may no longer be among the session's.
        public var toolName: String
        /// The arguments as the model wrote them, in the order of generation.
        public var arguments: GeneratedContent
        /// Values that the model's executor added.
        public var metadata: [String: GeneratedContent]

        /// A call for a transcript that an app writes itself.
        public init(id: String, toolName: String, arguments: GeneratedContent) {
            self.init(id: id, metadata: [:], toolName: toolName, arguments: arguments)
        }

        /// A call with values for the model's executor.
        public init(
            id: String, metadata: [String: any ConvertibleToGeneratedContent & Sendable], toolName: String,
            arguments: GeneratedContent
        ) {
            self.id = id
            self.metadata = metadata.contents
            self.toolName = toolName
            self.arguments = arguments
        }

        public var description: String { "\(toolName)(\(arguments.jsonString))" }
    }

    /// The output of a tool call.
    public struct ToolOutput: Sendable, Equatable, Identifiable, CustomStringConvertible {
        /// ID of the call.
        public var id: String
        /// The name of the tool that ran.
        public var toolName: String
        /// What the model reads: text, a value as JSON, images.
        public var segments: [Segment]

        /// An output for a transcript that an app writes itself; `id` is that of its call.
        public init(id: String, toolName: String, segments: [Segment]) {
            self.id = id
            self.toolName = toolName
            self.segments = segments
        }

        public var description: String { "(ToolOutput) \(toolName): \(segments.text)" }
    }
}

extension Transcript.ToolCall: Equatable {}
