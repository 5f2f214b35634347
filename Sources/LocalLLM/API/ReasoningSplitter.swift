/// Tells a model's thoughts from its answer, while both come in pieces: an output that begins with `<think>` is thoughts
/// up to `</think>`.
///
/// A tag may be cut anywhere between two pieces, so what could be the beginning of one is held back. White space around
/// the thoughts belongs to neither.
package struct ReasoningSplitter: Sendable {
    private enum State {
        /// Nothing but white space and perhaps a part of `<think>` has come.
        case beginning
        case reasoning
        /// `</think>` has come, and nothing after it.
        case closed
        case content
    }

    private static let open = Array("<think>".utf8)
    private static let close = Array("</think>".utf8)

    private var state: State
    private var held: [UInt8] = []
    private var hasReasoned = false
    /// Bytes of the output up to where the content begins; `nil` while that is not known.
    package private(set) var contentStart: Int?
    private var byteCount = 0

    /// Whether what came last was thoughts, or the tag that ends them.
    package var isReasoning: Bool { state == .reasoning || state == .closed }

    /// - Parameter prompt: Templates of some models write the opening tag themselves, at the prompt's end.
    package init(after prompt: String) {
        let end = prompt.utf8.reversed().drop(while: isSpace).prefix(Self.open.count)
        state = end.elementsEqual(Self.open.reversed()) ? .reasoning : .beginning
    }

    /// - Parameter isLast: Whether nothing follows: what was held back is then what it looks like.
    package mutating func split(_ text: String, isLast: Bool) -> (reasoning: String, content: String) {
        held += text.utf8
        byteCount += text.utf8.count
        if case .beginning = state { begin(isLast: isLast) }
        let reasoning = state == .reasoning ? takeReasoning(isLast: isLast) : ""
        if case .closed = state { held = Array(held.drop(while: isSpace)) }
        guard state == .content || state == .closed, !held.isEmpty else { return (reasoning, "") }
        if contentStart == nil { contentStart = byteCount - held.count }
        state = .content
        defer { held = [] }
        return (reasoning, String(decoding: held, as: UTF8.self))
    }

    private mutating func begin(isLast: Bool) {
        let text = held.drop(while: isSpace)
        if text.starts(with: Self.open) {
            held = Array(text.dropFirst(Self.open.count))
            state = .reasoning
        } else if isLast || !Self.open.starts(with: text) {
            state = .content
        }
    }

    private mutating func takeReasoning(isLast: Bool) -> String {
        if !hasReasoned { held = Array(held.drop(while: isSpace)) }
        let close = held.indices.first { start in
            held[start...].prefix(Self.close.count).elementsEqual(Self.close.prefix(held.count - start))
        }
        let isWhole = close.map { held.count - $0 >= Self.close.count } ?? false
        var end = close ?? held.count
        if isLast, !isWhole { end = held.count }
        var text = held[..<end]
        // The white space before a closing tag is left out, that between two thoughts is not.
        if isWhole || !isLast { while let last = text.last, isSpace(last) { text.removeLast() } }
        held = Array(held[(isWhole ? end + Self.close.count : text.endIndex)...])
        if isWhole { state = .closed }
        if !text.isEmpty { hasReasoned = true }
        return String(decoding: text, as: UTF8.self)
    }
}

private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
