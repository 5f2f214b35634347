/// Which clients sit out the next steps, so that the others run at least half as fast as they would without them.
///
/// Everyone with a row in a step waits for all of it. What a step takes beyond twice the others' own one is the debt of the
/// clients with the most in it: they sit out until steps without them have taken as long. Where the weights are read from
/// memory once for all rows, more rows hardly take longer, and nobody sits out for more than a step each second.
struct TimeShares {
    /// A step's clients with so many times the average cost are those that slow the others down.
    private static let crowding = 1.25
    /// Seconds of steps after which it is measured anew what a step without them takes.
    private static let validity = 1.0

    /// Clients whose sequences have no rows in the next step.
    private(set) var resting: Set<String> = []
    private var debt = 0.0
    /// Seconds of a step without those that rest.
    private var secondsWithout = 0.0
    /// Seconds of steps since that was measured.
    private var age = Double.infinity

    /// Notes what a step took.
    ///
    /// - Parameter costs: The seconds of each client's rows, shared ones divided by rows.
    mutating func account(_ costs: [String: Double]) {
        let seconds = costs.values.reduce(0, +)
        guard resting.isEmpty else {
            // The least counts more than the average: a single long step says little of the others.
            secondsWithout = age.isFinite ? min(seconds, secondsWithout + (seconds - secondsWithout) / 4) : seconds
            age = 0
            debt -= seconds
            if debt <= 0 { resting = [] }
            return
        }
        age += seconds
        let most = Self.crowding * seconds / Double(costs.count)
        let crowd = costs.filter { $0.value > most }
        guard !crowd.isEmpty else { return }
        debt = age > Self.validity ? .leastNonzeroMagnitude : seconds - 2 * secondsWithout
        if debt > 0 { resting = Set(crowd.keys) }
    }

    /// The others have nothing to do.
    mutating func endRest() { resting = [] }
}
