/// Why a request has no whole answer.
public enum ClientError: Error, Equatable, Sendable {
    /// No connection came about, so nothing of the request was sent. Says what went wrong.
    case notConnected(String)
    /// The other end is not who it should be. Says what is wrong with its certificate.
    case untrusted(String)
    /// The connection ended before the answer did.
    case lost
    /// Nothing came for too long, or all of it took too long.
    case timedOut
    /// What came is no answer in HTTP/1.1 or HTTP/1.0. Says why.
    case malformed(String)
}

/// Asks one server over HTTP/1.1 (RFC 9112), over TLS or not.
///
/// Nothing of an answer is read before it is asked for, so a reader that is slow slows the server down. Each request
/// has a connection of its own: a kept one may turn out to be closed when a request is on its way, and then nobody knows
/// whether the request was heard. Redirects are answers like others.
public struct HTTPClient: Sendable {
    public struct Limits: Sendable {
        /// For the host's addresses, and for a connection to each of them, TLS included.
        public var connect: Duration = .seconds(5)
        /// For the first byte, and between any two.
        public var silence: Duration = .seconds(120)
        /// For all of an answer, however long its reader takes.
        public var whole: Duration = .seconds(3600)

        public init() {}
    }

    /// A name, or an address without brackets.
    public var host: String
    public var port: UInt16
    /// `nil` asks without TLS.
    public var trust: TLSTrust?
    public var limits: Limits

    public init(host: String, port: UInt16, trust: TLSTrust? = nil, limits: Limits = .init()) {
        self.host = host
        self.port = port
        self.trust = trust
        self.limits = limits
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// - Parameters:
    ///   - target: Path and query, percent encoded.
    ///   - headers: Besides `Host`, `Content-Length` and `Connection`.
    /// - Throws: `ClientError`; `CancellationError`.
    public func send(
        _ method: String, _ target: String, headers: Headers, body: [UInt8] = []
    ) async throws -> ClientResponse {
        let end = ContinuousClock.now + limits.whole
        let request = try head(method, target, headers, body.count) + body
        let connection = try await connect()
        do {
            let head = try await connection.ask(request, until: end)
            return ClientResponse(head, connection)
        } catch {
            await connection.close()
            throw error
        }
    }

    private func head(_ method: String, _ target: String, _ headers: Headers, _ length: Int) throws -> [UInt8] {
        let isDefault = port == (trust == nil ? 80 : 443)
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        var text = "\(method) \(target) HTTP/1.1\r\nHost: \(name)\(isDefault ? "" : ":\(port)")\r\n"
        for field in headers.fields {
            try ResponseHead.check(field)
            text += "\(field.name): \(field.value)\r\n"
        }
        return Array((text + "Content-Length: \(length)\r\nConnection: close\r\n\r\n").utf8)
    }

    /// A connection to the first of the host's addresses that takes one.
    private func connect() async throws -> ClientConnection {
        let lookup = await HostLookup.addresses(of: host, port: port, within: limits.connect)
        try Task.checkCancellation()
        let addresses = try lookup.get()
        var failure = ClientError.notConnected("host \(host) has no address")
        for address in addresses {
            try Task.checkCancellation()
            do {
                return try await ClientConnection.open(address, host: host, trust: trust, limits: limits)
            } catch let error as ClientError {
                failure = error
            }
        }
        throw failure
    }
}

/// The answer to a request, whose body is read piece by piece. Its connection is closed when nobody holds it any more.
public final class ClientResponse: Sendable {
    public let status: Int
    public let headers: Headers
    private let connection: ClientConnection

    init(_ head: ResponseParser.Head, _ connection: ClientConnection) {
        status = head.status
        headers = head.headers
        self.connection = connection
    }

    deinit {
        Task { [connection] in await connection.close() }
    }

    /// Some of the body, or `nil` once it is whole. For one task at a time.
    ///
    /// - Throws: `ClientError`; `CancellationError`.
    public func next() async throws -> ArraySlice<UInt8>? { try await connection.nextPiece() }
}
