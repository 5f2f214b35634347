/// A user's prompt: one text, or several joined as lines.
public struct Prompt: ComposedText {
    public let parts: [String]

    public init(parts: [String]) { self.parts = parts }
    public init(_ content: some PromptRepresentable) { self = content.promptRepresentation }
    public init(@PromptBuilder _ content: () throws -> Prompt) rethrows { self = try content() }
}

/// A type that can be part of a prompt.
public protocol PromptRepresentable {
    @PromptBuilder var promptRepresentation: Prompt { get }
}

extension Prompt: PromptRepresentable {
    public var promptRepresentation: Prompt { self }
}

extension String: PromptRepresentable {
    public var promptRepresentation: Prompt { Prompt(parts: [self]) }
}

extension Array: PromptRepresentable where Element: PromptRepresentable {
    public var promptRepresentation: Prompt { Prompt(parts: flatMap(\.promptRepresentation.parts)) }
}

/// Builds a prompt from parts, conditions and loops.
@resultBuilder
public enum PromptBuilder: TextBuilder {
    public typealias Output = Prompt

    public static func buildExpression(_ expression: Prompt) -> Prompt { expression }

    public static func buildExpression(_ expression: some PromptRepresentable) -> Prompt {
        expression.promptRepresentation
    }
}
