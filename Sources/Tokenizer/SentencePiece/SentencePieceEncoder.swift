/// SentencePiece's BPE: merges neighbours whose concatenation is a token, best score first.
///
/// Characters that are not part of a token become byte tokens.
struct SentencePieceEncoder: Sendable {
    private let rules: ScoredTokens
    private let byteTokens: [Int32]
    private let unknown: Int32?

    init(_ description: TokenizerDescription, unknown: Int32?) {
        let rules = ScoredTokens(description)
        self.rules = rules
        self.unknown = unknown
        byteTokens = (UInt8.min...UInt8.max).map { byte in
            byteTokenText(byte).withUnsafeBufferPointer { rules.index.find($0) }
                ?? [byte].withUnsafeBufferPointer { rules.index.find($0) } ?? -1
        }
    }

    /// - Parameter prefix: Whether to encode the text as if it began with a space.
    func encode(_ bytes: UnsafeBufferPointer<UInt8>, prefix: Bool, into ids: inout [Int32]) {
        escapingSpaces(bytes, prefix: prefix).withUnsafeBufferPointer { encode($0, into: &ids) }
    }

    private func encode(_ text: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        let ends = (rules.joinsWords ? [] : wordEnds(text)) + [text.count]
        var merger = Merger(rules)
        var seen = RecentPieces(pieces: ends.count)
        var start = 0
        for end in ends where end > start {
            let word = UnsafeBufferPointer(rebasing: text[start..<end])
            let hash = TokenIndex.key(word).hash
            if !seen.append(text, start..<end, hash: hash, to: &ids) {
                let firstID = ids.count
                encode(word, &merger, into: &ids)
                seen.remember(start..<end, hash: hash, ids: firstID..<ids.count)
            }
            start = end
        }
    }

    private func encode(
        _ word: UnsafeBufferPointer<UInt8>, _ merger: inout Merger<ScoredTokens>, into ids: inout [Int32]
    ) {
        merger.symbols.removeAll(keepingCapacity: true)
        merger.symbols.reserveCapacity(word.count)
        var position = 0
        while position < word.count {
            let length = decodeScalar(word, at: position).length
            let character = UnsafeBufferPointer(rebasing: word[position..<position + length])
            // A character that is not a token may still become part of one.
            merger.symbols.append(TextSymbol(id: rules.index.find(character) ?? rules.noToken, start: position))
            position += length
        }
        merger.run(word, end: word.count)
        for i in merger.symbols.indices {
            let symbol = merger.symbols[i]
            guard symbol.id == rules.noToken else {
                ids.append(symbol.id)
                continue
            }
            let end = i + 1 < merger.symbols.count ? merger.symbols[i + 1].start : word.count
            for byte in word[symbol.start..<end] {
                if byteTokens[Int(byte)] >= 0 {
                    ids.append(byteTokens[Int(byte)])
                } else if let unknown {
                    ids.append(unknown)
                }
            }
        }
    }
}

/// Merge rules of a scored vocabulary: two neighbours may merge to a token; its score is the priority.
struct ScoredTokens: MergeRules {
    let index: TokenIndex
    /// Whether a token joins a space to preceding text. If not, words can be encoded separately.
    let joinsWords: Bool
    /// Rank of each token by score, best first. Equal scores have equal ranks.
    private let ranks: [UInt32]

    /// Symbol number for strings that are not tokens.
    var noToken: Int32 { Int32(ranks.count) }

    init(_ description: TokenizerDescription) {
        var texts = ByteStrings(capacity: description.tokens.count)
        for text in description.tokens { texts.append(text) }
        index = TokenIndex(texts)
        joinsWords = description.tokens.contains { $0.withUnsafeBufferPointer { !wordEnds($0).isEmpty } }
        let scores = (description.scores ?? Array(repeating: 0, count: texts.count)).map { $0.isNaN ? -.infinity : $0 }
        var ranks = [UInt32](repeating: 0, count: scores.count)
        var (rank, previous) = (UInt32(0), Float.infinity)
        for id in scores.indices.sorted(by: { scores[$0] > scores[$1] }) {
            if scores[id] < previous { rank += 1 }
            previous = scores[id]
            ranks[id] = rank
        }
        self.ranks = ranks
    }

    func merge(_ left: Int32, _ right: Int32, bytes: Range<Int>, of text: UnsafeBufferPointer<UInt8>) -> Merge? {
        guard bytes.count <= index.maxLength, let id = index.find(UnsafeBufferPointer(rebasing: text[bytes])) else {
            return nil
        }
        return Merge(rank: ranks[Int(id)], symbol: id)
    }
}
