/// What one client may cost. The defaults suit a server for people and programs on a network of their own.
public struct Limits: Sendable {
    /// Bytes of the request line; 414 beyond.
    public var requestLine = 8 * 1024
    /// Bytes of all header lines, and again of all trailer lines; 431 beyond.
    public var headerBytes = 32 * 1024
    /// Header lines; 431 beyond.
    public var headerCount = 100
    /// Bytes of a body, however it is framed; 413 beyond.
    public var bodyBytes = 8 * 1024 * 1024

    /// Connections at once. Beyond, the one idle longest makes room; where none is idle, newcomers wait in the backlog, or,
    /// with `reservedPaths`, get a reserved connection.
    public var connections = 512
    /// Of those, at most so many from one network: an IPv4 address, or the first half of an IPv6 one. Beyond, one of that
    /// network's that is idle makes room, and the newcomer is closed or gets a reserved connection.
    public var connectionsOfNetwork = 256
    /// Paths that are answered whatever connections others hold, such as a balancer's: there are `reservedConnections` for
    /// them alone, where other paths get 503. The newest ones count: where all are taken the oldest is closed.
    public var reservedPaths: Set<String> = []
    public var reservedConnections = 16
    /// Bytes of bodies at once, of requests that are being read or answered; 503 beyond.
    public var bodyBytesAtOnce = 256 << 20
    /// The same of one network; 429 beyond.
    public var bodyBytesOfNetwork = 64 << 20
    /// For a TLS handshake.
    public var handshake: Duration = .seconds(10)
    /// For a whole head, from its first byte, however it drips; 408 beyond.
    public var head: Duration = .seconds(10)
    /// A body may take this long and a second more for each `bodyRate` bytes that the head announces (of one without a
    /// length: that it may have); 408 beyond. What trickles in does not prolong it.
    public var bodyGrace: Duration = .seconds(10)
    public var bodyRate = 128 * 1024
    /// For the next request on a connection that is kept alive (and for the first).
    public var idle: Duration = .seconds(60)
    /// For a request that was on its way when the server stopped.
    public var lastRequest: Duration = .milliseconds(500)
    /// For a client to take any bytes of a response.
    public var writeStall: Duration = .seconds(30)

    public init() {}
}
