/// Limits of the server. The defaults suit a private network.
package struct Limits: Sendable {
    /// Bytes of the request line; 414 beyond.
    package var requestLine = 8 * 1024
    /// Bytes of all header lines, and again of all trailer lines; 431 beyond.
    package var headerBytes = 32 * 1024
    /// Header lines; 431 beyond.
    package var headerCount = 100
    /// Bytes of a body, however it is framed; 413 beyond. A handler may set a lower limit when it reads.
    package var bodyBytes = 8 * 1024 * 1024

    /// Maximum connections. Beyond it, the one idle longest is closed; if none is idle, new ones wait in the backlog
    /// or, with `reservedPaths`, become reserved connections.
    package var connections = 512
    /// Maximum connections of one network: an IPv4 address or an IPv6 /64. Beyond it, that network's longest idle one
    /// is closed, and the new one is closed or becomes a reserved connection.
    package var connectionsOfNetwork = 256
    /// Paths that stay reachable when all connections are taken, such as a load balancer's health check. Reserved
    /// connections serve only these and answer 503 to others.
    package var reservedPaths: Set<String> = []
    /// Connections reserved for `reservedPaths`. Beyond it, the oldest of them is closed.
    package var reservedConnections = 16
    /// Bytes of all bodies of requests being read or handled; 503 beyond.
    package var bodyBytesAtOnce = 256 << 20
    /// Bytes of all bodies of one network; 429 beyond.
    package var bodyBytesOfNetwork = 64 << 20
    /// Deadline of a TLS handshake.
    package var handshake: Duration = .seconds(10)
    /// Deadline of a whole head, from its first byte; 408 beyond.
    package var head: Duration = .seconds(10)
    /// Deadline of a body: this plus a second for each `bodyRate` bytes that the head announces, or that a body without
    /// length may have; 408 beyond. Arriving bytes do not extend it.
    package var bodyGrace: Duration = .seconds(10)
    /// Minimum bytes per second of a body; see `bodyGrace`.
    package var bodyRate = 128 * 1024
    /// Maximum time to wait for a connection's first or next request.
    package var idle: Duration = .seconds(60)
    /// Time for a request that was on its way when the server stopped.
    package var lastRequest: Duration = .milliseconds(500)
    /// Maximum time in which a client accepts no byte of a response.
    package var writeStall: Duration = .seconds(30)

    package init() {}

    /// Lowers the numbers of connections so that a quarter of the files that may still be opened is left for others.
    ///
    /// - Returns: Whether they were lowered.
    package mutating func fit(openFiles: Int) -> Bool {
        let room = max(2, openFiles - openFiles / 4)
        guard connections + reservedConnections > room else { return false }
        reservedConnections = min(reservedConnections, max(1, room / 4))
        connections = min(connections, room - reservedConnections)
        return true
    }
}
