/// SentencePiece's Unigram: of all ways to cut the text into tokens, the one whose scores have the greatest sum.
///
/// Kudo 2018, "Subword Regularization", section 3.2. Viterbi's algorithm over the text's bytes: at each character the
/// best way to get there is known, and every token that begins there may lead on.
struct UnigramEncoder: Sendable {
    private let tokens: ByteTrie
    private let scores: [Double]
    private let normalizer: UnigramNormalizer
    private let unknown: Int32?
    private let unknownScore: Double

    init(_ description: TokenizerDescription, _ kinds: [TokenKind], unknown: Int32?) throws(TokenizerError) {
        var tokens = ByteTrie()
        var scores = [Double](repeating: 0, count: kinds.count)
        var lowest = Double.greatestFiniteMagnitude
        for (id, kind) in kinds.enumerated() where !description.tokens[id].isEmpty {
            let isUnused = description.types?[id] == 5
            guard isUnused || kind.contains(.normal) || kind.contains(.userDefined) else { continue }
            try tokens.insert(description.tokens[id], value: Int32(id))
            let score = Double(description.scores?[id] ?? 0)
            // User-defined tokens are preferred: other scores are logarithms of probabilities.
            scores[id] = kind.contains(.userDefined) ? 0 : score.isFinite ? score : -1e9
            if kind.contains(.normal) { lowest = min(lowest, scores[id]) }
        }
        self.tokens = tokens
        self.scores = scores
        self.unknown = unknown
        unknownScore = lowest - 10
        normalizer = try UnigramNormalizer(description, kinds)
    }

    /// The best way to a position: its last token, and how long that is.
    private struct Step {
        var score = -Double.infinity
        var length: UInt32 = 0
        /// -1 for what is unknown.
        var id: Int32 = -1
    }

    func encode(_ bytes: UnsafeBufferPointer<UInt8>, addsSpacePrefix: Bool, into ids: inout [Int32]) {
        let text = normalizer.normalize(bytes, addsSpacePrefix: addsSpacePrefix)
        guard !text.isEmpty else { return }
        let steps = text.withUnsafeBufferPointer { bestSteps($0) }
        var found: [Int32] = []
        var position = text.count
        var wasUnknown = false
        while position > 0 {
            let step = steps[position]
            // Unknown characters that follow each other are one token.
            if step.id >= 0 {
                found.append(step.id)
            } else if !wasUnknown, let unknown {
                found.append(unknown)
            }
            wasUnknown = step.id < 0
            position -= max(Int(step.length), 1)
        }
        ids += found.reversed()
    }

    private func bestSteps(_ text: UnsafeBufferPointer<UInt8>) -> [Step] {
        var steps = [Step](repeating: Step(), count: text.count + 1)
        steps[0].score = 0
        var position = 0
        while position < text.count {
            let characterLength = decodeScalar(text, at: position).length
            let score = steps[position].score
            func offer(_ id: Int32, length: Int, _ score: Double) {
                guard score > steps[position + length].score else { return }
                steps[position + length] = Step(score: score, length: UInt32(truncatingIfNeeded: length), id: id)
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
                offer(id, length: length, score + scores[Int(id)])
            }
            if !hasCharacter { offer(-1, length: characterLength, score + unknownScore) }
            position += characterLength
        }
        return steps
    }
}
