import CLinux
import Glibc

/// An HTTP/1.1 server (RFC 9110 and 9112): strict about what it takes, bounded in what one client may cost.
///
/// A request reaches the handler whole. On one connection requests are handled one after the other; pipelined ones
/// wait unread. A handler runs in a task of its own, which is cancelled when its client leaves.
public actor Server: EventSource {
    public typealias Handler = @Sendable (Request) async throws -> Response
    public typealias ErrorResponse = @Sendable (any Error, _ notes: any Sendable) -> Response

    public struct Configuration: Sendable {
        /// A name or an IPv4 or IPv6 address of this machine.
        public var host: String
        /// 0 lets the system choose.
        public var port: UInt16
        /// `nil` serves plain HTTP.
        public var tls: TLSIdentity?
        public var limits: Limits
        /// Answers for what was thrown: a `RequestError` for bytes that are no request, or a handler's own error.
        /// The second argument is the request's notes. The response's body must not be a stream.
        public var errorResponse: ErrorResponse
        /// Called when a request begins. The server hands the result to the handler, to `errorResponse` and to `log`.
        public var makeNotes: @Sendable () -> any Sendable
        /// Called with a request whose body has not been read, to refuse it before it is; `nil` lets it go on. The
        /// response's body must not be a stream.
        public var refuse: (@Sendable (Request) async -> Response?)?
        public var proxies = TrustedProxies()
        /// Called once a request, when its answer has been sent or never will be. It must not block: connections wait.
        public var log: (@Sendable (RequestRecord) -> Void)?

        public init(
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

    /// Where clients find the server, such as `127.0.0.1:8080`.
    public nonisolated let addresses: [String]
    public nonisolated let port: UInt16

    private let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let configuration: Configuration
    private let handler: Handler
    private var sockets: [(socket: ListeningSocket, token: UInt64)] = []
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// Clients wait in the backlog because no connection or descriptor was free.
    private var hasBacklog = false
    private var admission: Admission
    /// Whether it looks for a connection to close.
    private var isMakingRoom = false
    /// Connections for `Limits.reservedPaths` alone, the oldest first.
    private var reserved: [Connection] = []

    /// Starts listening. The server then runs until it is stopped, whether or not it is referred to.
    public static func start(
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
                stopListening()
                for socket in new.dropFirst(sockets.count) { close(socket.descriptor) }
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

    /// Stops listening at once, lets running requests end, and closes what is left after `grace`. Who has connected
    /// before is still served.
    public func stop(within grace: Duration = .seconds(10)) async {
        accept()
        stopListening()
        for connection in connections.values { await connection.drain() }
        await waitForConnections(until: .now + grace)
        // Handlers are cancelled, and may still say so.
        for connection in connections.values { await connection.giveUp() }
        await waitForConnections(until: .now + .seconds(1))
        for connection in connections.values { await connection.fail(.serverStopped) }
        // One that does not heed that is left to itself.
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

    private func accept() {
        hasBacklog = false
        for (socket, _) in sockets {
            while true {
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
        Task {
            await connection.serve()
            connections[ObjectIdentifier(connection)] = nil
            if isReserved { reserved.removeAll { $0 === connection } } else { admission.disconnect(network) }
            if hasBacklog { accept() }
        }
    }

    /// Counts bytes of a body that have come to one of the connections.
    func take(_ count: Int, of network: String) throws(RequestError) { try admission.take(count, of: network) }

    func giveBack(_ count: Int, of network: String) { admission.giveBack(count, of: network) }

    /// Makes room for a newcomer. A connection of the last second is spared: its request may be on the way.
    ///
    /// - Parameter network: Whose; `nil`: anybody's.
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

    /// A line of plain text; says nothing of what a handler threw.
    public static let plainErrorResponse: ErrorResponse = { error, _ in
        guard let error = error as? RequestError else { return .text("internal server error\n", status: 500) }
        return .text("\(error.message)\n", status: error.status)
    }
}
