import Synchronization
public import Tokenizer

/// The tokens of a model as constraints see them: their bytes in a tree, and what of them is known beforehand.
///
/// Takes some 100 ms for 128,000 tokens and 15 MB; made once for a model and shared.
public final class TokenVocabulary: Sendable {
    /// Number of ids, control tokens included.
    public let count: Int
    /// Tokens after which nothing more is generated: allowed exactly where the text is complete.
    public let endOfGeneration: [Int32]
    let bytes: [[UInt8]]
    let trie: TokenTrie
    let text: TextSlice
    let whitespace: WhitespaceSlice
    /// The text of control tokens that may stand for it in the literals of a `ConstraintGraph`, and nowhere else.
    let spoken: [Int32: [UInt8]]
    private let continuing = Mutex<[UInt8: [Int32]]>([:])

    /// - Parameter spoken: Control tokens that count as their text in literals. All others are never allowed.
    public convenience init(_ tokenizer: TextTokenizer, spoken: Set<Int32> = []) {
        let ends = tokenizer.endOfGeneration
        let bytes = (0..<Int32(tokenizer.vocabularySize)).map { id -> [UInt8] in
            ends.contains(id) || spoken.contains(id) ? [] : tokenizer.bytes(of: id)
        }
        let texts = spoken.subtracting(ends).map { ($0, tokenizer.bytes(of: $0, includingControl: true)) }
        self.init(
            bytes: bytes, endOfGeneration: ends.sorted(), spoken: Dictionary(uniqueKeysWithValues: texts))
    }

    /// - Parameters:
    ///   - bytes: The text of each token; those that are empty are never allowed.
    ///   - endOfGeneration: Ids of tokens that end the text.
    ///   - spoken: Texts of tokens that stand for them in literals only.
    public init(bytes: [[UInt8]], endOfGeneration: [Int32], spoken: [Int32: [UInt8]] = [:]) {
        self.spoken = spoken
        count = bytes.count
        self.endOfGeneration = endOfGeneration.filter { bytes.indices.contains(Int($0)) }
        self.bytes = bytes
        let entries = bytes.indices.map { (bytes: bytes[$0][...], token: Int32($0)) }
        trie = TokenTrie(entries)
        text = TextSlice(bytes)
        whitespace = WhitespaceSlice(bytes)
    }

    func bytes(of token: Int32) -> [UInt8]? {
        guard token >= 0, Int(token) < count, !bytes[Int(token)].isEmpty else { return nil }
        return bytes[Int(token)]
    }

    /// Tokens that have this byte before their last one.
    func tokens(continuingAfter byte: UInt8) -> [Int32] {
        continuing.withLock { known in
            if let tokens = known[byte] { return tokens }
            let tokens = bytes.indices.filter { bytes[$0].dropLast().contains(byte) }.map { Int32($0) }
            known[byte] = tokens
            return tokens
        }
    }

    /// The text in tokens, the longest first at each place: not as the model would write it, but always its bytes.
    public func longestTokens(_ text: [UInt8]) -> [Int32] {
        var (result, at) = ([Int32](), 0)
        while at < text.count {
            var (node, end) = (0, at)
            var best: (token: Int32, end: Int)?
            while end < text.count, let child = trie.child(of: node, text[end]) {
                (node, end) = (child, end + 1)
                if trie.nodes[node].end >= 0 { best = (trie.tokens[Int(trie.starts[Int(trie.nodes[node].end)])], end) }
            }
            guard let best else { return result }
            result.append(best.token)
            at = best.end
        }
        return result
    }
}
