import Foundation

/// A message of the model as it grows: entries for the transcript, and its usage.
struct GeneratedMessage: Sendable {
    private typealias Channel = LanguageModelExecutorGenerationChannel

    /// An entry that grows. Its text is apart, as calls are JSON that is not complete yet.
    fileprivate struct Growing {
        enum Kind { case reasoning, response, calls }

        let kind: Kind
        let id: String
        var segments: [Transcript.Segment] = []
        var signature: Data?
        var metadata: [String: GeneratedContent] = [:]
        var calls: [Call] = []
    }

    fileprivate struct Call {
        let id: String
        let name: String
        var arguments = ""
        var metadata: [String: GeneratedContent] = [:]
    }

    private var growing: [Growing] = []
    /// Names of the models that answer.
    var assetIDs: [String] = []
    var usage = LanguageModelSession.Usage()
    /// Its tokens, if the options ask for them.
    var probabilities: [TokenProbability] = []

    // MARK: What it says

    /// The text of its responses.
    var text: String { texts(of: .response).joined() }

    /// Its reasoning, as paragraphs.
    var reasoning: String { texts(of: .reasoning).filter { !$0.isEmpty }.joined(separator: "\n\n") }

    private func texts(of kind: Growing.Kind) -> [String] {
        growing.filter { $0.kind == kind }.map { entry in
            entry.segments.compactMap { if case .text(let text) = $0 { text.content } else { nil } }.joined()
        }
    }

    var callCount: Int { growing.reduce(0) { $0 + $1.calls.count } }

    /// - Throws: `ParsingError` for arguments that are not JSON.
    func calls() throws -> [Transcript.ToolCall] {
        try growing.flatMap(\.calls).map { call in
            Transcript.ToolCall(
                id: call.id, metadata: call.metadata, toolName: call.name,
                arguments: try GeneratedContent(json: call.arguments.isEmpty ? "{}" : call.arguments))
        }
    }

    /// Its reasoning and its responses, without those that are blank.
    ///
    /// - Parameter value: The value that the text of the last response is, with the name of its type.
    func said(as value: (content: GeneratedContent, name: String)? = nil) -> [Transcript.Entry] {
        let last = growing.lastIndex { $0.kind == .response }
        return growing.indices.compactMap { index in
            let entry = growing[index]
            var segments = entry.segments
            if index == last, let value {
                segments.removeAll { if case .text = $0 { true } else { false } }
                segments.insert(.structure(.init(source: value.name, content: value.content)), at: 0)
            }
            guard segments.contains(where: { !$0.isBlank }) else { return nil }
            switch entry.kind {
            case .reasoning:
                return .reasoning(
                    .init(id: entry.id, metadata: entry.metadata, segments: segments, signature: entry.signature))
            case .response:
                var response = Transcript.Response(id: entry.id, assetIDs: assetIDs, segments: segments)
                response.metadata = entry.metadata
                return .response(response)
            case .calls: return nil
            }
        }
    }

    /// The id of the entry of its calls.
    var callsID: String { growing.first { $0.kind == .calls }?.id ?? UUID().uuidString }

    // MARK: How it grows

    mutating func apply(_ event: LanguageModelExecutorGenerationChannel.Event) {
        switch event.kind {
        case .response(let change): apply(change)
        case .reasoning(let change): apply(change)
        case .toolCalls(let change): apply(change)
        }
    }

    private mutating func apply(_ change: Channel.Response) {
        switch change.action.kind {
        case .append(let fragment): self[.response, change.entryID].append(fragment.content, fragment.segmentID)
        case .replace(let fragment): self[.response, change.entryID].replace(fragment.content, fragment.segmentID)
        case .custom(let segment): self[.response, change.entryID].put(.custom(segment))
        case .attachment(let segment): self[.response, change.entryID].put(.attachment(segment))
        case .removeAttachment(let id): self[.response, change.entryID].segments.removeAll { $0.id == id }
        case .metadata(let more): self[.response, change.entryID].metadata.merge(more.values) { $1 }
        case .usage(let counts): usage = .init(counts)
        }
    }

