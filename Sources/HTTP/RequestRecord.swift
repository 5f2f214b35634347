import Synchronization

/// What became of one request, for a log.
public struct RequestRecord: Sendable {
    /// Why a request has no whole answer.
    public enum Failure: String, Sendable {
        case clientLeft = "client_left"
        /// The client took nothing of the answer for `Limits.writeStall`.
        case clientStalled = "client_stalled"
        /// The handler threw while its answer was being streamed.
        case answerFailed = "answer_failed"
        /// The server stopped, and the grace period with it.
        case serverStopped = "server_stopped"
    }

    /// The client has it too, as `X-Request-Id`.
    public let id: String
    /// As `Request.peer`.
    public let peer: String
    /// `nil` where the bytes were no request.
    public internal(set) var method: String?
    /// Percent decoded, without the query. Any text, control characters included.
    public internal(set) var path: String?
    /// `nil` where nothing was answered.
    public internal(set) var status: Int?
    /// Of the answer, its head included.
    public internal(set) var bytes = 0
    /// From the first byte of the request to the first of the answer.
    public internal(set) var timeToFirstByte: Duration?
    /// From the first byte of the request to the end of the answer.
    public internal(set) var duration = Duration.zero
    public internal(set) var failure: Failure?
    public let notes = RequestNotes()

    private let began = ContinuousClock.now

    init(peer: String) {
        self.peer = peer
        let bits = UInt128.random(in: 0 ... .max)
        let digits = String(bits, radix: 16)
        id = "req_" + String(repeating: "0", count: 32 - digits.utf8.count) + digits
    }

    mutating func count(_ sent: Int) {
        guard status != nil else { return }  // `100 Continue` is no part of the answer
        bytes += sent
        timeToFirstByte = timeToFirstByte ?? (.now - began)
    }

    mutating func end() { duration = .now - began }
}

/// What is said of a request in its record by whoever works on it.
///
/// `RequestNotes.current?["prompt_tokens"] = .number(7)`, wherever the handler or its streamed body runs.
public final class RequestNotes: Sendable {
    public enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
    }

    /// Those of the request that the current task works on.
    @TaskLocal public static var current: RequestNotes?

    private let values = Mutex<[String: Value]>([:])

    init() {}

    public subscript(name: String) -> Value? {
        get { values.withLock { $0[name] } }
        set { values.withLock { $0[name] = newValue } }
    }

    /// Adds to a number, which is 0 where there is none yet.
    public func add(_ number: Int, to name: String) {
        values.withLock { values in
            if case .number(let old) = values[name] {
                values[name] = .number(old + number)
            } else {
                values[name] = .number(number)
            }
        }
    }

    public var all: [String: Value] { values.withLock { $0 } }
}
