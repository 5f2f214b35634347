/// A user's prompt: one text, or several joined as lines, with images among them.
public struct Prompt: ComposedText {
    public enum Part: Sendable, Equatable {
        case text(String)
        case attachment(Transcript.AttachmentSegment)
    }

    public let parts: [Part]

    public init(parts: [Part]) { self.parts = parts }
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
    public var promptRepresentation: Prompt { Prompt(parts: [.text(self)]) }
}

extension Array: PromptRepresentable where Element: PromptRepresentable {
    public var promptRepresentation: Prompt { Prompt(parts: flatMap(\.promptRepresentation.parts)) }
}

extension Prompt {
    /// The texts, one a line.
    var text: String { parts.compactMap { if case .text(let text) = $0 { text } else { nil } }.joined(separator: "\n") }

    /// The parts as an entry of a transcript has them; texts without an image between them are one.
    var segments: [Transcript.Segment] {
        var segments: [Transcript.Segment] = []
        for part in parts {
            switch (part, segments.last) {
            case (.text(let text), .text(var last)):
                last.content += "\n" + text
                segments[segments.count - 1] = .text(last)
            case (.text(let text), _): segments.append(.text(.init(content: text)))
            // An id of its own: a prompt may be asked twice, and its file be another by then.
            case (.attachment(let attachment), _):
                segments.append(.attachment(.init(content: attachment.content, label: attachment.label)))
            }
        }
        return segments.isEmpty ? .init(text: "") : segments
    }
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
