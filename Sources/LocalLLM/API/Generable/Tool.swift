public import Foundation

/// Something that the model may call while it answers: code of the app, with arguments that the model writes.
///
/// A session calls several tools at once where the model asks for that; a tool must expect it.
public protocol Tool<Arguments, Output>: Sendable {
    /// What the model reads: a text, or a `Generable` value, which stands there as JSON.
    associatedtype Output: PromptRepresentable
    /// `@Generable`, or `GeneratedContent` where `parameters` are put together at run time.
    associatedtype Arguments: ConvertibleFromGeneratedContent

    /// How the model calls it: letters, digits, `_` and `-`. Unless given, the type's name.
    var name: String { get }
    /// What it does, and when to use it.
    var description: String { get }
    /// What arguments look like; the model is held to it.
    var parameters: GenerationSchema { get }
    /// Whether the instructions list the tool with its parameters. Without it the app's own instructions must describe it.
    var includesSchemaInInstructions: Bool { get }

    /// - Throws: Whatever it likes; the request then throws `LanguageModelSession.ToolCallError`.
    func call(arguments: Arguments) async throws -> Output
}

extension Tool {
    public var name: String { String(describing: Self.self) }
    public var includesSchemaInInstructions: Bool { true }

    /// Calls the tool with what a model wrote.
    func call(content: GeneratedContent) async throws -> [Transcript.Segment] {
        let output = try await call(arguments: try Arguments(content))
        if let value = output as? any ConvertibleToGeneratedContent, !(value is String) {
            return [.structure(.init(source: name, content: value.generatedContent))]
        }
        return .init(text: output.promptRepresentation.text)
    }
}

extension Tool where Arguments: Generable {
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension LanguageModelSession {
    /// A tool failed, or its arguments were no value of its type.
    public struct ToolCallError: Swift.Error, Sendable {
        public var tool: any Tool
        public var underlyingError: any Swift.Error

        public init(tool: any Tool, underlyingError: any Swift.Error) {
            self.tool = tool
            self.underlyingError = underlyingError
        }
    }
}

extension LanguageModelSession.ToolCallError: LocalizedError {
    public var errorDescription: String? {
        "The tool '\(tool.name)' failed: \((underlyingError as? any LocalizedError)?.errorDescription ?? "\(underlyingError)")"
    }
}
