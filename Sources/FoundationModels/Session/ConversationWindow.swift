import Foundation
import LocalLLM

/// The part of a transcript that the model reads: the instructions, a summary of dropped turns, and whole turns.
struct ConversationWindow: Sendable {
    /// A prompt with the calls, results and response that follow it.
    typealias Turn = [Transcript.Entry]

    private(set) var instructions: [Transcript.Entry] = []
    private(set) var turns: [Turn] = []
    /// Summary of all dropped turns.
    var summary: String?
    private let useCase: SystemLanguageModel.UseCase
    /// What may be called in the next message.
    private let tools: ToolOffer
    /// The images of the transcript, by the ids of their segments.
    private let images: [String: ModelImage]
    /// What the answer has to be; `nil`: text.
    let format: ContentFormat?
    private let reasoningLevel: ContextOptions.ReasoningLevel?

    init(
        _ transcript: Transcript, for useCase: SystemLanguageModel.UseCase = .general, tools: ToolOffer = .init(),
        images: [String: ModelImage] = [:], format: ContentFormat? = nil,
        reasoningLevel: ContextOptions.ReasoningLevel? = nil
    ) {
        self.format = format
        self.useCase = useCase
        self.tools = tools
        self.images = images
        self.reasoningLevel = reasoningLevel
        let omitted = Set(transcript.omissions.flatMap(\.entryIDs))
        summary = transcript.omissions.last?.summary
        for entry in transcript where !omitted.contains(entry.id) {
            switch entry {
            case .instructions: instructions.append(entry)
            case .prompt: turns.append([entry])
            case .reasoning, .response, .toolCalls, .toolOutput:
                turns.isEmpty ? turns.append([entry]) : turns[turns.count - 1].append(entry)
            }
        }
    }

    /// The window as a request.
    ///
    /// - Parameter prompt: Added after the window's turns.
    func request(adding prompt: String? = nil) -> ConversationRequest {
        var system = ChatMessage.system("")
        let told = instructions.map { entry in
            let message = ChatMessage(.system, entry.segments)
            system.images = message.images.map { (system.images ?? []) + $0 } ?? system.images
            return message.content
        }
        system.content = ([useCase.instructions].compactMap(\.self) + told + [summaryText].compactMap(\.self))
            .joined(separator: "\n\n")
        let messages = turns.flatMap { $0 }.messages + [prompt.map(ChatMessage.user)].compactMap(\.self)
        var request = ConversationRequest(.messages((system.content.isEmpty ? [] : [system]) + messages))
        request.tools = tools
        request.format = format
        if let reasoningLevel { request.rendering.variables.set(reasoningEffort: reasoningLevel.effort) }
        return request
    }

    /// Renders the window, up to where the answer begins.
    ///
    /// - Parameter prompt: Added after the window's turns.
    func prompt(
        for model: LocalModel, adding prompt: String? = nil
    ) throws(LocalModelError) -> ConversationPrompt {
        let shown = entries.flatMap(\.segments).compactMap { $0.image == nil ? nil : images[$0.id] }
        return try model.prompt(for: request(adding: prompt), images: shown)
    }

    /// The window as an executor reads it: a summary is part of the instructions.
    var transcript: Transcript {
        var entries = entries
        guard let summaryText else { return Transcript(entries: entries) }
        let said = Transcript.Segment.text(.init(content: summaryText))
        if case .instructions(var first)? = entries.first {
            first.segments.append(said)
            entries[0] = .instructions(first)
        } else {
            entries.insert(.instructions(.init(segments: [said])), at: 0)
        }
        return Transcript(entries: entries)
    }

    private var entries: [Transcript.Entry] { instructions + turns.joined() }

    var hasImages: Bool { entries.contains { $0.segments.contains { $0.image != nil } } }

    private var summaryText: String? { summary.map { "What was said before, in short: \($0)" } }

