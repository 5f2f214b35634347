/// A request with its whole body.
public struct Request: Sendable {
    public var method: String
    /// As the client sent it, percent encoding and query included: what signatures are computed over.
    public var target: String
    /// The target's path, percent decoded; `*` for `OPTIONS *`.
    public var path: String
    /// The target's query, percent decoded, in order.
    public var query: [QueryItem]
    public var headers: Headers
    /// Chunked framing removed.
    public var body: [UInt8]
    /// The address of the other end of the connection, as `127.0.0.1:49152` or `[::1]:49152`.
    public var peer: String
    /// The network that the request comes from, behind a trusted proxy the client's: an IPv4 address, or the first half of an
    /// IPv6 one. What limits count by.
    public internal(set) var network: String
    /// Whether the server has been told to stop: its connection ends with this request.
    public internal(set) var isLast = false
    /// What `Server.Configuration.makeNotes` returned for this request; its `RequestRecord` has the same.
    public internal(set) var notes: any Sendable = ()

    public init(
        method: String, target: String, path: String, query: [QueryItem] = [], headers: Headers = [:],
        body: [UInt8] = [], peer: String = ""
    ) {
        self.method = method
        self.target = target
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.peer = peer
        network = HTTP.network(of: peer)
    }

    init(
        _ head: RequestHead, body: [UInt8], peer: String, network: String, isLast: Bool, notes: any Sendable
    ) {
        self.init(
            method: head.method, target: head.target.raw, path: head.target.path, query: head.target.query,
            headers: head.headers, body: body, peer: peer)
        self.network = network
        self.isLast = isLast
        self.notes = notes
    }
}

/// One `name=value` of a query; `value` is empty where there is no `=`.
public struct QueryItem: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
