/// Parses requests strictly by RFC 9112. A state machine without I/O.
///
/// Append received bytes and call `next()` until it returns `nil`, which means that more bytes are needed. After `.end`
/// the next call begins the next request on the connection (pipelining). Once `next()` has thrown, it always throws the
/// same error: the end of the request is unknown, so the connection must be closed.
///
/// The events do not depend on how the input was split, except for the grouping of body bytes.
package struct RequestParser: Sendable {
    package enum Event: Sendable, Equatable {
        case head(RequestHead)
        /// Part of the body without chunk framing, never empty.
        case body(ArraySlice<UInt8>)
        case end
    }

    private enum State: Sendable {
        /// Before the request line; a single empty line may precede it (RFC 9112, section 2.2).
        case start(emptyLineSeen: Bool)
        case headers(RequestLine, HeaderLines)
        case body(BodyParser)
        case failed(RequestError)
    }

    private let limits: Limits
    /// Maximum bytes of the current body.
    private var bodyLimit: Int
    private var buffer = LineBuffer()
    private var state = State.start(emptyLineSeen: false)

    package init(limits: Limits = .init()) {
        self.limits = limits
        bodyLimit = limits.bodyBytes
    }

    /// Lowers the limit of the current body: a chunk beyond it is refused by its size, before its data come.
    mutating func limitBody(to bytes: Int) throws(RequestError) {
        bodyLimit = min(limits.bodyBytes, bytes)
        if case .body(let body) = state, body.chunkBytes > bodyLimit { throw .bodyTooLarge(bodyLimit) }
    }

    package mutating func append(_ bytes: some Sequence<UInt8>) { buffer.append(bytes) }

    /// Whether no byte of the next request has arrived.
    var isBetweenRequests: Bool {
        if case .start = state { return buffer.count == 0 }
        return false
    }

    /// Whether the buffer has unparsed bytes.
    var hasUnreadBytes: Bool { buffer.count > 0 }

    /// The next event, or `nil` if more bytes are needed.
    package mutating func next() throws(RequestError) -> Event? {
        do {
            while true {
                switch try step() {
                case .event(let event): return event
                case .moreBytesNeeded: return nil
                case .again: continue
                }
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private enum Step {
        case event(Event)
        case moreBytesNeeded
        case again
    }

    private mutating func step() throws(RequestError) -> Step {
        switch state {
        case .start(let emptyLineSeen):
            guard let line = try buffer.line(upTo: limits.requestLine, or: .requestLineTooLong) else {
                return .moreBytesNeeded
            }
            if line.isEmpty, !emptyLineSeen {
                state = .start(emptyLineSeen: true)
            } else {
                state = .headers(try RequestLine(line), HeaderLines())
            }
            return .again

        case .headers(let requestLine, var lines):
            guard try lines.collect(from: &buffer, limits) else {
                state = .headers(requestLine, lines)
                return .moreBytesNeeded
            }
            let head = try RequestHead(
                method: requestLine.method, target: requestLine.target, minorVersion: requestLine.minorVersion,
                headers: lines.headers)
            state = .body(try BodyParser(head.framing, limits))
            bodyLimit = limits.bodyBytes
            return .event(.head(head))

        case .body(var body):
            let step = try body.step(&buffer, limits, upTo: bodyLimit)
            state = .body(body)
            switch step {
            case .bytes(let bytes): return .event(.body(bytes))
            case .moreBytesNeeded: return .moreBytesNeeded
            case .again: return .again
            case .end:
                state = .start(emptyLineSeen: false)
                return .event(.end)
            }

        case .failed(let error):
            throw error
        }
    }
}
