/// A request as a handler gets it.
package struct Request: Sendable {
    package var method: String
    /// The target as sent, still percent-encoded, with its query, as signatures need it.
    package var target: String
    /// The target's percent-decoded path; `*` for `OPTIONS *`.
    package var path: String
    /// The target's percent-decoded query items in order.
    package var query: [QueryItem]
    package var headers: Headers
    package var body: RequestBody
    /// The peer's address, as `127.0.0.1:49152` or `[::1]:49152`.
    package var peer: String
    /// The client's network, to which limits apply: an IPv4 address or an IPv6 /64. Behind a trusted proxy, that of the
    /// proxy's client.
    package internal(set) var network: String
    /// Whether the server is stopping: the connection closes after this request.
    package internal(set) var isLast = false
    /// What `Server.Configuration.makeNotes` returned for this request; also in its `RequestRecord`.
    package internal(set) var notes: any Sendable = ()

    package init(
        method: String, target: String, path: String, query: [QueryItem] = [], headers: Headers = [:],
        body: [UInt8] = [], peer: String = ""
    ) {
        self.method = method
        self.target = target
        self.path = path
        self.query = query
        self.headers = headers
        self.body = RequestBody(body)
        self.peer = peer
        network = HTTP.network(of: peer)
    }

    /// The same request with its whole body in memory.
    ///
    /// - Parameter limit: Maximum bytes of the body.
    package func collected(upTo limit: Int) async throws -> Self {
        var request = self
        request.body = RequestBody(try await body.collect(upTo: limit))
        return request
    }

    init(
        _ head: RequestHead, body: RequestBody, peer: String, network: String, isLast: Bool, notes: any Sendable
    ) {
        self.init(
            method: head.method, target: head.target.raw, path: head.target.path, query: head.target.query,
            headers: head.headers, peer: peer)
        self.body = body
        self.network = network
        self.isLast = isLast
        self.notes = notes
    }
}

/// A `name=value` of a query; `value` is empty without `=`.
package struct QueryItem: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
