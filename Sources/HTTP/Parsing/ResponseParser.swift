/// Parses the response to one request, as strictly as `RequestParser`. A state machine without I/O: append received
/// bytes and call `next()` until it returns `nil`, which means that more bytes are needed.
///
/// Interim responses (1xx) are skipped. A body without a length ends when the peer closes (RFC 9112, section 6.3).
struct ResponseParser: Sendable {
    struct Head: Sendable, Equatable {
        var status: Int
        var headers: Headers
    }

    enum Event: Sendable, Equatable {
        case head(Head)
        /// Part of the body without chunk framing, never empty.
        case body(ArraySlice<UInt8>)
        case end
    }

    private enum State: Sendable {
        case start
        case headers(status: Int, minorVersion: Int, HeaderLines)
        case body(BodyParser)
    }

    /// Bodies have no limit here; the reader limits them.
    private let limits: Limits
    /// Interim responses still accepted; a bound, since a server could send them forever.
    private var interimAnswers = 32
    private var buffer = LineBuffer()
    private var state = State.start
    private var isPersistent = false

    init(limits: Limits = .init()) {
        var limits = limits
        limits.bodyBytes = .max
        self.limits = limits
    }

    mutating func append(_ bytes: some Sequence<UInt8>) { buffer.append(bytes) }

    /// Whether the response is complete if the peer closes now.
    var mayEndHere: Bool { if case .body(let body) = state { body.endsWithConnection } else { false } }

    /// Whether the connection can be reused after `end`: the response had its own end, nothing follows it, and the peer
    /// did not announce to close (RFC 9112, section 9.3).
    var canBeAskedAgain: Bool { isPersistent && !mayEndHere && buffer.count == 0 }

    /// The next event, or `nil` if more bytes are needed. Must not be called after it has thrown.
    mutating func next() throws(RequestError) -> Event? {
        while true {
            switch state {
            case .start:
                guard let line = try buffer.line(upTo: limits.requestLine, or: .statusLineTooLong) else { return nil }
                let (status, minorVersion) = try Self.status(line)
                state = .headers(status: status, minorVersion: minorVersion, HeaderLines())

            case .headers(let status, let minorVersion, var lines):
                guard try lines.collect(from: &buffer, limits) else {
                    state = .headers(status: status, minorVersion: minorVersion, lines)
                    return nil
                }
                guard status >= 200 else {
                    interimAnswers -= 1
                    guard interimAnswers >= 0 else { throw .malformed("interim answers without end") }
                    state = .start
                    continue
                }
                isPersistent = minorVersion == 1 && !lines.headers.list("Connection").contains("close")
                state = .body(try body(status, try RequestHead.framing(lines.headers, minorVersion)))
                return .head(Head(status: status, headers: lines.headers))

            case .body(var body):
                let step = try body.step(&buffer, limits, upTo: limits.bodyBytes)
                state = .body(body)
                switch step {
                case .bytes(let bytes): return .body(bytes)
                case .moreBytesNeeded: return nil
                case .end: return .end
                case .again: continue
                }
            }
        }
    }

    private func body(_ status: Int, _ framing: RequestHead.Framing) throws(RequestError) -> BodyParser {
        let isEmpty = status == 204 || status == 304
        if framing == .none, !isEmpty { return .untilClose }
        return try BodyParser(isEmpty ? .none : framing, limits)
    }

    /// Parses `HTTP/1.1 200 OK`. The phrase is ignored and may be missing together with the space before it.
    private static func status(_ line: ArraySlice<UInt8>) throws(RequestError) -> (Int, minorVersion: Int) {
        let bytes = Array(line.prefix(13))
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8), isDigit(bytes[7]), bytes[8] == 0x20,
            bytes[9...11].allSatisfy(isDigit), bytes.count == 12 || bytes[12] == 0x20
        else { throw .malformed("the answer does not begin with a status line of HTTP/1.1 or HTTP/1.0") }
        let status = bytes[9...11].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        // The client never asks to switch protocols.
        guard (100...599).contains(status), status != 101 else { throw .malformed("the answer's status is \(status)") }
        return (status, minorVersion: bytes[7] == 0x30 ? 0 : 1)
    }
}

extension RequestError {
    fileprivate static let statusLineTooLong = malformed("the status line is too long")
}
