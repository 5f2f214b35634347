/// Decides token by token whether another drafted token is likely to pay, for drafts that take time to make.
struct DraftGain {
    /// Gain over not drafting from which a token is worthwhile.
    private static let leastGain = 1.03

    let room: DraftRoom
    let cost: StepCost
    /// Seconds to draft a token.
    let secondsOfDraft: Double
    private var count = 0
    /// Probability that all tokens of the draft are accepted.
    private var probability = 1.0
    /// Expected tokens of the next step for this answer.
    private var tokens = 1.0

    init(room: DraftRoom, cost: StepCost, secondsOfDraft: Double) {
        self.room = room
        self.cost = cost
        self.secondsOfDraft = secondsOfDraft
    }

    /// Whether one more token pays: whether it brings more tokens per second than the step without it.
    ///
    /// - Parameters:
    ///   - rate: Its acceptance rate.
    ///   - isDrafted: Whether it was drafted already, so that only its row in the step has to pay.
    func pays(_ rate: Double, isDrafted: Bool = false) -> Bool {
        let rows = room.answers + count
        let plain = cost.seconds(rows)
        // Times are stairs: a row that is dear may make those after it cheap.
        let row =
            (1...max(1, room.rows - count)).lazy
            .map { (cost.seconds(rows + $0) - plain) / Double($0) }.min() ?? 0
        let speed = (Double(room.answers - 1) + tokens) / (plain + Double(count) * secondsOfDraft)
        return probability * rate > (max(0, row) + (isDrafted ? 0 : secondsOfDraft)) * speed * Self.leastGain
    }

    /// Adds a token with this acceptance rate.
    mutating func add(rate: Double) {
        count += 1
        probability *= rate
        tokens += probability
    }
}
