/// Parses answers in OpenAI's Harmony format (gpt-oss): messages with a channel and a recipient.
///
/// `<|channel|>analysis<|message|>` begins reasoning, `final` and `commentary` begin content, and a recipient
/// `to=functions.NAME`, before or after the channel, begins a call.
struct HarmonyAnswer: Sendable {
    private enum State: Sendable {
        /// In a header, up to `<|message|>`.
        case header
        case reasoning, content, dropped
        case arguments(JSONArguments)
        /// Between messages: `<|start|>assistant` follows.
        case between
    }

    private static let message = Array("<|message|>".utf8)
    private static let start = Array("<|start|>".utf8)
    /// Markers that end a message.
    private static let ends = ["<|end|>", "<|return|>", "<|call|>", "<|start|>"].map { Array($0.utf8) }
    private static let longestHeader = 512

    private let tools: [String: ArgumentSchema]
    private var text = PendingText()
    private var state = State.header
    private var hasContent = false
    private(set) var contentStart: Int?
    /// Bytes of the prompt that are parsed as the beginning of the answer.
    private let virtual: Int

    init(tools: [DeclaredTool], after prompt: String) {
        self.tools = Dictionary(tools.map { ($0.name, $0.parameters) }) { first, _ in first }
        let begin = Array("<|start|>assistant".utf8)
        if let last = Array(prompt.utf8.suffix(1024)).ranges(of: begin).last {
            text.bytes = Array(Array(prompt.utf8.suffix(1024))[last.upperBound...])
        }
        virtual = text.bytes.count
    }

    var isReasoning: Bool { if case .reasoning = state { true } else { false } }

    mutating func read(_ piece: String, isLast: Bool, _ output: inout DeltaList) {
        text.bytes += piece.utf8
        var isMoving = true
        while isMoving {
            switch state {
            case .header: isMoving = header(isLast, &output)
            case .between: isMoving = between(isLast)
            case .reasoning, .content, .dropped: isMoving = body(isLast, &output)
            case .arguments(var reader):
                output.arguments(reader.read(&text))
                state = .arguments(reader)
                isMoving = reader.isComplete
                if isMoving {
                    output.add(.callEnd(id: nil))
                    state = .dropped
                }
            }
        }
        text.release()
    }

    private mutating func header(_ isLast: Bool, _ output: inout DeltaList) -> Bool {
        let rest = text.rest.drop(while: isSpace)
        let looksRight = ["<|channel|>", "to=", "<|message|>", "<|constrain|>"].contains { begin in
            begin.utf8.starts(with: rest.prefix(begin.utf8.count))
        }
        if looksRight, let range = rest.firstRange(of: Self.message) {
            let header = String(decoding: rest[..<range.lowerBound], as: UTF8.self)
            text.cursor = range.upperBound
            begin(header, &output)
            return true
        }
        if looksRight, !isLast, text.rest.count < Self.longestHeader { return false }
        guard !rest.isEmpty || text.rest.count >= Self.longestHeader else { return false }
        state = .content
        return true
    }

    private mutating func begin(_ header: String, _ output: inout DeltaList) {
        let channel = header.matches(of: #/<\|channel\|>\s*(\w+)/#).last.map { String($0.1) }
        let recipient = header.firstMatch(of: #/to=([^\s<]+)/#).map { String($0.1) }
        if let recipient, recipient != "assistant", recipient != "user", recipient != "all" {
            let name = recipient.hasPrefix("functions.") ? String(recipient.dropFirst(10)) : recipient
            if let schema = tools[name] {
                output.add(.call(name: name, id: nil))
                state = .arguments(JSONArguments(close: [], schema: schema))
            } else {
                // Built-in tools that the model knows from training but that were not declared.
                state = recipient.hasPrefix("functions.") ? .content : .dropped
            }
            return
        }
        state = channel == "analysis" ? .reasoning : .content
    }

    private mutating func body(_ isLast: Bool, _ output: inout DeltaList) -> Bool {
        var place = text.cursor
        var isHeld = false
        scan: while place < text.bytes.count {
            guard text.bytes[place] == UInt8(ascii: "<") else {
                place += 1
                continue
            }
            for end in Self.ends {
                switch text.match(end, at: place, isLast: isLast) {
                case .no: continue
                case .partial:
                    isHeld = true
                    break scan
                case .full(let after):
                    write(upTo: place, &output)
                    text.cursor = end == Self.start ? place : after
                    state = .between
                    return true
                }
            }
            place += 1
        }
        _ = isHeld
        write(upTo: place, &output)
        return false
    }

    private mutating func write(upTo place: Int, _ output: inout DeltaList) {
        let bytes = text.bytes[text.cursor..<place]
        if case .reasoning = state { output.reasoning(bytes) }
        if case .content = state, !bytes.isEmpty {
            if contentStart == nil { contentStart = max(0, text.position - virtual) }
            output.content(bytes)
        }
        text.cursor = place
    }

    private mutating func between(_ isLast: Bool) -> Bool {
        let place = text.afterSpace(text.cursor)
        text.cursor = place
        guard place < text.bytes.count else { return false }
        switch text.match(Self.start + Array("assistant".utf8), at: place, isLast: isLast) {
        case .partial: return false
        case .full(let end):
            text.cursor = end
            state = .header
        case .no:
            // A marker that ends or begins a message without a role.
            state = .header
            if case .full(let end) = text.match(Self.start, at: place, isLast: isLast) { text.cursor = end }
        }
        return true
    }
}
