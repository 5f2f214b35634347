/// A dialect's markers as bytes, without surrounding white space.
struct Markers: Sendable {
    let open, close, contentOpen, contentClose: [UInt8]
    let trimsThoughtsStart, trimsThoughtsEnd: Bool
    /// Whether reasoning may begin anywhere, since its markers are control tokens.
    let isControl: Bool
    /// Markers without meaning of their own, and whether they are recognized only at the start of the answer.
    let dropped: [(marker: [UInt8], isOnlyAtStart: Bool)]
    /// First bytes of all markers.
    let firstBytes: Set<UInt8>

    init(_ dialect: Dialect) {
        let thoughts = dialect.thoughts
        open = bytes(thoughts.open)
        close = bytes(thoughts.close)
        contentOpen = bytes(dialect.contentOpen)
        contentClose = bytes(dialect.contentClose)
        trimsThoughtsStart = !thoughts.afterOpen.isEmpty
        trimsThoughtsEnd = !thoughts.beforeClose.isEmpty
        isControl = thoughts.isControl
        func isMarker(_ text: [UInt8]) -> Bool {
            guard let first = text.first else { return false }
            return "<[]".utf8.contains(first) || first >= 0x80
        }
        dropped =
            ([(close, !thoughts.isControl), (contentOpen, !isMarker(contentOpen)), (contentClose, false)]
            + dialect.turnEnd.map { (bytes($0), false) })
            .filter { !$0.0.isEmpty && ($0.1 || isMarker($0.0)) }
        firstBytes = Set(
            (dropped.filter { !$0.isOnlyAtStart }.map(\.marker) + (isControl ? [open] : [])).compactMap(\.first))
    }

    /// The marker at the end of a prompt, after which the answer continues.
    func atEnd(of prompt: String) -> [UInt8]? {
        let end = Array(prompt.utf8.reversed().drop(while: isSpace).prefix(1024).reversed())
        return [open, close, contentOpen].first { marker in
            !marker.isEmpty && end.count >= marker.count && end.suffix(marker.count).elementsEqual(marker)
        }
    }

    func reader(_ syntax: CallSyntax, _ all: [CallSyntax], schema: ArgumentSchema) -> ArgumentReader {
        let ends = (syntax.eachClose + syntax.close).compactMap(\.bytes)
        switch syntax.body {
        case .object, .header(_, .json): return .json(JSONArguments(close: ends.first ?? [], schema: schema))
        case .pythonic: return .notation(.pythonArguments)
        case .header(_, .quoted(let quote)):
            return .notation(Notation(quotes: [Array(quote.utf8)], hasEscapes: false))
        case .header(_, .tagged(let tags)):
            let starts = (syntax.open + syntax.each + syntax.separator).compactMap(\.bytes)
            return .tagged(TaggedArguments(tags, ends: ends + starts, schema: schema))
        }
    }
}

private func bytes(_ text: String) -> [UInt8] { Array(trim(Array(text.utf8))) }

/// The remainder of a call's object after its arguments.
struct JSONTail: Sendable {
    private var depth: Int
    private var isInString = false
    private var isEscaped = false
    private var bytes: [UInt8] = []

    init(depth: Int) { self.depth = depth }

    var isComplete: Bool { depth == 0 }

    mutating func read(_ text: inout PendingText) {
        while depth > 0, !text.isEmpty {
            let byte = text.bytes[text.cursor]
            text.cursor += 1
            if bytes.count < 4096 { bytes.append(byte) }
            if isInString {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
    }

    /// The call's identifier, if it came after the arguments.
    var id: String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let match = text.firstMatch(of: #/"(?:id|tool_call_id|call_id)"\s*:\s*"([^"\\]{1,128})"/#) else {
            return nil
        }
        return String(match.1)
    }
}

/// Removes a Markdown fence around JSON.
struct FenceFilter: Sendable {
    private static let fence = Array("```".utf8)
    /// Maximum bytes of the line that begins a fence: "```json".
    private static let longestLine = 256
    private var head: [UInt8] = []
    private enum State { case undecided, fenced, plain, ended }
    private var state = State.undecided
    private var held: [UInt8] = []

    mutating func read(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        switch state {
        case .plain: return Array(bytes)
        case .ended: return []
        case .undecided:
            head += bytes
            guard head.starts(with: Self.fence.prefix(head.count)) else {
                state = .plain
                return head
            }
            guard let line = head.prefix(Self.longestLine).firstIndex(of: 0x0a) else {
                guard head.count >= Self.longestLine else { return [] }
                state = .plain
                return head
            }
            state = .fenced
            return inside(Array(head[(line + 1)...]))
        case .fenced: return inside(Array(bytes))
        }
    }

    /// The text held back, if there was no fence.
    mutating func finish() -> [UInt8] {
        switch state {
        case .undecided: head
        case .fenced: held
        case .plain, .ended: []
        }
    }

    private mutating func inside(_ bytes: [UInt8]) -> [UInt8] {
        held += bytes
        // JSON has no fence outside of strings, and inside one it cannot start a line: line breaks are escaped.
        if let end = held.firstRange(of: [0x0a] + Self.fence) {
            state = .ended
            return Array(held[..<end.lowerBound])
        }
        let kept = (1...4).reversed().first { held.suffix($0).elementsEqual(([0x0a] + Self.fence).prefix($0)) } ?? 0
        defer { held = Array(held.suffix(kept)) }
        return Array(held.dropLast(kept))
    }
}
