/// Shares the time of the engine's thread between clients, and between generation and readings.
///
/// **Steps.** It chooses clients whose sequences skip the next steps, so that all other clients decode at least half as fast as they would
/// alone.
///
/// Every sequence waits for the whole step it has a row in. If a step takes more than twice as long as a step of the other
/// clients, the excess is the debt of the clients with the most costly rows. They skip steps until those steps have taken as
/// long as the debt. While decode is bound by reading the weights, more rows hardly lengthen a step, and clients skip at most
/// one step a second, which measures the others alone.
///
/// **Readings.** After a reading its client waits with the next, so that generation gets three times as much time as all
/// readings together.
struct TimeShares {
    /// Clients that cost more than this multiple of the step's average per client have to skip steps.
    private static let crowding = 1.25
    /// Seconds of steps after which `secondsWithout` is measured again.
    private static let validity = 1.0

    /// Clients whose sequences have no rows in the next step.
    private(set) var resting: Set<String> = []
    private var debt = 0.0
    /// Seconds of a step without the resting clients.
    private var secondsWithout = 0.0
    /// Seconds of steps since `secondsWithout` was measured.
    private var age = Double.infinity

    /// Clients whose readings wait, and until when.
    private var readingRests: [String: ContinuousClock.Instant] = [:]

    /// Accounts for the duration of a step.
    ///
    /// - Parameter costs: Seconds per client; the time of products shared by all rows is divided by rows.
    mutating func account(_ costs: [String: Double]) {
        let seconds = costs.values.reduce(0, +)
        guard resting.isEmpty else {
            // Falls at once and rises slowly: a single long step says little about the others.
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

    /// Ends the rest: no other client has work.
    mutating func endRest() { resting = [] }

    /// Whether a client's next reading may run beside generation.
    func mayRead(_ client: String, at now: ContinuousClock.Instant) -> Bool {
        readingRests[client].map { $0 <= now } ?? true
    }

    mutating func account(
        readingOf client: String, from started: ContinuousClock.Instant, to ended: ContinuousClock.Instant
    ) {
        readingRests = readingRests.filter { $0.value > started }
        readingRests[client] = ended + (ended - started) * 3 * (readingRests.count + 1)
    }
}
