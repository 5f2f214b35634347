import Dialects
import Foundation
import Template

/// A session's tools in the forms that templates, parsers and constraints take.
struct SessionTools: Sendable {
    static let none = SessionTools()

    let tools: [any Tool]
    /// The tools as a conversation takes them. Instructions may leave some out that can be called.
    private(set) var offer = ToolOffer()

    private init() { tools = [] }

    /// - Throws: `GenerationError.unsupportedGuide` for a tool whose parameters cannot be written as JSON Schema.
    init(_ tools: [any Tool]) throws {
        self.tools = tools
        let definitions = try tools.map { tool in
            TemplateValue.object([
                "type": .string("function"),
                "function": .object([
                    "name": .string(tool.name), "description": .string(tool.description),
                    "parameters": try Self.value(tool.parameters.jsonSchema, of: tool),
                ]),
            ])
        }
        offer.definitions = zip(tools, definitions).filter { $0.0.includesSchemaInInstructions }.map { $0.1 }
        offer.declared = DeclaredTool.list(.array(definitions))
        offer.callable = try tools.map {
            CallableTool(name: $0.name, parameters: try Self.value($0.parameters.enforcedSchema, of: $0))
        }
        for tool in tools { offer.fields[tool.name] = "the parameters of \(tool.name)" }
    }

    private static func value(_ schema: String, of tool: any Tool) throws -> TemplateValue {
        do {
            return try TemplateValue(json: Data(schema.utf8))
        } catch {
            throw LanguageModelSession.GenerationError.unsupportedGuide(
                .init(debugDescription: "The parameters of the tool '\(tool.name)': \(error)"))
        }
    }

    /// Runs several calls concurrently.
    ///
    /// - Returns: The outputs in the order of the calls.
    /// - Throws: `ToolCallError` of the first that failed; `decodingFailure` for an incomplete call, or an unknown
    ///   tool.
    func run(_ calls: [Transcript.ToolCall]) async throws -> [Transcript.ToolOutput] {
        try await withThrowingTaskGroup(of: (Int, Transcript.ToolOutput).self) { group in
            for (index, call) in calls.enumerated() {
                guard let tool = tools.first(where: { $0.name == call.toolName }) else {
                    throw call.arguments.failure(
                        "expected arguments of a tool of this session, not of '\(call.toolName)'")
                }
                guard call.arguments.isComplete else {
                    throw call.arguments.failure("expected the whole arguments of '\(call.toolName)'")
                }
                group.addTask {
                    do {
                        let segments = try await tool.call(content: call.arguments)
                        return (index, .init(id: call.id, toolName: call.toolName, segments: segments))
                    } catch let error where !(error is CancellationError) {
                        throw LanguageModelSession.ToolCallError(tool: tool, underlyingError: error)
                    }
                }
            }
            return try await group.reduce(into: [(Int, Transcript.ToolOutput)]()) { $0.append($1) }.sorted {
                $0.0 < $1.0
            }.map(\.1)
        }
    }
}
