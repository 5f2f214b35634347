/// A user's prompt: one text, or several joined as lines, with attachments and custom segments among them.
public struct Prompt: ComposedText {
    /// A part of a prompt, or of instructions.
    public enum Part: Sendable {
        /// Text. Marks of the chat template in it are read as plain text.
        case text(String)
        /// An image, at its place among the texts.
        case attachment(Transcript.AttachmentSegment)
        /// A value of the app's own type.
        case custom(any Transcript.CustomSegment)
    }

    /// The texts, attachments and custom segments in order.
    public let parts: [Part]

    /// Adjacent texts become lines of one text.
    public init(parts: [Part]) { self.parts = parts }
    /// One value as a prompt: a string, an attachment, or what is written as JSON.
    public init(_ content: some PromptRepresentable) { self = content.promptRepresentation }
    /// Several values, one a line, with conditions and loops.
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
    /// The value as the model reads it in a prompt.
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

    /// A line that is a prompt already.
    public static func buildExpression(_ expression: Prompt) -> Prompt { expression }

    /// A line that is a string, an attachment, or another value with a representation.
    public static func buildExpression(_ expression: some PromptRepresentable) -> Prompt {
        expression.promptRepresentation
    }
}
