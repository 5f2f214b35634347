public import Foundation

/// The entries of a session, oldest first: instructions, then prompts and the responses to them.
///
/// To save a conversation, encode it; to resume it, begin a session with the decoded transcript.
public struct Transcript: Sendable, Equatable {
    private var entries: [Entry]
    /// Records of entries that were dropped from what the model reads because the context was full, oldest record
    /// first. The entries themselves stay in the transcript.
    public private(set) var omissions: [Omission]

    /// A conversation that an app writes or continues. Nothing counts as omitted.
    public init(entries: some Sequence<Entry> = []) { self.init(entries: entries, omissions: []) }

    init(entries: some Sequence<Entry>, omissions: [Omission]) {
        self.entries = Array(entries)
        self.omissions = omissions
    }

    mutating func record(_ omission: Omission) { omissions.append(omission) }
}

extension Transcript: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    public typealias Index = Int
    public typealias Element = Entry
    public typealias Indices = Range<Int>
    public typealias SubSequence = Slice<Transcript>

    /// No entries: a conversation that has not begun.
    public init() { self.init(entries: [Entry]()) }

    public var startIndex: Int { entries.startIndex }
    public var endIndex: Int { entries.endIndex }
    /// The entry at a position, counted from the oldest.
    public subscript(index: Int) -> Entry {
        get { entries[index] }
        set { entries[index] = newValue }
    }

    /// Replaces entries. Records of omissions stay, also those of entries that are gone.
    public mutating func replaceSubrange<NewEntries: Collection<Entry>>(
        _ subrange: Range<Int>, with newElements: consuming NewEntries
    ) {
        entries.replaceSubrange(subrange, with: newElements)
    }
}

extension Transcript {
    /// The entries after the leading instructions, which are always instructions of the session.
    public var history: ArraySlice<Entry> {
        get { entries[historyStart...] }
        set { entries.replaceSubrange(historyStart..., with: newValue) }
    }

    private var historyStart: Int { entries.first?.isInstructions == true ? 1 : 0 }

    /// Replaces the leading instructions; `nil` removes them.
    mutating func lead(with instructions: Instructions?) {
        entries.replaceSubrange(..<historyStart, with: instructions.map { [.instructions($0)] } ?? [])
    }

    /// The leading instructions.
    var leading: Instructions? {
        guard case .instructions(let instructions)? = entries.first else { return nil }
        return instructions
    }
}

extension Transcript {
    /// One entry of a conversation. Kinds will be added; switch with `@unknown default`.
    public enum Entry: Sendable, Equatable, Identifiable {
        /// The instructions at the time, with the tools; at most one entry at the beginning.
        case instructions(Instructions)
        /// What the user, or the app, asked.
        case prompt(Prompt)
        /// Tool calls that the model made instead of answering.
        case toolCalls(ToolCalls)
        /// The output of one call.
        case toolOutput(ToolOutput)
        /// The model's answer, or a part of it where a request failed and the transcript was preserved.
        case response(Response)
        /// The model's reasoning before the calls or the response that follow.
        case reasoning(Reasoning)

        /// The id of the entry inside; of an output it is the call's.
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

        var isInstructions: Bool { if case .instructions = self { true } else { false } }

        /// The segments of the entry; none for tool calls.
        var segments: [Segment] {
            switch self {
            case .instructions(let instructions): instructions.segments
            case .prompt(let prompt): prompt.segments
            case .toolCalls: []
            case .toolOutput(let output): output.segments
            case .response(let response): response.segments
            case .reasoning(let reasoning): reasoning.segments
            }
        }
    }

    /// The system instructions.
    public struct Instructions: Sendable, Equatable, Identifiable {
        /// The same while dynamic instructions resolve to the same text and tools.
        public var id: String
        /// Texts and images, in the order in which the model reads them.
        public var segments: [Segment]
        /// The tools that the model may call.
        public var toolDefinitions: [ToolDefinition]

        /// Instructions for a transcript that an app writes itself. A session made from it takes its own tools.
        public init(id: String = UUID().uuidString, segments: [Segment], toolDefinitions: [ToolDefinition] = []) {
            self.id = id
            self.segments = segments
            self.toolDefinitions = toolDefinitions
        }
    }

    /// A user's prompt.
    public struct Prompt: Sendable, Identifiable {
        /// Kept when the transcript is saved; `Omission.entryIDs` refers to it.
        public var id: String
        /// Texts, images and custom segments, in the order in which the model reads them.
        public var segments: [Segment]
        /// The options of the call, without what profiles added.
        public var options: GenerationOptions
        /// The context options of the call.
        public var contextOptions: ContextOptions
        /// The app's own values; they reach the executor with the request.
        public var metadata: [String: GeneratedContent]
        /// Schema of the answer; `nil`: any text.
        public var responseFormat: ResponseFormat?

        /// A prompt for a transcript that an app writes itself.
        public init(
            id: String = UUID().uuidString, metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
            segments: [Segment], options: GenerationOptions = GenerationOptions(),
            responseFormat: ResponseFormat? = nil, contextOptions: ContextOptions = ContextOptions()
        ) {
            self.id = id
            self.metadata = metadata.contents
            self.segments = segments
            self.options = options
            self.responseFormat = responseFormat
            self.contextOptions = contextOptions
        }

        /// The 26 SDK's initializer, without metadata and context options.
        public init(
            id: String = UUID().uuidString, segments: [Segment], options: GenerationOptions = GenerationOptions(),
            responseFormat: ResponseFormat? = nil
        ) {
            self.init(id: id, metadata: [:], segments: segments, options: options, responseFormat: responseFormat)
        }
    }

    /// The model's response.
    public struct Response: Sendable, Identifiable {
        /// Kept when the transcript is saved; `Omission.entryIDs` refers to it.
        public var id: String
        /// Names of the models that answered.
        public var assetIDs: [String]
        /// Values that the model's executor added.
        public internal(set) var metadata: [String: GeneratedContent]
        /// Texts and values; content without reasoning.
        public var segments: [Segment]

        /// A response for a transcript that an app writes itself, with the names of the models.
        public init(id: String = UUID().uuidString, assetIDs: [String], segments: [Segment]) {
            self.id = id
            self.assetIDs = assetIDs
            self.segments = segments
            metadata = [:]
        }

        /// A response with values for the model's executor, and no names of models.
        public init(
            id: String = UUID().uuidString, metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
            segments: [Segment]
        ) {
            self.init(id: id, assetIDs: [], segments: segments)
            self.metadata = metadata.contents
        }
    }

    /// The model's reasoning. Chat templates render it where the model was trained to read it again.
    public struct Reasoning: Sendable, Identifiable {
        /// Kept when the transcript is saved.
        public var id: String
        /// The text of the reasoning; empty if a service sends only the signature.
        public var segments: [Segment]
        /// By which a service recognizes its own reasoning.
        public var signature: Data?
        /// Values that the model's executor added.
        public var metadata: [String: GeneratedContent]

        /// Reasoning for a transcript that an app writes itself; a service may refuse one without its signature.
        public init(
            id: String = UUID().uuidString, metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
            segments: [Segment], signature: Data? = nil
        ) {
            self.id = id
            self.metadata = metadata.contents
            self.segments = segments
            self.signature = signature
        }
    }

    /// A record of turns dropped from what the model reads because the context was full.
    public struct Omission: Sendable, Equatable, Codable, Identifiable {
        /// Kept when the transcript is saved.
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

extension Transcript.Prompt: Equatable {}
extension Transcript.Response: Equatable {}
extension Transcript.Reasoning: Equatable {}
