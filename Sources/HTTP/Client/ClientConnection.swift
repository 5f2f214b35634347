import CLinux
import Platform

/// A client's connection, for one request after the other. Cancelling a waiting task closes it.
actor ClientConnection: SocketActor {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    nonisolated let descriptor: Int32
    private(set) var tls: TLSSession?
    private var limits: HTTPClient.Limits
    private var token: UInt64?
    private var isClosed = false
    private var parser = ResponseParser()
    /// A response may arrive before the request is sent completely; the server would then read a next request as the
    /// rest of the first.
    private var isWholeRequestSent = false
    /// Deadline of the whole response.
    private var end = ContinuousClock.now

    var deadline: ContinuousClock.Instant?
    var isReadable = true
    var isWritable = false
    var isDead = false
    var hasTimedOut = false
    var reader: CheckedContinuation<Void, Never>?
    var writer: CheckedContinuation<Void, Never>?

    private init(_ descriptor: Int32, _ loop: EventLoop, limits: HTTPClient.Limits) {
        self.descriptor = descriptor
        self.loop = loop
        self.limits = limits
    }

    /// Connects to an address; over TLS, verifies that the certificate is for `host`.
    ///
    /// - Parameter tunnel: The `CONNECT` request for the proxy at `address`; `nil` without a tunnel.
    static func open(
        _ address: SocketAddress, host: String, trust: TLSTrust?, through tunnel: [UInt8]?, limits: HTTPClient.Limits
    ) async throws -> ClientConnection {
        // OpenSSL writes to sockets without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(Int32(address.family), Int32(kind), 0)
        guard descriptor >= 0 else { throw ClientError.notConnected(text(of: errno)) }
        let loop: EventLoop
        do { loop = try EventLoop.shared.get() } catch { throw ClientError.notConnected(error.message) }
        let connection = ClientConnection(descriptor, loop, limits: limits)
        do {
            try await connection.cancellable {
                try await connection.connect(to: address, tunnel)
                if let trust { try await connection.beginTLS(address, trust, host) }
            }
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Sends a request and waits for the head of the response.
    func ask(
        _ request: [UInt8], _ limits: HTTPClient.Limits, until end: ContinuousClock.Instant
    ) async throws -> ResponseParser.Head {
        (self.limits, self.end) = (limits, end)
        (parser, isWholeRequestSent) = (ResponseParser(), false)
        return try await cancellable {
            do throws(ConnectionError) {
                try await send(request, stall: limits.silence) { _ in }
                isWholeRequestSent = true
            } catch {
                // A server may refuse a request and close before reading all of it; read its response.
                guard error == .closed, !isClosed else { throw error }
                isDead = false
            }
            guard case .head(let head) = try await nextEvent() else { throw ClientError.malformed("no head") }
            return head
        }
    }

    func nextBytes() async throws -> ArraySlice<UInt8>? {
        try await cancellable {
            guard case .body(let bytes) = try await nextEvent() else { return nil }
            return bytes
        }
    }

    /// Whether the connection can be reused, once a response is complete.
    var canBeAskedAgain: Bool { !isClosed && !isDead && isWholeRequestSent && parser.canBeAskedAgain }

    /// Whether the connection can be reused now: no byte and no end of input since the last response.
    func isOpen() -> Bool {
        var byte: UInt8 = 0
        return canBeAskedAgain && recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0
            && errno == EAGAIN
    }

    func close() {
        guard !isClosed else { return }
        if !isDead { tls?.sendClose() }
        (isClosed, isDead, deadline) = (true, true, nil)
        wake()
        if let token { loop.remove(descriptor, token) }
        Glibc.close(descriptor)
    }

    func ready(_ events: ReadyEvents) {
        // Input received before the peer closed can still be read; reading finds the end.
        let isOver = !events.isDisjoint(with: [.dead, .peerClosed])
        if isOver || events.contains(.read) { isReadable = true }
        if isOver || events.contains(.write) { isWritable = true }
        wake()
    }

    // MARK: Steps

    private func connect(to address: SocketAddress, _ tunnel: [UInt8]?) async throws {
        try check()  // it may already be closed
        deadline = .now + limits.connect
        defer { deadline = nil }
        let code = address.withPointer { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard code == 0 || code == EINPROGRESS else { throw ClientError.notConnected("\(address): \(text(of: code))") }
        token = loop.add(descriptor, self, [.read, .write, .peerClosed])
        guard token != nil else { throw ClientError.notConnected("\(address): \(text(of: errno))") }
        do {
            try await waitUntilWritable()
            var fault: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &fault, &size)
            guard fault == 0 else { throw ClientError.notConnected("\(address): \(text(of: fault))") }
            setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
            if let tunnel { try await open(tunnel, at: address) }
        } catch ConnectionError.timedOut {
            throw ClientError.notConnected("\(address): the connection timed out")
        } catch ConnectionError.closed {
            throw ClientError.notConnected("\(address): the server closed the connection")
        }
    }

    private func open(_ tunnel: [UInt8], at address: SocketAddress) async throws {
        try await send(tunnel, stall: limits.connect) { _ in }
        deadline = .now + limits.connect
        var parser = ResponseParser()
        do {
            while true {
                if case .head(let head) = try parser.next() {
                    guard (200..<300).contains(head.status) else {
                        throw ClientError.notConnected("the proxy \(address) refused the tunnel: status \(head.status)")
                    }
                    return
                }
                guard try await receive({ parser.append($0) }) else { throw ConnectionError.closed }
            }
        } catch let error as RequestError {
            throw ClientError.notConnected("the proxy \(address) sent an invalid HTTP response: \(error.message)")
        }
    }

    private func beginTLS(_ address: SocketAddress, _ trust: TLSTrust, _ host: String) async throws {
        deadline = .now + limits.connect
        defer { deadline = nil }
        tls = trust.session(descriptor, host: host)
        do {
            guard let tls, try await retrying({ tls.handshake() }) > 0 else { throw ConnectionError.closed }
        } catch ConnectionError.timedOut {
            throw ClientError.notConnected("\(address): the TLS handshake timed out")
        } catch ConnectionError.closed {
            if let fault = tls?.certificateFault { throw ClientError.untrusted(fault) }
            throw ClientError.notConnected("\(address): the TLS handshake failed")
        }
    }

    private func nextEvent() async throws -> ResponseParser.Event {
        do {
            while true {
                if let event = try parser.next() { return event }
                deadline = min(.now + limits.silence, end)
                defer { deadline = nil }
                if try await !receive({ parser.append($0) }) {
                    guard parser.mayEndHere else { throw ClientError.lost }
                    return .end
                }
            }
        } catch let error as RequestError {
            throw ClientError.malformed(error.message)
        }
    }

    /// Runs `body`; cancelling the task closes the connection.
    private func cancellable<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        try await withTaskCancellationHandler {
            do { return try await body() } catch {
                try Task.checkCancellation()
                guard let error = error as? ConnectionError else { throw error }
                throw error == .timedOut ? ClientError.timedOut : ClientError.lost
            }
        } onCancel: {
            Task { await close() }
        }
    }
}

private func text(of code: Int32) -> String { String(cString: strerror(code)) }