    private mutating func apply(_ change: Channel.Reasoning) {
        switch change.action.kind {
        case .append(let fragment): self[.reasoning, change.entryID].append(fragment.content, fragment.segmentID)
        case .replace(let fragment): self[.reasoning, change.entryID].replace(fragment.content, fragment.segmentID)
        case .signature(let signature): self[.reasoning, change.entryID].signature = signature.signature
        case .metadata(let more): self[.reasoning, change.entryID].metadata.merge(more.values) { $1 }
        case .usage(let counts): usage = .init(counts)
        }
    }

    private mutating func apply(_ change: Channel.ToolCalls) {
        switch change.action.kind {
        case .call(let call):
            self[.calls, change.entryID].change(call: call.id, name: call.name) { growing in
                switch call.action.kind {
                case .append(let fragment): growing.arguments += fragment.content
                case .metadata(let more): growing.metadata.merge(more.values) { $1 }
                }
            }
        case .remove(let id):
            for index in growing.indices { growing[index].calls.removeAll { $0.id == id } }
        case .metadata(let more):
            let id = change.entryID
            for index in self[.calls, id].calls.indices {
                self[.calls, id].calls[index].metadata.merge(more.values) { $1 }
            }
        case .usage(let counts): usage = .init(counts)
        }
    }

    /// The entry with an id, or the last entry if it is of this kind; else a new one.
    private subscript(kind: Growing.Kind, id: String?) -> Growing {
        mutating get { growing[index(of: kind, id)] }
        set { growing[index(of: kind, id)] = newValue }
    }

    private mutating func index(of kind: Growing.Kind, _ id: String?) -> Int {
        let known =
            if let id { growing.lastIndex { $0.kind == kind && $0.id == id } } else {
                growing.last?.kind == kind ? growing.count - 1 : nil
            }
        if let known { return known }
        growing.append(Growing(kind: kind, id: id ?? UUID().uuidString))
        return growing.count - 1
    }
}

extension GeneratedMessage.Growing {
    mutating func append(_ text: String, _ id: String?) { change(text: id) { $0 += text } }
    mutating func replace(_ text: String, _ id: String?) { change(text: id) { $0 = text } }

    private mutating func change(text id: String?, _ change: (inout String) -> Void) {
        let index = segments.lastIndex { if case .text(let text) = $0 { id == nil || text.id == id } else { false } }
        var segment = Transcript.TextSegment(id: id ?? UUID().uuidString, content: "")
        if let index, case .text(let known) = segments[index] { segment = known }
        change(&segment.content)
        if let index { segments[index] = .text(segment) } else { segments.append(.text(segment)) }
    }

    /// Adds a segment, or replaces the one with its id.
    mutating func put(_ segment: Transcript.Segment) {
        if let index = segments.firstIndex(where: { $0.id == segment.id }) {
            segments[index] = segment
        } else {
            segments.append(segment)
        }
    }

    mutating func change(call id: String, name: String, _ change: (inout GeneratedMessage.Call) -> Void) {
        if !calls.contains(where: { $0.id == id }) { calls.append(.init(id: id, name: name)) }
        for index in calls.indices where calls[index].id == id { change(&calls[index]) }
    }
}

extension Transcript.Segment {
    fileprivate var isBlank: Bool { if case .text(let text) = self { text.content.isBlank } else { false } }
}

extension String {
    var isBlank: Bool { allSatisfy(\.isWhitespace) }
}

extension LanguageModelSession.Usage {
    fileprivate init(_ usage: LanguageModelExecutorGenerationChannel.Usage) {
        self.init(
            input: .init(
                totalTokenCount: usage.input.totalTokenCount, cachedTokenCount: usage.input.cachedTokenCount),
            output: .init(
                totalTokenCount: usage.output.totalTokenCount, reasoningTokenCount: usage.output.reasoningTokenCount),
            metadata: usage.metadata)
    }
}
