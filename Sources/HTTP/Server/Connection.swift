import CLinux
import Glibc

/// Why bytes could not be written or read.
public enum ConnectionError: Error, Equatable, Sendable {
    /// The other end closed the connection, or it broke.
    case closed
    /// The other end was slower than `Limits` allows.
    case timedOut
    /// Two tasks wrote to one response at once.
    case overlappingWrites
    /// A writer was used after its response had ended.
    case responseEnded
}

/// Who sent a request may not; its body is not read.
private struct RefusedOnHead: Error {
    let head: RequestHead
    let response: Response
}

extension RequestHead {
    /// What the body will have at most.
    fileprivate func bodyBytes(_ limits: Limits) -> Int {
        switch framing {
        case .none: 0
        case .length(let length): min(length, limits.bodyBytes)
        case .chunked: limits.bodyBytes
        }
    }
}

/// One client's connection, from its first byte to the closing of its socket.
///
/// A client that closes its sending half is taken to have left, since the two look the same: its running request is
/// cancelled, though what the handler still answers is sent.
actor Connection: SocketActor {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let descriptor: Int32
    let tls: TLSSession?
    let configuration: Server.Configuration
    private let handler: Server.Handler
    private let peer: String
    /// Whose connection it is; `nil` for a trusted proxy's.
    nonisolated let network: String?
    private let server: Server
    /// Whether it serves `Limits.reservedPaths` alone.
    nonisolated let isReserved: Bool
    /// Bytes of the request's body that the server counts.
    private var countedBytes = 0
    /// Whose bytes they are.
    private var sender = ""
    private var token: UInt64?

    var parser: RequestParser
    var deadline: ContinuousClock.Instant?
    var isReadable = true
    var isWritable = true
    var isWriting = false
    var peerClosed = false
    var isDead = false
    var hasTimedOut = false
    var reader: CheckedContinuation<Void, Never>?
    var writer: CheckedContinuation<Void, Never>?

    /// The handler at work and its response, numbered.
    var exchange: Task<Bool, any Error>?
    private var exchangeNumber = 0
    /// Waiting for a request of which nothing has come.
    private(set) var isIdle = true
    private(set) var idleSince = ContinuousClock.now
    private var isStopping = false
    private var isGivenUp = false
    /// Of the request being read or answered.
    var record: RequestRecord?

    init(
        _ descriptor: Int32, peer: String, isReserved: Bool, server: Server, loop: EventLoop,
        configuration: Server.Configuration, handler: @escaping Server.Handler
    ) {
        self.isReserved = isReserved
        self.server = server
        network = configuration.proxies.contain(peer: peer) ? nil : HTTP.network(of: peer)
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
        self.configuration = configuration
        self.handler = handler
        parser = RequestParser(limits: configuration.limits)
        tls = configuration.tls?.session(descriptor)
    }

    /// Answers requests, in order, until either side wants to close.
    func serve() async {
        await serveRequests()
        await giveBackBody()
        close()
    }

    private func giveBackBody() async {
        guard countedBytes > 0 else { return }
        await server.giveBack(countedBytes, of: sender)
        countedBytes = 0
    }

    private func serveRequests() async {
        guard configuration.tls == nil || tls != nil else { return }
        token = loop.add(descriptor, self, [.read, .write, .peerClosed])
        guard token != nil else { return }
        do {
            deadline = .now + configuration.limits.handshake
            try await handshake()
            while let (head, request) = try await nextRequest() {
                let goesOn = try await answer(head, request)
                await giveBackBody()
                guard goesOn else { return await linger() }
            }
        } catch let refused as RefusedOnHead {
            await send(refused.response, to: refused.head)
        } catch let error as RequestError {
            await refuse(error)
        } catch {
            // The client is gone, or too slow to be told, or its answer broke off.
            let isClients = isDead || peerClosed || error is ConnectionError
            let stalled = error as? ConnectionError == .timedOut
            endRecord(isClients ? stalled ? .clientStalled : .clientLeft : .answerFailed)
        }
    }

    /// Ends the connection after the request it is at, or the one that may be on its way.
    func drain() {
        isStopping = true
        if isIdle { deadline = .now + configuration.limits.lastRequest }
    }

    /// Cancels what runs on the connection, whose time is over; what it still says is sent.
    func giveUp() {
        record?.failure = .serverStopped
        isGivenUp = true
        exchange?.cancel()
    }

    /// Ends the connection and cancels what runs on it.
    func fail(_ reason: RequestRecord.Failure = .clientLeft) {
        if record?.failure == nil { record?.failure = reason }
        isDead = true
        exchange?.cancel()
        wake()
    }

    private func close() {
        endRecord(.clientLeft)  // in the middle of a request
        deadline = nil
        if !isDead { tls?.sendClose() }
        if let token { loop.remove(descriptor, token) }
        Glibc.close(descriptor)
    }

    // MARK: One request

    /// The next request, or `nil` if the client closes the connection, or leaves it idle, before one is whole.
    private func nextRequest() async throws -> (RequestHead, Request)? {
        let limits = configuration.limits
        var head: RequestHead?
        var body: [UInt8] = []
        var bodyDeadline = ContinuousClock.now
        (isIdle, idleSince, record) = (true, .now, nil)
        deadline = .now + (isStopping ? limits.lastRequest : limits.idle)
        while true {
            while let event = try parser.next() {
                switch event {
                case .head(let new):
                    head = new
                    begin()
                    record?.method = new.method
                    record?.path = new.target.path
                    guard !isReserved || limits.reservedPaths.contains(new.target.path) else {
                        throw RequestError(status: 503, message: "the server has too many connections")
                    }
                    sender = configuration.proxies.network(of: peer, new.headers)
                    // Who may use the server is known before a body is read.
                    if new.framing != .none, let response = await configuration.refuse?(request(new, [])) {
                        throw RefusedOnHead(head: new, response: response)
                    }
                    if new.expectsContinue, new.framing != .none, !parser.hasUnreadBytes {
                        try await send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
                    }
                    bodyDeadline = .now + limits.bodyGrace + .seconds(new.bodyBytes(limits) / max(1, limits.bodyRate))
                case .body(let bytes):
                    try await server.take(bytes.count, of: sender)
                    countedBytes += bytes.count
                    body.append(contentsOf: bytes)
                case .end:
                    deadline = nil
                    guard let head else { return nil }
                    return (head, request(head, body))
                }
            }
            if head != nil {
                deadline = bodyDeadline
            } else if isIdle, !parser.isBetweenRequests {
                begin()
                deadline = .now + limits.head
            }
            do throws(ConnectionError) {
                guard try await fill() else { return nil }
            } catch {
                guard error == .timedOut else { throw error }
                guard !isIdle else { return nil }
                throw RequestError(status: 408, message: "the request did not come in time")
            }
        }
    }

    private func request(_ head: RequestHead, _ body: [UInt8]) -> Request {
        Request(head, body: body, peer: peer, network: sender, isLast: isStopping, notes: notes)
    }

    /// The first of a request has come.
    private func begin() {
        isIdle = false
        record = record ?? RequestRecord(peer: peer, notes: configuration.makeNotes())
    }

    private var notes: any Sendable { record?.notes ?? () }

    /// Hands the record to the log, once.
    private func endRecord(_ failure: RequestRecord.Failure? = nil) {
        guard var ended = record, let log = configuration.log else { return }
        record = nil
        ended.failure = ended.failure ?? failure
        ended.end()
        log(ended)
    }

    /// Runs the handler and sends what it answers; whether the connection can take another request.
    private func answer(_ head: RequestHead, _ request: Request) async throws -> Bool {
        exchangeNumber += 1
        let exchange = Task { try await self.respond(head, request) }
        self.exchange = exchange
        defer { self.exchange = nil }
        if peerClosed || isDead { exchange.cancel() }
        let goesOn = try await exchange.value
        if !isGivenUp { record?.failure = nil }  // the client may have left since, with all of its answer
        endRecord()
        return goesOn
    }

    private func respond(_ head: RequestHead, _ request: Request) async throws -> Bool {
        var response: Response
        do {
            response = try await handler(request)
        } catch  where isGivenUp || !Task.isCancelled {
            response = configuration.errorResponse(isGivenUp ? ServerStopped() : error, request.notes)
        }
        let wantsMore = head.keepAlive && !isStopping && !peerClosed
        let encoded: ResponseHead
        do throws(InvalidResponse) {
            encoded = try ResponseHead(response, to: head, id: record?.id, keepAlive: wantsMore)
        } catch {
            response = configuration.errorResponse(error, request.notes)
            encoded = try ResponseHead(response, to: head, id: record?.id, keepAlive: wantsMore)
        }

        record?.status = response.status
        switch response.body {
        case .bytes(let bytes):
            try await send(encoded.framing == .none ? encoded.bytes : encoded.bytes + bytes)
        case .stream(let produce):
            try await send(encoded.bytes)
            guard encoded.framing != .none else { break }
            let isChunked = encoded.framing == .chunked
            try await produce(ResponseWriter(connection: self, exchange: exchangeNumber, isChunked: isChunked))
            if isChunked { try await send(Array("0\r\n\r\n".utf8)) }
        }
        return encoded.keepAlive
    }

    /// Sends a part of the body of the running response.
    func write(_ bytes: [UInt8], exchange number: Int) async throws(ConnectionError) {
        guard exchange != nil, number == exchangeNumber else { throw .responseEnded }
        try await send(bytes)
    }

    private func refuse(_ error: RequestError) async {
        hasTimedOut = false
        begin()  // its first bytes may have been enough to refuse it
        let response = configuration.errorResponse(error, notes)
        await send(response, to: nil)
    }

    /// Sends the last response of the connection.
    private func send(_ response: Response, to requestHead: RequestHead?) async {
        guard case .bytes(let body) = response.body,
            let head = try? ResponseHead(response, to: requestHead, id: record?.id, keepAlive: false)
        else { return }
        record?.status = response.status
        guard (try? await send(head.bytes + body)) != nil else { return }
        endRecord()
        await linger()
    }

    /// Says that nothing more will come and lets the client read what did: closing while it still sends would reset
    /// the connection and take the answer away.
    private func linger() async {
        guard !isDead else { return }
        tls?.sendClose()
        shutdown(descriptor, Int32(SHUT_WR))
        deadline = .now + .seconds(5)
        await discardInput(upTo: 64 << 20)
    }
}
