import Dialects
import Foundation
import LocalLLM
import Template

/// The tools of a request.
struct SessionTools: Sendable {
    let tools: [any Tool]

    init(_ tools: [any Tool] = []) { self.tools = tools }

    var definitions: [Transcript.ToolDefinition] { tools.map { $0.definition } }

    /// The tools that instructions list. Others can be called as well.
    var listed: [Transcript.ToolDefinition] { tools.filter(\.includesSchemaInInstructions).map { $0.definition } }

    /// The tools as a conversation takes them.
    func offer(_ mode: GenerationOptions.ToolCallingMode?) throws -> ToolOffer {
        try ToolOffer(definitions, listed: Set(listed.map(\.name)), mode)
    }

    /// Runs a call.
    ///
    /// - Throws: `ToolCallError`; `ParsingError` for an incomplete call, or an unknown tool.
    func run(_ call: Transcript.ToolCall) async throws -> Transcript.ToolOutput {
        guard let tool = tools.first(where: { $0.name == call.toolName }) else {
            throw call.arguments.failure("expected arguments of a tool of this session, not of '\(call.toolName)'")
        }
        guard call.arguments.isComplete else {
            throw call.arguments.failure("expected the whole arguments of '\(call.toolName)'")
        }
        do {
            let segments = try await tool.call(content: call.arguments)
            return .init(id: call.id, toolName: call.toolName, segments: try segments.readingImages())
        } catch let error where !(error is CancellationError) {
            throw LanguageModelSession.ToolCallError(tool: tool, underlyingError: error)
        }
    }

    /// Runs several calls concurrently.
    ///
    /// - Returns: The outputs in the order of the calls.
    /// - Throws: The error of the first that failed.
    func run(_ calls: [Transcript.ToolCall]) async throws -> [Transcript.ToolOutput] {
        try await withThrowingTaskGroup(of: (Int, Transcript.ToolOutput).self) { group in
            for (index, call) in calls.enumerated() { group.addTask { (index, try await run(call)) } }
            return try await group.reduce(into: [(Int, Transcript.ToolOutput)]()) { $0.append($1) }.sorted {
                $0.0 < $1.0
            }.map(\.1)
        }
    }
}

extension Tool {
    fileprivate var definition: Transcript.ToolDefinition { .init(tool: self) }
}

extension ToolOffer {
    /// - Parameter listed: Names of the tools that the template prints.
    /// - Throws: `LanguageModelError.unsupportedGenerationGuide` for a tool whose parameters cannot be written as JSON
    ///   Schema.
    init(
        _ tools: [Transcript.ToolDefinition], listed: Set<String>, _ mode: GenerationOptions.ToolCallingMode?
    ) throws {
        self.init()
        let written = try tools.map { tool in
            TemplateValue.object([
                "type": .string("function"),
                "function": .object([
                    "name": .string(tool.name), "description": .string(tool.description),
                    "parameters": try Self.value(try tool.parameters.jsonSchema, of: tool),
                ]),
            ])
        }
        definitions = zip(tools, written).filter { listed.contains($0.0.name) }.map { $0.1 }
        declared = DeclaredTool.list(.array(written))
        callable = try tools.map {
            CallableTool(name: $0.name, parameters: try Self.value(try $0.parameters.enforcedSchema, of: $0))
        }
        for tool in tools { fields[tool.name] = "the parameters of \(tool.name)" }
        switch mode?.kind {
        case nil, .allowed: choice = .auto
        case .required: choice = .required
        case .disallowed: choice = .none
        }
    }

    private static func value(_ schema: String, of tool: Transcript.ToolDefinition) throws -> TemplateValue {
        do {
            return try TemplateValue(json: Data(schema.utf8))
        } catch {
            throw LanguageModelError.unsupportedGenerationGuide(
                .init(schemaName: tool.name, debugDescription: "The parameters of the tool '\(tool.name)': \(error)"))
        }
    }
}
