/// A user's prompt: one text, or several joined as lines, with attachments and custom segments among them.
public struct Prompt: ComposedText {
    /// A part of a prompt, or of instructions.
    public enum Part: Sendable {
        case text(String)
        case attachment(Transcript.AttachmentSegment)
        case custom(any Transcript.CustomSegment)
    }

    public let parts: [Part]

    public init(parts: [Part]) { self.parts = parts }
    public init(_ content: some PromptRepresentable) { self = content.promptRepresentation }
    public init(@PromptBuilder _ content: () throws -> Prompt) rethrows { self = try content() }
}

extension Prompt.Part: Equatable {
    public static func == (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.text(let one), .text(let other)): one == other
        case (.attachment(let one), .attachment(let other)): one == other
        case (.custom(let one), .custom(let other)): Transcript.Segment.custom(one) == .custom(other)
        default: false
        }
    }
}

/// A type that can be part of a prompt.
public protocol PromptRepresentable {
    @PromptBuilder var promptRepresentation: Prompt { get }
}

extension Prompt: PromptRepresentable {
    public var promptRepresentation: Prompt { self }
}

extension String: PromptRepresentable {
    public var promptRepresentation: Prompt { Prompt(parts: [.text(self)]) }
}

extension Array: PromptRepresentable where Element: PromptRepresentable {
    public var promptRepresentation: Prompt { Prompt(parts: flatMap(\.promptRepresentation.parts)) }
}

/// Builds a prompt from parts, conditions and loops.
@resultBuilder
public struct PromptBuilder: TextBuilder {
    public typealias Output = Prompt

    public static func buildExpression(_ expression: Prompt) -> Prompt { expression }

    public static func buildExpression(_ expression: some PromptRepresentable) -> Prompt {
        expression.promptRepresentation
    }
}
