/// The outcome of one request, for a log.
package struct RequestRecord: Sendable {
    /// Why a request has no complete response.
    package enum Failure: String, Sendable {
        case clientLeft = "client_left"
        /// The client accepted no byte of the response for `Limits.writeStall`.
        case clientStalled = "client_stalled"
        /// The handler threw while streaming its response.
        case answerFailed = "answer_failed"
        /// The server stopped and the grace period was over.
        case serverStopped = "server_stopped"
    }

    /// Unique id, also sent to the client as `X-Request-Id`.
    package let id: String
    /// See `Request.peer`.
    package let peer: String
    /// `nil` if the request was invalid.
    package internal(set) var method: String?
    /// Percent-decoded path without the query. May contain control characters.
    package internal(set) var path: String?
    /// `nil` if no response was sent.
    package internal(set) var status: Int?
    /// Bytes of the response sent, including the head.
    package internal(set) var bytes = 0
    /// From the first byte of the request to the first byte of the response.
    package internal(set) var timeToFirstByte: Duration?
    /// From the first byte of the request to the end of the response.
    package internal(set) var duration = Duration.zero
    /// `nil` if the response was sent completely.
    package internal(set) var failure: Failure?
    /// What `Server.Configuration.makeNotes` returned for this request; the handler has it as `Request.notes`.
    package let notes: any Sendable

    private let began = ContinuousClock.now

    init(peer: String, notes: any Sendable = ()) {
        self.peer = peer
        self.notes = notes
        let bits = UInt128.random(in: 0 ... .max)
        let digits = String(bits, radix: 16)
        id = "req_" + String(repeating: "0", count: 32 - digits.utf8.count) + digits
    }

    mutating func count(_ sent: Int) {
        guard status != nil else { return }  // `100 Continue` is not part of the response
        bytes += sent
        timeToFirstByte = timeToFirstByte ?? (.now - began)
    }

    mutating func end() { duration = .now - began }
}
