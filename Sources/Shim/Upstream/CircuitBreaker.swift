/// Decides whether requests may go to the upstream. A pure value: callers pass the time.
///
/// After `failuresToOpen` failures in a row it refuses requests for `pause` (open). Then it admits one request
/// (half-open), whose success closes it again. See Nygard, "Release It!", "Circuit Breaker".
struct CircuitBreaker: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum State: Sendable, Equatable {
        case closed(failures: Int)
        case open(until: Instant)
        /// One trial request is under way.
        case halfOpen
    }

    /// Identifies an admitted request by the number of openings so far. Results of requests admitted before the last
    /// opening are ignored as outdated.
    struct Ticket: Sendable, Equatable {
        fileprivate let opening: Int
    }

    static let failuresToOpen = 5
    static let pause: Duration = .seconds(30)

    private(set) var state = State.closed(failures: 0)
    private var openings = 0
    /// Clients of failures that their requests may have caused, since the last success; fewer than `failuresToOpen`.
    private var suspects: Set<String> = []

    /// - Returns: A ticket, with which the caller reports the result; `nil` if the request is refused.
    mutating func admit(_ now: Instant) -> Ticket? {
        switch state {
        case .closed: break
        case .open(let until):
            guard now >= until else { return nil }
            state = .halfOpen
        case .halfOpen: return nil
        }
        return Ticket(opening: openings)
    }

    /// Time until a refused request should be retried.
    func wait(_ now: Instant) -> Duration {
        if case .open(let until) = state { max(until - now, .seconds(1)) } else { .seconds(1) }
    }

    /// The upstream has begun to answer.
    mutating func begins(_ ticket: Ticket) {
        if ticket.opening == openings, state == .halfOpen { state = .closed(failures: 0) }
    }

    /// The upstream has answered.
    mutating func succeeds(_ ticket: Ticket) {
        guard ticket.opening == openings else { return }
        state = .closed(failures: 0)
        suspects = []
    }

    /// - Parameter client: The sender, if its request may have caused the failure: all such failures of one client
    ///   since the last success count as one, so that no client can open the circuit for all. `nil` if the upstream is at fault.
    mutating func fails(_ ticket: Ticket, _ now: Instant, for client: String? = nil) {
        guard ticket.opening == openings else { return }
        if let client {
            guard suspects.insert(client).inserted || state == .halfOpen else { return }
        }
        if case .closed(let failures) = state, failures + 1 < Self.failuresToOpen {
            state = .closed(failures: failures + 1)
        } else {
            openings += 1
            suspects = []
            state = .open(until: now + Self.pause)
        }
    }

    /// The request was cancelled before its result was known.
    mutating func isGivenUp(_ ticket: Ticket, _ now: Instant) {
        if ticket.opening == openings, state == .halfOpen { state = .open(until: now) }
    }
}

extension CircuitBreaker.State {
    /// The state in `GET /health`.
    var name: String {
        switch self {
        case .closed: "closed"
        case .open: "open"
        case .halfOpen: "half-open"
        }
    }
}
