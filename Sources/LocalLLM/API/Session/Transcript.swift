public import Foundation

/// The entries of a session, oldest first: instructions, then prompts and the responses to them.
///
/// To save a conversation, encode it; to resume it, begin a session with the decoded transcript.
public struct Transcript: Sendable, Equatable {
    private var entries: [Entry]
    /// Records of entries that were dropped from what the model reads because the context was full, oldest record
    /// first. The entries themselves stay in the transcript.
    public private(set) var omissions: [Omission]

    public init(entries: some Sequence<Entry> = []) { self.init(entries: entries, omissions: []) }

    init(entries: some Sequence<Entry>, omissions: [Omission]) {
        self.entries = Array(entries)
        self.omissions = omissions
    }

    mutating func append(_ entry: Entry) { entries.append(entry) }
    mutating func append(_ omission: Omission) { omissions.append(omission) }
    mutating func remove(_ id: Entry.ID) { entries.removeAll { $0.id == id } }
}

extension Transcript: RandomAccessCollection {
    public var startIndex: Int { entries.startIndex }
    public var endIndex: Int { entries.endIndex }
    public subscript(index: Int) -> Entry { entries[index] }
}

extension Transcript {
    /// One entry of a conversation. Kinds will be added; switch with `@unknown default`.
    public enum Entry: Sendable, Equatable, Identifiable {
        case instructions(Instructions)
        case prompt(Prompt)
        /// Tool calls that the model made instead of answering.
        case toolCalls(ToolCalls)
        /// The output of one call.
        case toolOutput(ToolOutput)
        case response(Response)
        /// The model's reasoning before the calls or the response that follow.
        case reasoning(Reasoning)

        public var id: String {
            switch self {
            case .instructions(let instructions): instructions.id
            case .prompt(let prompt): prompt.id
            case .toolCalls(let calls): calls.id
            case .toolOutput(let output): output.id
            case .response(let response): response.id
            case .reasoning(let reasoning): reasoning.id
            }
        }
    }

    /// A part of an entry.
    public enum Segment: Sendable, Equatable, Identifiable {
        case text(TextSegment)
        /// A value of a type.
        case structure(StructuredSegment)
        /// An image, in prompts.
        case attachment(AttachmentSegment)

        public var id: String {
            switch self {
            case .text(let segment): segment.id
            case .structure(let segment): segment.id
            case .attachment(let segment): segment.id
            }
        }
    }

    public struct TextSegment: Sendable, Equatable, Identifiable {
        public var id: String
        public var content: String

        public init(id: String = UUID().uuidString, content: String) {
            self.id = id
            self.content = content
        }
    }

    /// The system instructions.
    public struct Instructions: Sendable, Equatable, Identifiable {
        public var id: String
        public var segments: [Segment]
        /// The tools that the model may call.
        public var toolDefinitions: [ToolDefinition]

        public init(id: String = UUID().uuidString, segments: [Segment], toolDefinitions: [ToolDefinition] = []) {
            self.id = id
            self.segments = segments
            self.toolDefinitions = toolDefinitions
        }
    }

    /// A user's prompt.
    public struct Prompt: Sendable, Equatable, Identifiable {
        public var id: String
        public var segments: [Segment]
        public var options: GenerationOptions
        /// Schema of the answer; `nil`: any text.
        public var responseFormat: ResponseFormat?

        public init(
            id: String = UUID().uuidString, segments: [Segment], options: GenerationOptions = .init(),
            responseFormat: ResponseFormat? = nil
        ) {
            self.id = id
            self.segments = segments
            self.options = options
            self.responseFormat = responseFormat
        }
    }

    /// The model's response.
    public struct Response: Sendable, Equatable, Identifiable {
        public var id: String
        /// Names of the models that answered.
        public var assetIDs: [String]
        public var segments: [Segment]

        public init(id: String = UUID().uuidString, assetIDs: [String], segments: [Segment]) {
            self.id = id
            self.assetIDs = assetIDs
            self.segments = segments
        }
    }

    /// The model's reasoning. Chat templates render it where the model was trained to read it again.
    public struct Reasoning: Sendable, Equatable, Identifiable {
        public var id: String
        public var segments: [Segment]

        public init(id: String = UUID().uuidString, segments: [Segment]) {
            self.id = id
            self.segments = segments
        }
    }

    /// A record of turns dropped from what the model reads because the context was full.
    public struct Omission: Sendable, Equatable, Codable, Identifiable {
        public var id: String
        /// The dropped entries, oldest first: whole turns.
        public var entryIDs: [Entry.ID]
        /// Shown to the model instead of these and all earlier dropped turns, with `ContextOverflowPolicy.summarize`.
        public var summary: String?

        init(entryIDs: [Entry.ID], summary: String?) {
            id = UUID().uuidString
            self.entryIDs = entryIDs
            self.summary = summary
        }
    }
}

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
        }
    }
}

extension [Transcript.Segment] {
    init(text: String) { self = [.text(.init(content: text))] }

    /// The segments, one a line.
    var text: String { map(\.description).joined(separator: "\n") }
}
