extension Transcript.Entry: CustomStringConvertible {
    public var description: String {
        switch self {
        case .instructions(let instructions): instructions.description
        case .prompt(let prompt): prompt.description
        case .toolCalls(let calls): calls.description
        case .toolOutput(let output): output.description
        case .response(let response): response.description
        case .reasoning(let reasoning): reasoning.description
        }
    }
}

extension Transcript.Instructions: CustomStringConvertible {
    public var description: String { "(Instructions) \(segments.text)" }
}

extension Transcript.Prompt: CustomStringConvertible {
    public var description: String { "(Prompt) \(segments.text)" }
}

extension Transcript.Response: CustomStringConvertible {
    public var description: String { "(Response) \(segments.text)" }
}

extension Transcript.Reasoning: CustomStringConvertible {
    public var description: String { "(Reasoning) \(segments.text)" }
}

extension Transcript.Segment: CustomStringConvertible {
    public var description: String {
        switch self {
        case .text(let segment): segment.content
        case .structure(let segment): segment.content.jsonString
        case .attachment(let segment): segment.description
        case .custom(let segment): segment.description
        }
    }
}

extension Transcript.TextSegment: CustomStringConvertible {
    public var description: String { content }
}

extension [Transcript.Segment] {
    init(text: String) { self = [.text(.init(content: text))] }

    /// The segments, one a line.
    var text: String { map(\.description).joined(separator: "\n") }
}
