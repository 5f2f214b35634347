/// The system instructions of a conversation: role, style and limits. One text, or several joined as lines.
public struct Instructions: ComposedText {
    public let parts: [Prompt.Part]

    public init(parts: [Prompt.Part]) { self.parts = parts }
    public init(_ content: some InstructionsRepresentable) { self = content.instructionsRepresentation }
    public init(@InstructionsBuilder _ content: () throws -> Instructions) rethrows { self = try content() }
}

/// A type that can be part of instructions.
public protocol InstructionsRepresentable {
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

    public static func buildExpression(_ expression: Instructions) -> Instructions { expression }

    public static func buildExpression(_ expression: some InstructionsRepresentable) -> Instructions {
        expression.instructionsRepresentation
    }
}
