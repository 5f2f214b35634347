/// Something built from parts: a `Prompt` or `Instructions`.
public protocol ComposedText: Sendable {
    /// Puts parts together, in this order.
    init(parts: [Prompt.Part])
    /// The parts, in the order in which the model reads them.
    var parts: [Prompt.Part] { get }
}

extension ComposedText {
    /// The texts, one a line.
    var text: String {
        parts.compactMap { part in
            switch part {
            case .text(let text): text
            case .attachment: nil
            case .custom(let segment): segment.description
            }
        }.joined(separator: "\n")
    }

    /// The parts as an entry of a transcript has them; texts without anything between them are one.
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
            case (.custom(let segment), _): segments.append(.custom(segment))
            }
        }
        return segments.isEmpty ? .init(text: "") : segments
    }
}

/// The common part of the result builders of prompts and instructions.
public protocol TextBuilder {
    /// What is built: a `Prompt` or `Instructions`.
    associatedtype Output: ComposedText
}

extension TextBuilder {
    /// The lines of a block, joined.
    public static func buildBlock(_ components: Output...) -> Output { joined(components) }
    /// What a `for` loop gave in its rounds, joined.
    public static func buildArray(_ components: [Output]) -> Output { joined(components) }
    /// The branch whose condition held.
    public static func buildEither(first component: Output) -> Output { component }
    /// The branch of `else`.
    public static func buildEither(second component: Output) -> Output { component }
    /// An `if` without `else`: nothing unless its condition held.
    public static func buildOptional(_ component: Output?) -> Output { component ?? Output(parts: []) }
    /// The content of `if #available`.
    public static func buildLimitedAvailability(_ component: Output) -> Output { component }

    private static func joined(_ components: [Output]) -> Output { Output(parts: components.flatMap(\.parts)) }
}
