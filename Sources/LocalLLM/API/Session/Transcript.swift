public import Foundation

/// What was said in a session, oldest first: instructions, then prompts and the responses to them.
///
/// Encode it to keep a conversation, and begin a session with the decoded one to go on.
public struct Transcript: Sendable, Equatable {
    private var entries: [Entry]
    /// Which entries sessions no longer showed to the model, because the context was full; oldest record first. The
    /// entries themselves stay in the transcript.
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
    /// One thing that was said. More kinds will come; switch with `@unknown default`.
    public enum Entry: Sendable, Equatable, Identifiable {
        case instructions(Instructions)
        case prompt(Prompt)
        /// Tools that the model called instead of answering.
        case toolCalls(ToolCalls)
        /// What one of them returned.
        case toolOutput(ToolOutput)
        case response(Response)
        /// What the model thought before the calls or the response that follow.
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
        /// A picture, in prompts.
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

    /// What the model was told before the conversation.
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

    /// What the model was asked.
    public struct Prompt: Sendable, Equatable, Identifiable {
        public var id: String
        public var segments: [Segment]
        public var options: GenerationOptions
        /// What the answer must look like; `nil`: any text.
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

    /// What the model answered.
    public struct Response: Sendable, Equatable, Identifiable {
        public var id: String
        /// Names of what answered: the model's.
        public var assetIDs: [String]
        public var segments: [Segment]

        public init(id: String = UUID().uuidString, assetIDs: [String], segments: [Segment]) {
            self.id = id
            self.assetIDs = assetIDs
            self.segments = segments
        }
    }

    /// What the model thought. Chat templates print it where the model was trained to see it again, for instance between calls.
    public struct Reasoning: Sendable, Equatable, Identifiable {
        public var id: String
        public var segments: [Segment]

        public init(id: String = UUID().uuidString, segments: [Segment]) {
            self.id = id
            self.segments = segments
        }
    }

    /// A time when the context was full and turns were left out of what the model sees.
    public struct Omission: Sendable, Equatable, Codable, Identifiable {
        public var id: String
        /// The entries that the model no longer sees, oldest first: whole turns.
        public var entryIDs: [Entry.ID]
        /// What the model sees instead of them and of all that was left out before, with `ContextOverflowPolicy.summarize`.
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
