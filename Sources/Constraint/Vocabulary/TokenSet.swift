/// A set of tokens: a list if they are few, bits if they are many.
enum TokenSet: Sendable {
    case few([Int32])
    case many([UInt64])

    /// Bytes of memory.
    var size: Int {
        switch self {
        case .few(let tokens): 4 * tokens.count
        case .many(let words): 8 * words.count
        }
    }

    /// Builds a set token by token.
    struct Builder {
        private let tokenCount: Int
        private var few: [Int32] = []
        /// Used instead of the list once there are many tokens.
        private var words: [UInt64] = []

        /// - Parameter tokenCount: Number of tokens in the vocabulary.
        init(_ tokenCount: Int) { self.tokenCount = tokenCount }

        @inline(__always)
        mutating func insert(_ token: Int32) {
            guard words.isEmpty else {
                words[Int(token) >> 6] |= 1 << UInt64(token & 63)
                return
            }
            few.append(token)
            guard few.count > tokenCount / 64 else { return }
            words = Array(repeating: 0, count: (tokenCount + 63) / 64)
            for token in few { words[Int(token) >> 6] |= 1 << UInt64(token & 63) }
        }

        var set: TokenSet { words.isEmpty ? .few(few) : .many(words) }
    }
}
