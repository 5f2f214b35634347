/// A parsed piece of an answer. The pieces together are the whole message; no piece is ever revised.
public enum AnswerDelta: Sendable, Equatable {
    case reasoning(String)
    case content(String)
    /// A call begins. `id` is the model's own, if its dialect writes one before the arguments.
    case call(name: String, id: String?)
    /// A piece of the last call's arguments, as JSON text.
    case arguments(String)
    /// The last call is complete. `id` is set if the dialect writes it after the arguments.
    case callEnd(id: String?)
}

/// A parsed answer as a message.
public struct AnswerMessage: Sendable, Equatable {
    public struct Call: Sendable, Equatable {
        public var name: String
        /// The model's own identifier, if it wrote one.
        public var id: String?
        /// JSON text.
        public var arguments: String

        public init(name: String, id: String? = nil, arguments: String = "") {
            self.name = name
            self.id = id
            self.arguments = arguments
        }
    }

    public var content = ""
    public var reasoning = ""
    public var calls: [Call] = []

    public init() {}

    /// Adds the next delta of the answer.
    public mutating func add(_ delta: AnswerDelta) {
        switch delta {
        case .reasoning(let text): reasoning += text
        case .content(let text): content += text
        case .call(let name, let id): calls.append(Call(name: name, id: id))
        case .arguments(let text): calls[calls.count - 1].arguments += text
        case .callEnd(let id): if let id { calls[calls.count - 1].id = id }
        }
    }
}

/// Separates reasoning, content and tool calls in an answer that arrives in pieces of any size.
///
/// The result does not depend on how the text is split. Text that is not a call is content; there are no errors.
public struct AnswerParser: Sendable {
    // One of them is there. Not an enum: Swift 6.0 copies a payload that is taken out and put back, and with it all text
    // that it holds back.
    private var marked: MarkedAnswer?
    private var harmony: HarmonyAnswer?

    /// - Parameters:
    ///   - tools: Functions that may be called. Text that looks like a call of another one is content.
    ///   - prompt: The text before the answer; some templates end it with the beginning of the answer.
    ///   - unwrapsFence: Whether the content is JSON, from which to remove a Markdown fence.
    ///   - readsBareCalls: Whether an answer that is nothing but JSON objects with a tool's name and arguments is calls,
    ///     whatever the dialect.
    public init(
        _ dialect: Dialect, tools: [DeclaredTool], after prompt: String, unwrapsFence: Bool = false,
        readsBareCalls: Bool = true
    ) {
        if dialect.isHarmony {
            harmony = HarmonyAnswer(tools: tools, after: prompt)
        } else {
            marked = MarkedAnswer(
                dialect, tools: tools, after: prompt, unwrapsFence: unwrapsFence, readsBareCalls: readsBareCalls)
        }
    }

    /// Parses the next piece of the answer.
    public mutating func read(_ text: String) -> [AnswerDelta] { read(text, isLast: false) }

    /// Ends the answer: text held back is parsed as it is.
    public mutating func finish() -> [AnswerDelta] { read("", isLast: true) }

    /// Whether the last text was reasoning, or the marker that ends it.
    public var isReasoning: Bool { marked?.isReasoning ?? harmony?.isReasoning ?? false }

    /// Bytes of the answer before its content; `nil` while unknown.
    public var contentStart: Int? { marked?.contentStart ?? harmony?.contentStart }

    private mutating func read(_ text: String, isLast: Bool) -> [AnswerDelta] {
        var output = DeltaList()
        marked?.read(text, isLast: isLast, &output)
        harmony?.read(text, isLast: isLast, &output)
        return output.deltas
    }
}

/// Collects deltas; adjacent ones of the same kind are merged.
struct DeltaList {
    private(set) var deltas: [AnswerDelta] = []

    mutating func reasoning(_ bytes: some Sequence<UInt8>) {
        add(bytes, AnswerDelta.reasoning) { if case .reasoning(let text) = $0 { text } else { nil } }
    }

    mutating func content(_ bytes: some Sequence<UInt8>) {
        add(bytes, AnswerDelta.content) { if case .content(let text) = $0 { text } else { nil } }
    }

    mutating func arguments(_ bytes: some Sequence<UInt8>) {
        add(bytes, AnswerDelta.arguments) { if case .arguments(let text) = $0 { text } else { nil } }
    }

    mutating func add(_ delta: AnswerDelta) { deltas.append(delta) }

    private mutating func add(
        _ bytes: some Sequence<UInt8>, _ make: (String) -> AnswerDelta, _ get: (AnswerDelta) -> String?
    ) {
        let text = String(decoding: Array(bytes), as: UTF8.self)
        guard !text.isEmpty else { return }
        if var last = deltas.last.flatMap(get) {
            // Removed first, so that the text is extended in place.
            deltas.removeLast()
            last += text
            deltas.append(make(last))
        } else {
            deltas.append(make(text))
        }
    }
}
