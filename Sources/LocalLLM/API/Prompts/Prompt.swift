/// What the model is asked: one text, or several that become its lines.
public struct Prompt: ComposedText {
    public let parts: [String]

    public init(parts: [String]) { self.parts = parts }
    public init(_ content: some PromptRepresentable) { self = content.promptRepresentation }
    public init(@PromptBuilder _ content: () throws -> Prompt) rethrows { self = try content() }
}

/// What a prompt can be made of.
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

/// Puts a prompt together from parts, conditions and loops.
@resultBuilder
public enum PromptBuilder: TextBuilder {
    public typealias Output = Prompt

    public static func buildExpression(_ expression: Prompt) -> Prompt { expression }

    public static func buildExpression(_ expression: some PromptRepresentable) -> Prompt {
        expression.promptRepresentation
    }
}
