import Foundation
import JSON
import LocalLLM
import Tokenizer
import Wire

/// Builds a response from deltas, and emits OpenAI's typed events for each step.
///
/// Events of an item: item added, part added, text deltas, part done, item done. Reasoning is an item before the
/// message; if a summary was requested, the reasoning is repeated as the summary.
struct ResponseEncoder: AnswerEncoder {
    /// The response so far.
    private(set) var response: ModelResponse
    /// `nil` unless the client asked for probabilities.
    private let tokenizer: TextTokenizer?
    /// As in `OfferedTools`.
    private let namespaced: [String: OfferedTools.NamespacedName]
    /// Called with the complete response.
    private let whenWhole: @Sendable (ModelResponse) -> Void
    /// Whether the events of `queued` precede those of this encoder.
    var wasQueued = false
    private var sequenceNumber = 0
    /// Events up to this sequence number are omitted.
    private var startingAfter = -1

    /// The events of a complete response after a sequence number.
    static func replay(_ whole: ModelResponse, startingAfter: Int) throws -> [UInt8] {
        var encoder = Self(whole.begun, tokenizer: nil) { _ in }
        encoder.startingAfter = startingAfter
        var events = try encoder.begin()
        for item in whole.output {
            events += try encoder.open(item.type, id: item.id) {
                $0.callID = item.callID
                $0.name = item.name
                $0.namespace = item.namespace
            }
            if let arguments = item.arguments ?? item.input, !arguments.isEmpty {
                events += try encoder.add(arguments, isCustom: item.type == .customToolCall)
            }
            for part in item.content ?? [] where !part.text.isEmpty || part.logprobs?.isEmpty == false {
                events += try encoder.add(part.text, part.logprobs ?? [], to: item.type)
            }
            events += try encoder.close(item.status)
        }
        // There is no event for the end of one that the client cancelled.
        guard whole.status != .cancelled else { return events }
        return try events + encoder.event("response.\(whole.status.rawValue)") { $0.response = whole }
    }

    /// The first events of a response in the background.
    static func queued(_ response: ModelResponse) throws -> [UInt8] {
        var encoder = Self(response, tokenizer: nil) { _ in }
        return try encoder.event("response.created") { $0.response = response }
            + encoder.event("response.queued") { $0.response = response }
    }

    /// The last event of a response in the background that failed before `begin`.
    static func failure(_ error: APIError, ofQueued response: ModelResponse) throws -> (ModelResponse, [UInt8]) {
        var encoder = Self(response, tokenizer: nil) { _ in }
        encoder.sequenceNumber = queuedEvents
        let events = try encoder.fail(error)
        return (encoder.response, events)
    }

    /// Number of events of `queued`.
    private static let queuedEvents = 2

    init(
        _ response: ModelResponse, tokenizer: TextTokenizer?,
        namespaced: [String: OfferedTools.NamespacedName] = [:],
        whenWhole: @escaping @Sendable (ModelResponse) -> Void
    ) {
        self.response = response
        self.tokenizer = tokenizer
        self.namespaced = namespaced
        self.whenWhole = whenWhole
    }

    mutating func whole(_ choices: [ChoiceDelta]) throws -> ModelResponse {
        startingAfter = .max
        for delta in choices { _ = try encode(delta) }
        _ = try end(choices.compactMap(\.finish))
        var short = response
        _ = short.takeLogprobs()
        return short
    }

    func lists(_: [ChoiceDelta]) -> [String: [LongList]] {
        var whole = response
        return Self.lists(whole.takeLogprobs())
    }

    private static func lists(_ logprobs: [[ChatLogprobs.Token]]) -> [String: [LongList]] {
        [
            "logprobs": logprobs.map { tokens in
                LongList(count: tokens.count, values: 8 * (1 + (tokens.last?.topLogprobs.count ?? 0))) { tokens[$0] }
            }
        ]
    }

