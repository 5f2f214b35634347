/// How many guessed tokens are worth a row of the next step, from how often guesses were right so far and what rows cost.
struct DraftLength {
    /// Most guessed tokens of a step.
    static let most = 15
    /// A step is longer only if it is expected to give so many times as many tokens a second.
    private static let leastGain = 1.03
    /// What a guess counts for beside the ones before it.
    private static let weight = 0.125

    /// How often a guess was right, by the length of the match before it. It is counted for all guesses, whether or not they
    /// got a row, so that drafting begins when it pays and ends when it does not.
    private var rates: [Double] = Array(repeating: 0.5, count: 5)

    /// - Parameters:
    ///   - match: Tokens before the guess that were the same.
    ///   - costOfRow: Seconds that one more row takes, as a part of those of a step with one row.
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

    /// A guess after a match was right, or wrong.
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

/// What one more row of an answer takes, measured as steps go by.
struct RowCost {
    private static let weight = 0.125

    /// Seconds of a step with one row; 0 before the first.
    private var secondsOfStep = 0.0
    /// Seconds of one more row, as a part of them. It begins with what is usual where the weights are read from memory.
    private(set) var ofRow = 0.25

    /// - Parameter rows: Of a step that computed nothing but one answer.
    mutating func learn(rows: Int, seconds: Double) {
        if rows == 1 {
            secondsOfStep += (seconds - secondsOfStep) * (secondsOfStep == 0 ? 1 : Self.weight)
        } else if secondsOfStep > 0 {
            // A step that the machine interrupted says nothing of rows.
            let cost = min(1, max(0, (seconds / secondsOfStep - 1) / Double(rows - 1)))
            ofRow += (cost - ofRow) * Self.weight
        }
    }
}
