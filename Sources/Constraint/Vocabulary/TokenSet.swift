/// Tokens as a list while they are few, as bits where they are many.
enum TokenSet: Sendable {
    case few([Int32])
    case many([UInt64])

    init(_ tokens: [Int32], tokenCount: Int) {
        guard tokens.count > tokenCount / 64 else {
            self = .few(tokens)
            return
        }
        var words = [UInt64](repeating: 0, count: (tokenCount + 63) / 64)
        for token in tokens { words[Int(token) >> 6] |= 1 << UInt64(token & 63) }
        self = .many(words)
    }

    /// Bytes of memory.
    var size: Int {
        switch self {
        case .few(let tokens): 4 * tokens.count
        case .many(let words): 8 * words.count
        }
    }
}
