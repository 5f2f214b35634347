/// Decides how many tokens to draft, from past acceptance rates and measured times of steps.
struct DraftLength {
    /// Maximum drafted tokens of an answer in a step.
    static let most = StepCost.most - 1
    /// Expected gain in tokens per second from which drafting is worthwhile.
    private static let leastGain = 1.03
    /// Weight of a new observation in the moving average.
    private static let weight = 0.125

    /// Acceptance rates by kind of guess: see `kind(match:)` and `kind(probability:)`. Updated for all guesses, drafted
    /// or not, so that drafting starts when it pays and stops when it does not.
    private var rates: [Double]

    /// Acceptance rate of all drafted tokens.
    private(set) var overall = 0.7

    private init(rates: [Double]) { self.rates = rates }

    /// Rates by length of the match before the token.
    static let ofMatches = DraftLength(rates: [0.3, 0.4, 0.5, 0.6, 0.8, 0.9])
    /// Rates by the probability that the drafter gave the token.
    static let ofProbabilities = DraftLength(rates: [0.1, 0.3, 0.5, 0.7, 0.85, 0.95])

    func rate(_ kind: Int) -> Double { rates[kind] }

    /// The number of tokens to draft.
    ///
    /// - Parameters:
    ///   - kinds: Kinds of the guessed tokens, in order.
    ///   - room: Rows that the step has for them.
    ///   - recomputes: Whether tokens accepted before a rejected one are computed again in the next step, as recurrent
    ///     layers need it.
    func count(kinds: [Int], room: DraftRoom, cost: StepCost, recomputes: Bool = false) -> Int {
        let plain = cost.seconds(room.answers)
        var (probability, tokens) = (1.0, 1.0)
        var best = (count: 0, gain: 1 + (Self.leastGain - 1) / Double(room.answers))
        for (index, kind) in kinds.prefix(min(room.rows, Self.most)).enumerated() {
            let count = index + 1
            probability *= rates[kind]
            tokens += probability
            var seconds = cost.seconds(room.answers + count)
            if recomputes {
                seconds += (1 - probability) * (cost.seconds(room.answers + Int(tokens.rounded())) - plain)
            }
            let gain = (Double(room.answers - 1) + tokens) / Double(room.answers) / (seconds / plain)
            if gain > best.gain { best = (count, gain) }
        }
        return best.count
    }

    /// Records whether a guessed token was the sampled one.
    mutating func learn(kind: Int, isRight: Bool) {
        rates[kind] += ((isRight ? 1 : 0) - rates[kind]) * Self.weight
        overall += ((isRight ? 1 : 0) - overall) * Self.weight
    }

    /// The kind of a token to which the drafter gave this probability.
    static func kind(probability: Double) -> Int {
        switch probability {
        case ..<0.2: 0
        case ..<0.4: 1
        case ..<0.6: 2
        case ..<0.8: 3
        case ..<0.95: 4
        default: 5
        }
    }

    /// The kind of a guess with so many matching tokens before it.
    static func kind(match: Int) -> Int {
        switch match {
        case ..<PromptLookup.shortestMatch: 0
        case ..<4: 1
        case ..<6: 2
        case ..<10: 3
        case ..<20: 4
        default: 5
        }
    }
}

/// The room for drafted tokens of one answer in the next step.
struct DraftRoom: Equatable {
    /// Answers in the step, this one included; each has a row.
    var answers: Int
    /// Rows for drafted tokens of this answer.
    var rows: Int

    /// Shares the rows up to `StepCost.most` evenly: more rows would delay the other answers.
    ///
    /// - Returns: `nil` if there is no room.
    init?(answers: Int) {
        guard answers > 0, StepCost.most >= 2 * answers else { return nil }
        self.answers = answers
        rows = StepCost.most / answers - 1
    }
}
