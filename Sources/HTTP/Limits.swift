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

    /// Connections at once. Beyond, the one idle longest makes room; where none is idle, newcomers wait in the backlog.
    public var connections = 512
    /// For a TLS handshake.
    public var handshake: Duration = .seconds(10)
    /// For a whole head, from its first byte, however it drips; 408 beyond.
    public var head: Duration = .seconds(10)
    /// A body may take this long and a second more for each `bodyRate` bytes that came; 408 beyond.
    public var bodyGrace: Duration = .seconds(10)
    public var bodyRate = 1024
    /// For the next request on a connection that is kept alive (and for the first).
    public var idle: Duration = .seconds(60)
    /// For a request that was on its way when the server stopped.
    public var lastRequest: Duration = .milliseconds(500)
    /// For a client to take any bytes of a response.
    public var writeStall: Duration = .seconds(30)

    public init() {}
}
