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
    /// What `Server.Configuration.makeNotes` returned for this request; the handler has it as `Request.notes`.
    public let notes: any Sendable

    private let began = ContinuousClock.now

    init(peer: String, notes: any Sendable = ()) {
        self.peer = peer
        self.notes = notes
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
