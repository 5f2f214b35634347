/// Decides whether the upstream is asked at all. A pure value: time is given to it.
///
/// After some failures in a row nobody asks for a while (open). Then one request may try (half-open), and its success lets
/// everyone in again (closed). See Nygard, "Release It!", "Circuit Breaker".
struct CircuitBreaker: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum State: Sendable, Equatable {
        case closed(failures: Int)
        case open(until: Instant)
        /// One request tries.
        case halfOpen
    }

    /// A request that was let through, between which two openings. What becomes of one from before an opening says
    /// nothing about the upstream as it is now.
    struct Ticket: Sendable, Equatable {
        fileprivate let opening: Int
    }

    static let failuresToOpen = 5
    static let pause: Duration = .seconds(30)

    private(set) var state = State.closed(failures: 0)
    private var openings = 0
    /// Whose request failed last in a way that the request itself may have caused.
    private var lastClient: String?

    /// - Returns: A ticket, to be used once more when it is known how the request went; `nil` while nobody may ask.
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

    /// How long one who is not let in should wait.
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
        lastClient = nil
    }

    /// - Parameter client: Who sent the request, where it may be what made the upstream fail: several failures in a row of one
    ///   client's requests count as one, so that nobody can cut off the others. `nil` where the upstream is at fault.
    mutating func fails(_ ticket: Ticket, _ now: Instant, for client: String? = nil) {
        guard ticket.opening == openings else { return }
        if let client {
            guard client != lastClient || state == .halfOpen else { return }
            lastClient = client
        }
        if case .closed(let failures) = state, failures + 1 < Self.failuresToOpen {
            state = .closed(failures: failures + 1)
        } else {
            openings += 1
            state = .open(until: now + Self.pause)
        }
    }

    /// Nobody knows how it would have gone: its client has left.
    mutating func isGivenUp(_ ticket: Ticket, _ now: Instant) {
        if ticket.opening == openings, state == .halfOpen { state = .open(until: now) }
    }
}

extension CircuitBreaker.State {
    /// As `GET /health` says it.
    var name: String {
        switch self {
        case .closed: "closed"
        case .open: "open"
        case .halfOpen: "half-open"
        }
    }
}
