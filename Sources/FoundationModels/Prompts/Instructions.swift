/// The system instructions of a conversation: role, style and limits. One text, or several joined as lines.
public struct Instructions: ComposedText {
    /// The texts, attachments and custom segments in order.
    public let parts: [Prompt.Part]

    /// Adjacent texts become lines of one text.
    public init(parts: [Prompt.Part]) { self.parts = parts }
    /// One value as instructions: a string, or what is written as JSON.
    public init(_ content: some InstructionsRepresentable) { self = content.instructionsRepresentation }
    /// Several values, one a line, with conditions and loops.
    public init(@InstructionsBuilder _ content: () throws -> Instructions) rethrows { self = try content() }
}

/// A type that can be part of instructions.
public protocol InstructionsRepresentable {
    /// The value as the model reads it among instructions.
    @InstructionsBuilder var instructionsRepresentation: Instructions { get }
}

extension Instructions: InstructionsRepresentable {
    public var instructionsRepresentation: Instructions { self }
}

extension String: InstructionsRepresentable {
    public var instructionsRepresentation: Instructions { Instructions(parts: [.text(self)]) }
}

extension Array: InstructionsRepresentable where Element: InstructionsRepresentable {
    public var instructionsRepresentation: Instructions {
        Instructions(parts: flatMap(\.instructionsRepresentation.parts))
    }
}

/// Builds instructions from parts, conditions and loops.
@resultBuilder
public struct InstructionsBuilder: TextBuilder {
    public typealias Output = Instructions

    /// A line that is instructions already.
    public static func buildExpression(_ expression: Instructions) -> Instructions { expression }

    /// A line that is a string, or another value with a representation.
    public static func buildExpression(_ expression: some InstructionsRepresentable) -> Instructions {
        expression.instructionsRepresentation
    }
}