    mutating func begin() throws -> [UInt8] {
        let begun = response
        if wasQueued {
            sequenceNumber = Self.queuedEvents
            return try event("response.in_progress") { $0.response = begun }
        }
        return try event("response.created") { $0.response = begun }
            + event("response.in_progress") { $0.response = begun }
    }

    mutating func encode(_ delta: ChoiceDelta) throws -> [UInt8] {
        var events: [UInt8] = []
        if !delta.reasoning.isEmpty { events += try add(delta.reasoning, to: .reasoning) }
        let logprobs = tokenizer.map { ChatLogprobs(delta.tokens, $0).content } ?? []
        if !delta.content.isEmpty || !logprobs.isEmpty {
            events += try add(delta.content, logprobs, to: .message)
        }
        for call in delta.calls { events += try add(call) }
        guard let finish = delta.finish else { return events }
        // A response has at least one item, even if the text is empty.
        if response.output.isEmpty { events += try open(.message) }
        events += try close(finish.reason == .length ? .incomplete : .completed)
        return events
    }

    mutating func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8] {
        for finish in choices {
            response.finish(
                reason: finish.reason.rawValue, usage: TokenUsage(finish), at: Int(Date().timeIntervalSince1970))
        }
        let whole = response
        whenWhole(whole)
        return try event("response.\(whole.status.rawValue)") { $0.response = whole }
    }

    mutating func fail(_ error: APIError) throws -> [UInt8] {
        if !response.output.isEmpty { response.output[response.output.count - 1].status = .incomplete }
        response.fail(error)
        let failed = response
        return try event("response.failed") { $0.response = failed }
    }

    static func failure(_ error: APIError) throws -> [UInt8] {
        ServerSentEvent.named("error", try JSON.encode(ResponseErrorEvent(error, sequenceNumber: 0)))
    }

    private mutating func add(
        _ text: String, _ logprobs: [ChatLogprobs.Token] = [], to kind: ModelResponse.Item.Kind
    ) throws -> [UInt8] {
        var events: [UInt8] = []
        if response.output.last?.type != kind { events += try open(kind) }
        let last = response.output.count - 1
        response.output[last].content?[0].text += text
        response.output[last].content?[0].logprobs? += logprobs
        if kind == .reasoning, sumsUp {
            response.output[last].summary?[0].text += text
            events += try summaryEvent("text.delta") { $0.delta = text }
        }
        return try events
            + part(kind == .message ? "response.output_text.delta" : "response.reasoning_text.delta") {
                $0.delta = text
                $0.logprobs = kind == .message ? logprobs : nil
            }
    }

    private mutating func add(_ call: CallDelta) throws -> [UInt8] {
        var events: [UInt8] = []
        if let name = call.name {
            let own = namespaced[name]
            events += try open(call.isCustom ? .customToolCall : .functionCall) {
                $0.callID = call.id
                $0.name = own?.name ?? name
                $0.namespace = own?.namespace
            }
        }
        return call.arguments.isEmpty ? events : try events + add(call.arguments, isCustom: call.isCustom)
    }

    /// Appends to the arguments of the last call.
    private mutating func add(_ arguments: String, isCustom: Bool) throws -> [UInt8] {
        let last = response.output.count - 1
        response.output[last].arguments? += arguments
        response.output[last].input? += arguments
        let type = isCustom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta"
        return try part(type, hasContent: false) { $0.delta = arguments }
    }

    private mutating func open(
        _ kind: ModelResponse.Item.Kind, id: String? = nil, _ fill: (inout ModelResponse.Item) -> Void = { _ in }
    ) throws -> [UInt8] {
        var events = response.output.last?.status == .inProgress ? try close(.completed) : []
        let prefix =
            switch kind {
            case .message: "msg_"
            case .reasoning: "rs_"
            case .functionCall: "fc_"
            case .customToolCall: "ctc_"
            }
        var opened = ModelResponse.Item(kind, id: id ?? .unique(prefix))
        fill(&opened)
        response.output.append(opened)
        let index = response.output.count - 1
        events += try event("response.output_item.added") {
            $0.item = opened
            $0.outputIndex = index
        }
        guard opened.content != nil else { return events }
        let empty = ModelResponse.Part(of: kind)
        response.output[index].content = [empty]
        events += try part("response.content_part.added") { $0.part = empty }
        guard kind == .reasoning, sumsUp else { return events }
        response.output[index].summary = [.summary]
        return try events + summaryEvent("part.added") { $0.part = .summary }
    }

    /// Whether reasoning is also sent as the summary.
    private var sumsUp: Bool { response.reasoning.summary != nil }

    private mutating func summaryEvent(_ name: String, _ fill: (inout ResponseEvent) -> Void) throws -> [UInt8] {
        try part("response.reasoning_summary_\(name)", hasContent: false) {
            $0.summaryIndex = 0
            fill(&$0)
        }
    }

    private mutating func close(_ status: ModelResponse.Status) throws -> [UInt8] {
        let index = response.output.count - 1
        response.output[index].status = status
        let item = response.output[index]
        guard let whole = item.content?[0] else {
            let isCustom = item.type == .customToolCall
            let type = isCustom ? "response.custom_tool_call_input.done" : "response.function_call_arguments.done"
            return try part(type, hasContent: false) {
                $0.name = isCustom ? nil : item.name
                $0.arguments = item.arguments
                $0.input = item.input
            }
                + event("response.output_item.done") {
                    $0.item = item
                    $0.outputIndex = index
                }
        }
        var events: [UInt8] = []
        if let summary = item.summary?.first {
            events += try summaryEvent("text.done") { $0.text = summary.text }
            events += try summaryEvent("part.done") { $0.part = summary }
        }
        return try events
            + part(item.type == .message ? "response.output_text.done" : "response.reasoning_text.done") {
                $0.text = whole.text
                $0.logprobs = whole.logprobs
            } + part("response.content_part.done") { $0.part = whole }
            + event("response.output_item.done") {
                $0.item = item
                $0.outputIndex = index
            }
    }

    /// An event about the last item, and about its only part if it has one.
    private mutating func part(
        _ type: String, hasContent: Bool = true, _ fill: (inout ResponseEvent) -> Void
    ) throws -> [UInt8] {
        let index = response.output.count - 1
        let id = response.output[index].id
        return try event(type) {
            $0.itemID = id
            $0.outputIndex = index
            $0.contentIndex = hasContent ? 0 : nil
            fill(&$0)
        }
    }

    private mutating func event(_ type: String, _ fill: (inout ResponseEvent) -> Void) throws -> [UInt8] {
        var event = ResponseEvent(type, sequenceNumber: sequenceNumber)
        sequenceNumber += 1
        guard event.sequenceNumber > startingAfter else { return [] }
        fill(&event)
        // The last events contain the log probabilities of the whole answer.
        let lists = Self.lists(event.takeLogprobs())
        return ServerSentEvent.named(type, try LongList.encode(event, filling: lists))
    }
}

// Log probabilities are taken out in the order in which they are encoded, and empty lists stay in their places.

extension ModelResponse.Part {
    fileprivate mutating func takeLogprobs() -> [[ChatLogprobs.Token]] {
        guard let tokens = logprobs else { return [] }
        logprobs = []
        return [tokens]
    }
}

extension ModelResponse.Item {
    fileprivate mutating func takeLogprobs() -> [[ChatLogprobs.Token]] {
        (content ?? []).indices.flatMap { content?[$0].takeLogprobs() ?? [] }
    }
}

extension ModelResponse {
    fileprivate mutating func takeLogprobs() -> [[ChatLogprobs.Token]] {
        output.indices.flatMap { output[$0].takeLogprobs() }
    }
}

extension ResponseEvent {
    /// An event has at most one field with log probabilities.
    fileprivate mutating func takeLogprobs() -> [[ChatLogprobs.Token]] {
        if let tokens = logprobs {
            logprobs = []
            return [tokens]
        }
        return part?.takeLogprobs() ?? item?.takeLogprobs() ?? response?.takeLogprobs() ?? []
    }
}
