/// What an answer means, in pieces; added up, the whole message. What was given is never taken back.
public enum AnswerDelta: Sendable, Equatable {
    case reasoning(String)
    case content(String)
    /// A call begins. `id` is the model's own, where its dialect has one before the arguments.
    case call(name: String, id: String?)
    /// A piece of the last call's arguments, JSON.
    case arguments(String)
    /// The last call is complete. `id` is set where the dialect writes it after the arguments.
    case callEnd(id: String?)
}

/// An answer as a message.
public struct AnswerMessage: Sendable, Equatable {
    public struct Call: Sendable, Equatable {
        public var name: String
        /// The model's own identifier, if it wrote one.
        public var id: String?
        /// JSON.
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

/// Tells thoughts, content and tool calls apart in an answer that comes in pieces of any size.
///
/// The same text gives the same message however it is cut. Text that is no call is content; nothing is an error.
public struct AnswerParser: Sendable {
    private enum Reader: Sendable {
        case marked(MarkedAnswer)
        case harmony(HarmonyAnswer)
    }

    private var reader: Reader

    /// - Parameters:
    ///   - tools: Functions that may be called. What looks like a call of another one is content.
    ///   - prompt: What the answer follows; templates of some models write its beginning.
    ///   - unwrapsFence: Whether the content is JSON, to be taken out of a Markdown fence that the model puts around it.
    public init(_ dialect: Dialect, tools: [DeclaredTool], after prompt: String, unwrapsFence: Bool = false) {
        reader =
            dialect.isHarmony
            ? .harmony(HarmonyAnswer(tools: tools, after: prompt))
            : .marked(MarkedAnswer(dialect, tools: tools, after: prompt, unwrapsFence: unwrapsFence))
    }

    public mutating func read(_ text: String) -> [AnswerDelta] { read(text, isLast: false) }

    /// Nothing follows: what was held back is then what it looks like.
    public mutating func finish() -> [AnswerDelta] { read("", isLast: true) }

    /// Whether what came last was thoughts, or the marker that ends them.
    public var isReasoning: Bool {
        switch reader {
        case .marked(let answer): answer.isReasoning
        case .harmony(let answer): answer.isReasoning
        }
    }

    /// Bytes of the answer before its content begins; `nil` while that is not known.
    public var contentStart: Int? {
        switch reader {
        case .marked(let answer): answer.contentStart
        case .harmony(let answer): answer.contentStart
        }
    }

    private mutating func read(_ text: String, isLast: Bool) -> [AnswerDelta] {
        var output = DeltaList()
        switch reader {
        case .marked(var answer):
            answer.read(text, isLast: isLast, &output)
            reader = .marked(answer)
        case .harmony(var answer):
            answer.read(text, isLast: isLast, &output)
            reader = .harmony(answer)
        }
        return output.deltas
    }
}

/// Collects deltas; neighbours of one kind become one.
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
        if let last = deltas.last.flatMap(get) {
            deltas[deltas.count - 1] = make(last + text)
        } else {
            deltas.append(make(text))
        }
    }
}
