public import Foundation

extension Transcript {
    /// A generated value in a transcript.
    public struct StructuredSegment: Sendable, Equatable, Identifiable, CustomStringConvertible {
        public var id: String
        /// Origin of the value: the name of its type or tool.
        public var source: String
        public var content: GeneratedContent

        public init(id: String = UUID().uuidString, source: String, content: GeneratedContent) {
            self.id = id
            self.source = source
            self.content = content
        }

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
            case schema(GenerationSchema)
        }

        /// Name of the type.
        public let name: String
        public let kind: Kind
        var schema: GenerationSchema {
            switch kind {
            case .schema(let schema): schema
            }
        }

        public init<Content: Generable>(type: Content.Type) {
            self.init(schema: Content.generationSchema, name: String(describing: type))
        }

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
        public var name: String
        public var description: String
        public var parameters: GenerationSchema

        public init(name: String, description: String, parameters: GenerationSchema) {
            self.name = name
            self.description = description
            self.parameters = parameters
        }

        public init(tool: some Tool) {
            self.init(name: tool.name, description: tool.description, parameters: tool.parameters)
        }
    }

    /// Tool calls that a model made in one message.
    public struct ToolCalls: Sendable, Equatable, Identifiable, RandomAccessCollection, CustomStringConvertible {
        public var id: String
        private var calls: [ToolCall]

        public init(id: String = UUID().uuidString, _ calls: some Sequence<ToolCall>) {
            self.id = id
            self.calls = Array(calls)
        }

        public var startIndex: Int { calls.startIndex }
        public var endIndex: Int { calls.endIndex }
        public subscript(index: Int) -> ToolCall { calls[index] }
        public var description: String { "(ToolCalls) \(calls.map(\.description).joined(separator: ", "))" }
    }

    /// One call.
    public struct ToolCall: Sendable, Identifiable, CustomStringConvertible {
        public var id: String
        public var toolName: String
        public var arguments: GeneratedContent
        /// Values that the model's executor added.
        public var metadata: [String: GeneratedContent]

        public init(id: String, toolName: String, arguments: GeneratedContent) {
            self.init(id: id, metadata: [:], toolName: toolName, arguments: arguments)
        }

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
        public var toolName: String
        public var segments: [Segment]

        public init(id: String, toolName: String, segments: [Segment]) {
            self.id = id
            self.toolName = toolName
            self.segments = segments
        }

        public var description: String { "(ToolOutput) \(toolName): \(segments.text)" }
    }
}

extension Transcript.ToolCall: Equatable {}
