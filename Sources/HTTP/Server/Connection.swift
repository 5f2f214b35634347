import CLinux
import Platform

/// Why reading from or writing to a connection failed.
package enum ConnectionError: Error, Equatable, Sendable {
    /// The peer closed the connection, or it broke.
    case closed
    /// The peer was slower than `Limits` allows.
    case timedOut
    /// Two tasks wrote to one response, or read one body, concurrently.
    case overlappingUse
    /// A `ResponseWriter` was used after its response had ended, or a `RequestBody` after its handler had returned.
    case exchangeEnded
}

/// A client's connection, which it serves from accept to close.
///
/// A client that closes its sending half counts as disconnected, since the two look the same: its running request is
/// cancelled, but a response that the handler still returns is sent.
actor Connection: SocketActor {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let descriptor: Int32
    let tls: TLSSession?
    let configuration: Server.Configuration
    private let handler: Server.Handler
    private let peer: String
    /// Network of the client; `nil` for a trusted proxy.
    nonisolated let network: String?
    private let server: Server
    /// Whether it serves only `Limits.reservedPaths`.
    nonisolated let isReserved: Bool
    /// The body of the current request.
    private var body = IncomingBody()
    /// Bytes of the current body counted by `Server.take`.
    private var countedBytes = 0
    /// Network to which `countedBytes` are counted.
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

    /// Runs the handler and sends its response; `exchangeNumber` identifies it.
    var exchange: Task<Bool, any Error>?
    private var exchangeNumber = 0
    /// Whether it waits for the first byte of a request.
    private(set) var isIdle = true
    private(set) var idleSince = ContinuousClock.now
    private var isStopping = false
    private var isGivenUp = false
    /// Record of the current request.
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

    /// Serves requests in order until either side closes.
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
            while let head = try await nextHead() {
                let goesOn = try await answer(
                    head,
                    Request(
                        head, body: requestBody(head), peer: peer, network: sender, isLast: isStopping, notes: notes))
                await giveBackBody()
                guard goesOn else { return await linger() }
            }
        } catch let error as RequestError {
            await refuse(error)
        } catch {
            // The client disconnected or stalled, or a streamed response failed.
            let isClients = isDead || peerClosed || error is ConnectionError
            let stalled = error as? ConnectionError == .timedOut
            endRecord(isClients ? stalled ? .clientStalled : .clientLeft : .answerFailed)
        }
    }

    /// Closes the connection after the current request, or after one that may be on its way.
    func drain() {
        isStopping = true
        if isIdle { deadline = .now + configuration.limits.lastRequest }
    }

    /// Cancels the running handler at the end of the grace period; its response is still sent.
    func giveUp() {
        record?.failure = .serverStopped
        isGivenUp = true
        exchange?.cancel()
    }

    /// Closes the connection and cancels the running handler.
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

    /// Reads the head of the next request; `nil` if the client closes the connection or leaves it idle.
    private func nextHead() async throws -> RequestHead? {
        let limits = configuration.limits
        (isIdle, idleSince, record) = (true, .now, nil)
        deadline = .now + (isStopping ? limits.lastRequest : limits.idle)
        while true {
            if case .head(let head) = try parser.next() {
                deadline = nil
                begin()
                record?.method = head.method
                record?.path = head.target.path
                guard !isReserved || limits.reservedPaths.contains(head.target.path) else {
                    throw RequestError(status: 503, message: "the server has too many connections")
                }
                sender = configuration.proxies.network(of: peer, head.headers)
                return head
            }
            if isIdle, !parser.isBetweenRequests {
                begin()
                deadline = .now + limits.head
            }
            do throws(ConnectionError) {
                guard try await fill() else { return nil }
            } catch {
                guard error == .timedOut else { throw error }
                guard !isIdle else { return nil }
                throw RequestError.tooSlow
            }
        }
    }

    /// The first byte of a request has arrived.
    private func begin() {
        isIdle = false
        record = record ?? RequestRecord(peer: peer, notes: configuration.makeNotes())
    }

    private var notes: any Sendable { record?.notes ?? () }

    /// Passes the record to the log, once.
    private func endRecord(_ failure: RequestRecord.Failure? = nil) {
        guard var ended = record, let log = configuration.log else { return }
        record = nil
        ended.failure = ended.failure ?? failure
        ended.end()
        log(ended)
    }

    /// Runs the handler and sends its response. Returns whether the connection stays open.
    private func answer(_ head: RequestHead, _ request: Request) async throws -> Bool {
        exchangeNumber += 1
        let exchange = Task { try await self.respond(head, request) }
        self.exchange = exchange
        defer { self.exchange = nil }
        if peerClosed || isDead { exchange.cancel() }
        let goesOn = try await exchange.value
        if !isGivenUp { record?.failure = nil }  // the client may have closed after receiving all of it
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
        body.isOpen = false
        let wantsMore = head.keepAlive && !isStopping && !peerClosed && body.hasEnded
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
            let (number, isChunked) = (exchangeNumber, encoded.framing == .chunked)
            try await produce(
                ResponseWriter { try await self.write(isChunked ? Self.chunk($0) : $0, exchange: number) })
            if isChunked { try await send(Array("0\r\n\r\n".utf8)) }
        }
        return encoded.keepAlive
    }

    /// Sends part of the body of the current response.
    func write(_ bytes: [UInt8], exchange number: Int) async throws(ConnectionError) {
        guard exchange != nil, number == exchangeNumber else { throw .exchangeEnded }
        try await send(bytes)
    }

    private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    /// Answers an invalid request, as the last response of the connection.
    private func refuse(_ error: RequestError) async {
        hasTimedOut = false
        begin()  // its first bytes may already be invalid
        let response = configuration.errorResponse(error, notes)
        guard case .bytes(let body) = response.body,
            let head = try? ResponseHead(response, to: nil, id: record?.id, keepAlive: false)
        else { return }
        record?.status = response.status
        guard (try? await send(head.bytes + body)) != nil else { return }
        endRecord()
        await linger()
    }

    /// Shuts down sending, then waits for the client to close: closing while it still sends would reset the connection
    /// and lose the response.
    private func linger() async {
        guard !isDead else { return }
        tls?.sendClose()
        shutdown(descriptor, Int32(SHUT_WR))
        deadline = .now + .seconds(5)
        await discardInput(upTo: 64 << 20)
    }

    // MARK: The request's body

    /// The body of a request whose head has arrived: in memory if all of it came with the head.
    private func requestBody(_ head: RequestHead) async throws -> RequestBody {
        body = IncomingBody(head)
        var arrived: [UInt8] = []
        while let part = try await arrivedPart() { arrived += part }
        guard !body.hasEnded else { return RequestBody(arrived) }
        body.unread = arrived
        let number = exchangeNumber + 1  // the exchange that begins next
        return RequestBody(length: body.length) { try await self.readBody(upTo: $0, exchange: number) }
    }

    /// The next part of the body among the received bytes; `nil` at its end, and if more must be received.
    private func arrivedPart() async throws -> ArraySlice<UInt8>? {
        guard !body.hasEnded, let event = try parser.next() else { return nil }
        guard case .body(let bytes) = event else {
            body.hasEnded = true
            return nil
        }
        try await server.take(bytes.count, of: sender)
        countedBytes += bytes.count
        return bytes
    }

    /// Receives the next part of the body of the current exchange; `nil` at its end.
    private func readBody(upTo limit: Int, exchange number: Int) async throws -> [UInt8]? {
        guard body.isOpen, number == exchangeNumber else { throw ConnectionError.exchangeEnded }
        guard !body.isBeingRead else { throw ConnectionError.overlappingUse }
        body.isBeingRead = true
        defer {
            body.isBeingRead = false
            deadline = nil
        }
        if body.deadline == nil {
            if body.expectsContinue, body.unread.isEmpty, !parser.hasUnreadBytes {
                try await send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            }
            let limits = configuration.limits
            let most = body.length ?? min(limit, limits.bodyBytes)
            body.deadline = .now + limits.bodyGrace + .seconds(most / max(1, limits.bodyRate))
        }
        deadline = body.deadline
        try parser.limitBody(to: limit)
        while true {
            var part = body.unread[...]
            body.unread = []
            if part.isEmpty { part = try await arrivedPart() ?? [] }
            guard countedBytes <= limit else { throw RequestError.bodyTooLarge(limit) }
            if !part.isEmpty { return Array(part) }
            guard !body.hasEnded else { return nil }
            do throws(ConnectionError) {
                guard try await fill() else {
                    fail()
                    throw .closed
                }
            } catch {
                guard error == .timedOut else { throw error }
                hasTimedOut = false  // the response is still sent
                throw RequestError.tooSlow
            }
        }
    }
}

/// How much of a request's body has arrived.
private struct IncomingBody {
    /// As announced; `nil` for a body in chunks.
    var length: Int?
    var expectsContinue = false
    var hasEnded = false
    /// Whether the handler may still read it.
    var isOpen = true
    var isBeingRead = false
    /// What came with the head, until it is read.
    var unread: [UInt8] = []
    /// Set when the handler begins to read.
    var deadline: ContinuousClock.Instant?

    init() {}

    init(_ head: RequestHead) {
        switch head.framing {
        case .none: length = 0
        case .length(let bytes): length = bytes
        case .chunked: length = nil
        }
        expectsContinue = head.expectsContinue
    }
}

extension RequestError {
    fileprivate static let tooSlow = Self(status: 408, message: "the request did not come in time")
}
