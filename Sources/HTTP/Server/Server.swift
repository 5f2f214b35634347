import CLinux
import Platform

/// An HTTP/1.1 server (RFC 9110 and 9112) with strict parsing and limits per client.
///
/// A handler gets a request when its head has arrived, and reads the body. Requests on one connection are handled one after
/// the other; pipelined ones wait unread. Each handler runs in its own task, which is cancelled when the client disconnects.
package actor Server: EventSource {
    /// Answers a request. What it throws is passed to `Configuration.errorResponse`.
    package typealias Handler = @Sendable (Request) async throws -> Response
    package typealias ErrorResponse = @Sendable (any Error, _ notes: any Sendable) -> Response

    package struct Configuration: Sendable {
        /// Name, or IPv4 or IPv6 address, to listen on.
        package var host: String
        /// Port to listen on; 0 lets the system choose one.
        package var port: UInt16
        /// Certificate for HTTPS; `nil`: plain HTTP.
        package var tls: TLSIdentity?
        package var limits: Limits
        /// Makes the response to an error: a `RequestError` for an invalid request, or a handler's error. The second
        /// argument is the request's notes. The response's body must not be a stream.
        package var errorResponse: ErrorResponse
        /// Called when a request begins. Its result is passed to the handler, to `errorResponse` and to `log`.
        package var makeNotes: @Sendable () -> any Sendable
        /// Proxies whose `X-Forwarded-For` is believed.
        package var proxies = TrustedProxies()
        /// Called once per request, when its response was sent or has failed. Must not block the event loop.
        package var log: (@Sendable (RequestRecord) -> Void)?

        package init(
            host: String, port: UInt16, tls: TLSIdentity? = nil, limits: Limits = .init(),
            errorResponse: @escaping ErrorResponse = Server.plainErrorResponse,
            makeNotes: @escaping @Sendable () -> any Sendable = { () },
            log: (@Sendable (RequestRecord) -> Void)? = nil
        ) {
            self.host = host
            self.port = port
            self.tls = tls
            self.limits = limits
            self.errorResponse = errorResponse
            self.makeNotes = makeNotes
            self.log = log
        }
    }

    /// Addresses with port that the server listens on, such as `127.0.0.1:8080`.
    package nonisolated let addresses: [String]
    /// The port that the server listens on.
    package nonisolated let port: UInt16

    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let configuration: Configuration
    private let handler: Handler
    private var sockets: [(socket: ListeningSocket, token: UInt64)] = []
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// Clients wait in the backlog because the connection limit is reached or no descriptor was free.
    private var hasBacklog = false
    /// Whether a job that accepts more is waiting for its turn.
    private var goesOnAccepting = false
    /// Connections accepted at once. More wait for their turn, behind the handshakes of these: a flood fills the backlog with
    /// thousands, and opening them all would stall streams for tenths of a second.
    private static let acceptedAtOnce = 16
    private var admission: Admission
    /// Whether `closeLongestIdle` is running.
    private var isMakingRoom = false
    /// Connections that serve only `Limits.reservedPaths`, the oldest first.
    private var reserved: [Connection] = []

    /// Starts listening. The server runs until `stop`, even without references to it.
    ///
    /// - Throws: `NetworkError` if it cannot listen at the address.
    package static func start(
        _ configuration: Configuration, handler: @escaping Handler
    ) async throws(NetworkError) -> Server {
        // OpenSSL writes to sockets without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        let loop = try EventLoop.shared.get()
        let sockets = try ListeningSocket.open(host: configuration.host, port: configuration.port)
        let server = Server(loop, sockets, configuration, handler)
        try await server.listen(on: sockets)
        return server
    }

    private init(
        _ loop: EventLoop, _ sockets: [ListeningSocket], _ configuration: Configuration, _ handler: @escaping Handler
    ) {
        self.loop = loop
        self.configuration = configuration
        self.handler = handler
        admission = Admission(configuration.limits)
        addresses = sockets.map(\.address)
        port = sockets.first?.port ?? configuration.port
    }

    private func listen(on new: [ListeningSocket]) throws(NetworkError) {
        for socket in new {
            guard let token = loop.add(socket.descriptor, self, .read) else {
                let error = NetworkError.system("epoll_ctl")
                for socket in new.dropFirst(sockets.count) { close(socket.descriptor) }
                stopListening()
                throw error
            }
            sockets.append((socket, token))
        }
    }

    private func stopListening() {
        for (socket, token) in sockets {
            loop.remove(socket.descriptor, token)
            close(socket.descriptor)
        }
        sockets = []
    }

    /// Stops listening at once, lets running requests end, and closes the remaining connections after `grace`. Clients
    /// in the backlog are still served.
    package func stop(within grace: Duration = .seconds(10)) async {
        accept(atMost: .max)
        stopListening()
        for connection in connections.values { await connection.drain() }
        await waitForConnections(until: .now + grace)
        // Cancel the handlers; their responses are still sent.
        for connection in connections.values { await connection.giveUp() }
        await waitForConnections(until: .now + .seconds(1))
        for connection in connections.values { await connection.fail(.serverStopped) }
        // A handler that ignores cancellation keeps running.
        await waitForConnections(until: .now + .seconds(1))
    }

    private func waitForConnections(until deadline: ContinuousClock.Instant) async {
        while !connections.isEmpty, .now < deadline, (try? await Task.sleep(for: .milliseconds(10))) != nil {}
    }

    // MARK: Accepting

    func ready(_: ReadyEvents) { accept() }

    func tick(_: ContinuousClock.Instant) {
        if hasBacklog { accept() }
    }

    private func accept(atMost limit: Int = Server.acceptedAtOnce) {
        hasBacklog = false
        var rest = limit
        for (socket, _) in sockets {
            while true {
                guard rest > 0 else { return acceptLater() }
                rest -= 1
                guard canReserve || !admission.isFull else {
                    hasBacklog = true
                    Task { await closeLongestIdle() }
                    return
                }
                var descriptor: Int32 = -1
                let peer = SocketAddress {
                    descriptor = accept4(
                        socket.descriptor, $0, $1, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
                    return descriptor
                }
                guard descriptor >= 0 else {
                    switch errno {
                    case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH: continue
                    case EAGAIN: break
                    default: hasBacklog = true  // EMFILE, ENFILE, ENOBUFS, ENOMEM: try again at the next tick
                    }
                    break
                }
                setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
                open(descriptor, peer?.description ?? "unknown")
            }
        }
    }

    private func acceptLater() {
        guard !goesOnAccepting else { return }
        goesOnAccepting = true
        Task(executorPreference: loop) { await self.goOnAccepting() }
    }

    private func goOnAccepting() async {
        await withCheckedContinuation { loop.takeTurn($0) }
        goesOnAccepting = false
        accept()
    }

    private var canReserve: Bool {
        !configuration.limits.reservedPaths.isEmpty && configuration.limits.reservedConnections > 0
    }

    private func open(_ descriptor: Int32, _ peer: String) {
        let network = configuration.proxies.contain(peer: peer) ? nil : HTTP.network(of: peer)
        let isReserved = !admission.connect(network)
        if isReserved {
            let full = admission.isFull ? nil : network
            Task { await closeLongestIdle(of: full) }
            guard canReserve else { return _ = close(descriptor) }
        }
        let connection = Connection(
            descriptor, peer: peer, isReserved: isReserved, server: self, loop: loop, configuration: configuration,
            handler: handler)
        connections[ObjectIdentifier(connection)] = connection
        if isReserved {
            reserved.append(connection)
            if reserved.count > configuration.limits.reservedConnections {
                let oldest = reserved.removeFirst()
                Task { await oldest.fail() }
            }
        }
        Task(executorPreference: loop) { await self.serve(connection) }
    }

    private func serve(_ connection: Connection) async {
        await connection.serve()
        connections[ObjectIdentifier(connection)] = nil
        if connection.isReserved {
            reserved.removeAll { $0 === connection }
        } else {
            admission.disconnect(connection.network)
        }
        if hasBacklog { accept() }
    }

    /// Counts body bytes received on a connection.
    func take(_ count: Int, of network: String) throws(RequestError) { try admission.take(count, of: network) }

    func giveBack(_ count: Int, of network: String) { admission.giveBack(count, of: network) }

    /// Closes the connection that is idle longest to make room for a new one, but none that became idle within the last
    /// second: a request may be on its way.
    ///
    /// - Parameter network: Considers only connections of this network; `nil`: all.
    private func closeLongestIdle(of network: String? = nil) async {
        guard !isMakingRoom else { return }
        isMakingRoom = true
        defer { isMakingRoom = false }
        var longest: (connection: Connection, since: ContinuousClock.Instant)?
        for connection in connections.values where !connection.isReserved {
            guard await connection.isIdle else { continue }
            if let network, connection.network != network { continue }
            let since = await connection.idleSince
            if longest.map({ since < $0.since }) ?? true { longest = (connection, since) }
        }
        guard let longest, longest.since < .now - .seconds(1) else { return }
        await longest.connection.fail()
    }

    /// Answers in plain text. Does not reveal errors of handlers.
    package static let plainErrorResponse: ErrorResponse = { error, _ in
        guard let error = error as? RequestError else { return .text("internal server error\n", status: 500) }
        return .text("\(error.message)\n", status: error.status)
    }
}
