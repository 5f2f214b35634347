/// Decides how many tokens to draft, from past acceptance rates and the measured cost of a row.
struct DraftLength {
    /// Maximum drafted tokens of a step.
    static let most = 15
    /// Expected gain in tokens per second from which drafting is worthwhile.
    private static let leastGain = 1.03
    /// Weight of a new observation in the moving average.
    private static let weight = 0.125

    /// Acceptance rates by length of the match before the token. Updated for all guesses, drafted or not, so that
    /// drafting starts when it pays and stops when it does not.
    private var rates: [Double] = Array(repeating: 0.5, count: 5)

    /// The number of tokens to draft.
    ///
    /// - Parameters:
    ///   - match: Matching tokens before the guess.
    ///   - costOfRow: Time of an additional row, as a fraction of a step with one row.
    func count(match: Int, of available: Int, costOfRow: Double) -> Int {
        var (probability, tokens) = (1.0, 1.0)
        var best = (count: 0, gain: Self.leastGain)
        for count in stride(from: 1, through: min(available, Self.most), by: 1) {
            probability *= rates[Self.kind(match + count - 1)]
            tokens += probability
            let gain = tokens / (1 + costOfRow * Double(count))
            if gain > best.gain { best = (count, gain) }
        }
        return best.count
    }

    /// Records whether a guessed token was the sampled one.
    mutating func learn(match: Int, isRight: Bool) {
        let kind = Self.kind(match)
        rates[kind] += ((isRight ? 1 : 0) - rates[kind]) * Self.weight
    }

    private static func kind(_ match: Int) -> Int {
        switch match {
        case ..<4: 0
        case ..<6: 1
        case ..<10: 2
        case ..<20: 3
        default: 4
        }
    }
}

/// The cost of an additional row in decoding, measured while steps run.
struct RowCost {
    private static let weight = 0.125

    /// Seconds of a step with one row, averaged; 0 before the first.
    private var secondsOfStep = 0.0
    /// Time of an additional row as a fraction of `secondsOfStep`; initially typical for weights read from memory.
    private(set) var ofRow = 0.25

    /// - Parameter rows: Rows of a step that computed one answer only.
    mutating func learn(rows: Int, seconds: Double) {
        if rows == 1 {
            secondsOfStep += (seconds - secondsOfStep) * (secondsOfStep == 0 ? 1 : Self.weight)
        } else if secondsOfStep > 0 {
            // Clamped: a step that the system interrupted says nothing about rows.
            let cost = min(1, max(0, (seconds / secondsOfStep - 1) / Double(rows - 1)))
            ofRow += (cost - ofRow) * Self.weight
        }
    }
}