    /// The tokens that every next prompt begins with.
    ///
    /// - Parameter prefix: Known beginning of that prompt.
    func beginning(for model: LocalModel, prefix: String = "") throws(LocalModelError) -> [Int32] {
        let (one, other) = (try prompt(for: model, adding: prefix + "a"), try prompt(for: model, adding: prefix + "b"))
        return zip(one.tokens, other.tokens).prefix { $0 == $1 }.map(\.0)
    }

    /// - Returns: The dropped turns; the last turn is never among them.
    mutating func dropOlderHalf() -> [Turn] {
        let dropped = turns.prefix(turns.count / 2)
        turns.removeFirst(dropped.count)
        return Array(dropped)
    }

    /// Drops turns, oldest first, until the rest has at most `tokens` tokens or only the last turn is left.
    ///
    /// - Returns: The dropped turns.
    mutating func trim(to tokens: Int, for model: LocalModel) throws(LocalModelError) -> [Turn] {
        let all = turns
        var (kept, most) = (1, all.count - 1)
        while kept < most {
            let middle = (kept + most + 1) / 2
            turns = all.suffix(middle)
            if try prompt(for: model).tokens.count <= tokens { kept = middle } else { most = middle - 1 }
        }
        turns = all.suffix(kept)
        return all.dropLast(kept)
    }
}

extension Transcript.Entry {
    /// The text of the entry, without its role.
    var text: String { if case .toolCalls(let calls) = self { calls.description } else { segments.text } }
}

extension [Transcript.Entry] {
    /// Messages for the template: consecutive reasoning, text and calls form one assistant message.
    fileprivate var messages: [ChatMessage] {
        var messages: [ChatMessage] = []
        /// Whether the last message is an assistant's to which following entries are added.
        var isOpen = false
        func assistant(joinsOpen: Bool) -> Int {
            if !joinsOpen || !isOpen { messages.append(.assistant("")) }
            isOpen = true
            return messages.count - 1
        }
        for entry in self {
            switch entry {
            case .reasoning: messages[assistant(joinsOpen: false)].reasoning = entry.text
            case .response:
                let hasText = messages.last?.content.isEmpty == false
                messages[assistant(joinsOpen: !hasText)].content = entry.text
            case .toolCalls(let calls):
                messages[assistant(joinsOpen: true)].toolCalls = calls.map {
                    .init(id: $0.id, name: $0.toolName, arguments: $0.arguments.jsonString)
                }
                isOpen = false
            case .instructions: messages.append(.init(.system, entry.segments))
            case .prompt(let prompt):
                messages.append(.init(.user, prompt.segments, followedBy: prompt.schemaText))
                isOpen = false
            case .toolOutput(let output):
                var message = ChatMessage(.tool, output.segments)
                message.name = output.toolName
                message.toolCallID = output.id
                messages.append(message)
            }
        }
        return messages
    }
}

extension Transcript.Prompt {
    /// The schema that the answer has to follow, where the model reads it. A schema that cannot be written stops the
    /// request before this.
    fileprivate var schemaText: String {
        guard let format = responseFormat, contextOptions.includeSchemaInPrompt ?? true,
            let schema = try? format.schema.jsonSchema
        else { return "" }
        return "\n\nAnswer with JSON that follows this JSON Schema:\n\(schema)"
    }
}

extension ChatMessage {
    /// With a mark where each image is; images that are marked are all in `segments`.
    fileprivate init(_ role: Role, _ segments: [Transcript.Segment], followedBy text: String = "") {
        let images = segments.compactMap(\.image)
        guard !images.isEmpty else {
            self.init(role: role, content: segments.text + text)
            return
        }
        let mark = String(ChatMessage.imagePlaceholder)
        let lines = segments.map { segment in
            guard case .attachment(let attachment) = segment else {
                return segment.description.replacing(mark, with: "")
            }
            return (attachment.label.map { $0.replacing(mark, with: "") + ": " } ?? "") + mark
        }
        self.init(role: role, content: lines.joined(separator: "\n") + text.replacing(mark, with: ""))
        // A prompt's files are read before it is added; a model of this machine takes the window's `images` instead.
        self.images = images.map { (try? $0.data) ?? Data() }
    }
}
