/// SentencePiece's Unigram: the segmentation into tokens with the highest total score.
///
/// Kudo 2018, "Subword Regularization", section 3.2. Viterbi's algorithm over the text's bytes: from each character,
/// every token that begins there extends the best segmentation up to it. For each position only the last token of its
/// best segmentation is stored, 4 bytes; scores are kept only as far ahead as the longest token.
struct UnigramEncoder: Sendable {
    private let tokens: ByteTrie
    private let scores: [Double]
    private let normalizer: UnigramNormalizer
    private let unknown: Int32?
    private let unknownScore: Double
    /// Bytes of each token; `longest` is the maximum of tokens and characters.
    private let lengths: [Int32]
    private let longest: Int
    private let splitsAtSpaces: Bool

    init(_ description: TokenizerDescription, _ kinds: [TokenKind], unknown: Int32?) throws(TokenizerError) {
        var tokens = ByteTrie()
        var scores = [Double](repeating: 0, count: kinds.count)
        var lengths = [Int32](repeating: 0, count: kinds.count)
        var lowest = Double.greatestFiniteMagnitude
        for (id, kind) in kinds.enumerated() where !description.tokens[id].isEmpty {
            let isUnused = description.types?[id] == 5
            guard isUnused || kind.contains(.normal) || kind.contains(.userDefined) else { continue }
            try tokens.insert(description.tokens[id], value: Int32(id))
            let score = Double(description.scores?[id] ?? 0)
            lengths[id] = Int32(truncatingIfNeeded: description.tokens[id].count)
            // User-defined tokens are preferred: other scores are logarithms of probabilities.
            scores[id] = kind.contains(.userDefined) ? 0 : score.isFinite ? score : -1e9
            if kind.contains(.normal) { lowest = min(lowest, scores[id]) }
        }
        self.tokens = tokens
        self.scores = scores
        self.lengths = lengths
        longest = max(4, Int(lengths.max() ?? 0))
        self.unknown = unknown
        unknownScore = lowest - 10
        splitsAtSpaces = description.rules?.splitsAtSpaces == true
        normalizer = try UnigramNormalizer(description, kinds)
    }

    func encode(_ bytes: UnsafeBufferPointer<UInt8>, addsSpacePrefix: Bool, into ids: inout [Int32]) {
        let text = normalizer.normalize(bytes, addsSpacePrefix: addsSpacePrefix)
        text.withUnsafeBufferPointer { segment($0, into: &ids) }
    }

    /// - Parameter text: Normalized, with "▁" for spaces.
    func encode(normalized text: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        var start = 0
        for end in (splitsAtSpaces ? spaceStarts(text) : []) + [text.count] where end > start {
            segment(UnsafeBufferPointer(rebasing: text[start..<end]), into: &ids)
            start = end
        }
    }

    private func segment(_ text: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        guard !text.isEmpty else { return }
        let last = lastTokens(text)
        let start = ids.count
        var position = text.count
        var wasUnknown = false
        while position > 0 {
            let id = last[position]
            // Consecutive unknown characters form one token.
            if id >= 0 {
                ids.append(id)
                position -= Int(lengths[Int(id)])
            } else {
                if !wasUnknown, let unknown { ids.append(unknown) }
                position -= Int(-id)
            }
            wasUnknown = id < 0
        }
        ids[start...].reverse()
    }

    /// The last token of the best segmentation up to each position; for an unknown character its negated length.
    private func lastTokens(_ text: UnsafeBufferPointer<UInt8>) -> [Int32] {
        var last = [Int32](repeating: -1, count: text.count + 1)
        // The score of position p is in slot p mod `size`.
        let size = longest + 1
        var scores = [Double](repeating: -.infinity, count: size)
        scores[0] = 0
        var position = 0
        while position < text.count {
            let characterLength = min(decodeScalar(text, at: position).length, text.count - position)
            let score = scores[position % size]
            func offer(_ id: Int32, length: Int, _ score: Double) {
                guard score > scores[(position + length) % size] else { return }
                scores[(position + length) % size] = score
                last[position + length] = id
            }
            var hasCharacter = false
            var node = ByteTrie.root
            for end in position..<text.count {
                guard let child = tokens.child(of: node, text[end]) else { break }
                node = child
                let id = tokens.values[Int(node)]
                guard id >= 0 else { continue }
                let length = end - position + 1
                if length == characterLength { hasCharacter = true }
                offer(id, length: length, score + self.scores[Int(id)])
            }
            if !hasCharacter { offer(Int32(-characterLength), length: characterLength, score + unknownScore) }
            // Clear the slots of passed positions, which are reused for positions ahead.
            for passed in position..<position + characterLength { scores[passed % size] = -.infinity }
            position += characterLength
        }
        return last
    }
}
