import Synchronization
public import Tokenizer

/// Counts the bytes that the constraints of one or several vocabularies have worked out.
package final class ConstraintMemory: Sendable {
    let bytes = Atomic<Int>(0)

    package init() {}
}

/// A model's vocabulary for constraints: a trie of the tokens' bytes, with precomputed facts.
///
/// Takes about 100 ms and 15 MB for 128,000 tokens; created once per model and shared.
public final class TokenVocabulary: Sendable {
    /// Number of token IDs, control tokens included.
    public let count: Int
    /// Tokens that end generation: allowed exactly where the text is complete.
    public let endOfGeneration: [Int32]
    let bytes: [[UInt8]]
    let trie: TokenTrie
    let text: TextSlice
    let whitespace: WhitespaceSlice
    /// Control tokens that may be used in the literals of a `ConstraintGraph`, with their text.
    let spoken: [Int32: [UInt8]]
    /// Counts what its constraints have worked out.
    let memory: ConstraintMemory
    private let continuing = Mutex<[UInt8: [Int32]]>([:])

    /// - Parameter spoken: Control tokens that count as their text in literals. Others are never allowed.
    public convenience init(_ tokenizer: TextTokenizer, spoken: Set<Int32> = []) {
        self.init(tokenizer, spoken: spoken, memory: ConstraintMemory())
    }

    package convenience init(_ tokenizer: TextTokenizer, spoken: Set<Int32>, memory: ConstraintMemory) {
        let ends = tokenizer.endOfGeneration
        let bytes = (0..<Int32(tokenizer.vocabularySize)).map { id -> [UInt8] in
            ends.contains(id) || spoken.contains(id) ? [] : tokenizer.bytes(of: id)
        }
        let texts = spoken.subtracting(ends).map { ($0, tokenizer.bytes(of: $0, includingControl: true)) }
        self.init(
            bytes: bytes, endOfGeneration: ends.sorted(), spoken: Dictionary(uniqueKeysWithValues: texts),
            memory: memory)
    }

    /// - Parameters:
    ///   - bytes: The text of each token; empty ones are never allowed.
    ///   - endOfGeneration: IDs of tokens that end the text.
    ///   - spoken: Control tokens that may be used in literals only, with their text.
    public convenience init(bytes: [[UInt8]], endOfGeneration: [Int32], spoken: [Int32: [UInt8]] = [:]) {
        self.init(bytes: bytes, endOfGeneration: endOfGeneration, spoken: spoken, memory: ConstraintMemory())
    }

    private init(bytes: [[UInt8]], endOfGeneration: [Int32], spoken: [Int32: [UInt8]], memory: ConstraintMemory) {
        self.memory = memory
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

    /// Tokens in which `byte` occurs before the last byte.
    func tokens(continuingAfter byte: UInt8) -> [Int32] {
        continuing.withLock { known in
            if let tokens = known[byte] { return tokens }
            let tokens = bytes.indices.filter { bytes[$0].dropLast().contains(byte) }.map { Int32($0) }
            known[byte] = tokens
            return tokens
        }
    }

    /// The first offset in a text at which a token begins that extends beyond the text; its length if there is none. Text
    /// that follows may change the tokens from there on, but not those before it.
    public func firstCrossing(of text: [UInt8]) -> Int {
        crossings(of: text).first { trie.nodes[$0.node].next > $0.node + 1 }?.offset ?? text.count
    }

    /// The offsets in a text from which the rest of it is the beginning of a token, or a whole one, in ascending order.
    /// Each comes with the trie node of that rest.
    func crossings(of text: [UInt8]) -> [(offset: Int, node: Int)] {
        (max(0, text.count - trie.maximumDepth)..<text.count).compactMap { offset in
            var node = 0
            for byte in text[offset...] {
                guard let child = trie.child(of: node, byte) else { return nil }
                node = child
            }
            return (offset, node)
        }
    }

    /// Tokens that spell the text, greedily the longest: not the model's own tokenization, but always the same bytes.
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
