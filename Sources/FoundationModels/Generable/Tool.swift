public import Foundation

/// A function of the app that the model may call, with arguments that the model writes.
///
/// A session runs several calls concurrently if the model makes them in one turn.
public protocol Tool<Arguments, Output>: Sendable {
    /// The result shown to the model: text, or a `Generable` value, which is shown as JSON.
    associatedtype Output: PromptRepresentable
    /// A `@Generable` type, or `GeneratedContent` if `parameters` is built at run time.
    associatedtype Arguments: ConvertibleFromGeneratedContent

    /// The name by which the model calls it: letters, digits, `_` and `-`. Default: the type's name.
    var name: String { get }
    /// What the tool does and when to use it, for the model.
    var description: String { get }
    /// The schema of the arguments; generation of calls is constrained to it.
    var parameters: GenerationSchema { get }
    /// Whether the instructions list the tool with its parameters. If not, the app's own instructions must describe it.
    var includesSchemaInInstructions: Bool { get }

    /// Does the work and returns what the model is to read. Called beside other calls of the same message.
    ///
    /// - Throws: Any error; the request then throws `LanguageModelSession.ToolCallError`.
    #if compiler(>=6.2)
        @concurrent
    #endif
    func call(arguments: Arguments) async throws -> Output
}

extension Tool {
    public var name: String { String(describing: Self.self) }
    public var includesSchemaInInstructions: Bool { true }

    /// Calls the tool with generated arguments.
    #if compiler(>=6.2)
        @concurrent
    #endif
    func call(content: GeneratedContent) async throws -> [Transcript.Segment] {
        let output = try await call(arguments: try Arguments(content))
        if let value = output as? any ConvertibleToGeneratedContent, !(value is String) {
            return [.structure(.init(source: name, content: value.generatedContent))]
        }
        return output.promptRepresentation.segments
    }
}

extension Tool where Arguments: Generable {
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

// Arguments are an object: a value by itself has no name that the model could write.

extension Tool where Arguments == String {
    @available(
        *, unavailable,
        message: "'Tool' that uses 'String' as 'Arguments' type is unsupported. Use '@Generable' struct instead."
    )
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Int {
    @available(
        *, unavailable,
        message: "'Tool' that uses 'Int' as 'Arguments' type is unsupported. Use '@Generable' struct instead."
    )
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Double {
    @available(
        *, unavailable,
        message: "'Tool' that uses 'Double' as 'Arguments' type is unsupported. Use '@Generable' struct instead."
    )
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Float {
    @available(
        *, unavailable,
        message: "'Tool' that uses 'Float' as 'Arguments' type is unsupported. Use '@Generable' struct instead."
    )
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Decimal {
    @available(
        *, unavailable,
        message: "'Tool' that uses 'Decimal' as 'Arguments' type is unsupported. Use '@Generable' struct instead."
    )
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Bool {
    @available(
        *, unavailable,
        message: "'Tool' that uses 'Bool' as 'Arguments' type is unsupported. Use '@Generable' struct instead."
    )
    public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension LanguageModelSession {
    /// A tool threw an error, or its arguments could not be decoded.
    public struct ToolCallError: Swift.Error, Sendable {
        /// The tool as the session got it; cast it to read its state.
        public var tool: any Tool
        /// What the tool threw, or the `GeneratedContent.ParsingError` of its arguments.
        public var underlyingError: any Swift.Error

        /// For code that runs tools itself, and tests.
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
