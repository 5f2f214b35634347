public import FoundationEssentials
import Glibc
import Synchronization

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

extension ClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notConnected(let reason): reason
        case .untrusted(let reason): "the server's certificate is not trusted: \(reason)"
        case .lost: "the connection ended before the answer did"
        case .timedOut: "nothing came for too long, or the answer took too long altogether"
        case .malformed(let reason): "the answer is not HTTP/1.1: \(reason)"
        }
    }
}

/// Asks one server over HTTP/1.1 (RFC 9112), over TLS or not.
///
/// Nothing of an answer is read before it is asked for, so a reader that is slow slows the server down. A connection is
/// kept for a next request, but only for one that may be repeated: when a kept connection turns out to be closed while a
/// request is on its way, nobody knows whether the request was heard. Redirects are answers like others, unless `get`
/// follows them. Proxies are those that the environment names (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
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
    /// The value of an environment variable.
    var environment: @Sendable (String) -> String? = { getenv($0).map { String(cString: $0) } }

    public init(host: String, port: UInt16, trust: TLSTrust? = nil, limits: Limits = .init()) {
        self.host = host
        self.port = port
        self.trust = trust
        self.limits = limits
    }

    /// - Parameter url: `http` or `https`, of which host and port count. `nil` if it is something else.
    /// - Throws: If the system's certificates cannot be read.
    public init?(_ url: URLComponents, limits: Limits = .init()) throws(NetworkError) {
        guard let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let (host, port) = url.hostAndPort
        else { return nil }
        self.init(host: host, port: port, trust: scheme == "https" ? try TLSTrust.system.get() : nil, limits: limits)
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// - Parameters:
    ///   - target: Path and query, percent encoded.
    ///   - headers: Besides `Host`, `Content-Length`, `Connection` and `Proxy-Authorization`.
    ///   - mayRepeat: Whether the server may get the request twice, should the connection break; by default if the
    ///     method is idempotent (RFC 9110, section 9.2.2).
    /// - Throws: `ClientError`; `CancellationError`.
    public func send(
        _ method: String, _ target: String, headers: Headers, body: [UInt8] = [], mayRepeat: Bool? = nil
    ) async throws -> ClientResponse {
        let end = ContinuousClock.now + limits.whole
        let proxy = try Proxy(to: host, usesTLS: trust != nil, environment)
        let mayRepeat = mayRepeat ?? ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(method)
        let request = try head(method, target, headers, body.count, through: proxy, keeps: mayRepeat) + body
        let origin = KeptConnections.Origin(
            host: host, port: port, trust: trust.map(ObjectIdentifier.init), proxy: proxy)
        if mayRepeat, let kept = await KeptConnections.shared.take(origin) {
            do {
                return try await ask(kept, request, origin, until: end)
            } catch ClientError.lost {
                // The server had closed it: once more, on a new one.
            }
        }
        return try await ask(connect(through: proxy), request, origin, until: end)
    }

    private func ask(
        _ connection: ClientConnection, _ request: [UInt8], _ origin: KeptConnections.Origin,
        until end: ContinuousClock.Instant
    ) async throws -> ClientResponse {
        do {
            return ClientResponse(try await connection.ask(request, limits, until: end), connection, origin)
        } catch {
            await connection.close()
            throw error
        }
    }

    private var bracketedHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }
    private var authority: String { "\(bracketedHost):\(port)" }

    private func head(
        _ method: String, _ target: String, _ headers: Headers, _ length: Int, through proxy: Proxy?, keeps: Bool
    ) throws -> [UInt8] {
        let isDefault = port == (trust == nil ? 80 : 443)
        let name = isDefault ? bracketedHost : authority
        let isForwarded = proxy != nil && trust == nil
        var text = "\(method) \(isForwarded ? "http://\(name)" : "")\(target) HTTP/1.1\r\nHost: \(name)\r\n"
        if isForwarded, let authorization = proxy?.authorization { text += "Proxy-Authorization: \(authorization)\r\n" }
        for field in headers.fields {
            try ResponseHead.check(field)
            text += "\(field.name): \(field.value)\r\n"
        }
        return Array((text + "Content-Length: \(length)\r\n\(keeps ? "" : "Connection: close\r\n")\r\n").utf8)
    }

    /// A connection to the first address of the host, or of the proxy, that takes one.
    private func connect(through proxy: Proxy?) async throws -> ClientConnection {
        let (name, port) = proxy.map { ($0.host, $0.port) } ?? (host, port)
        let lookup = await HostLookup.addresses(of: name, port: port, within: limits.connect)
        try Task.checkCancellation()
        let addresses = try lookup.get()
        var failure = ClientError.notConnected("host \(name) has no address")
        let tunnel =
            trust == nil
            ? nil
            : proxy.map { proxy in
                let fields = ["Host: \(authority)"] + (proxy.authorization.map { ["Proxy-Authorization: \($0)"] } ?? [])
                return Array("CONNECT \(authority) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n".utf8)
            }
        for address in addresses {
            try Task.checkCancellation()
            do {
                return try await ClientConnection.open(
                    address, host: host, trust: trust, through: tunnel, limits: limits)
            } catch let error as ClientError {
                failure = error
            }
        }
        throw failure
    }
}

/// The answer to a request, whose body is read piece by piece. Its connection is closed when nobody holds it any more, or
/// kept once the body is whole.
public final class ClientResponse: Sendable {
    public let status: Int
    public let headers: Headers
    private let origin: KeptConnections.Origin
    /// `nil` once the body is whole.
    private let connection: Mutex<ClientConnection?>

    init(_ head: ResponseParser.Head, _ connection: ClientConnection, _ origin: KeptConnections.Origin) {
        status = head.status
        headers = head.headers
        self.origin = origin
        self.connection = Mutex(connection)
    }

    deinit {
        guard let connection = connection.withLock({ $0 }) else { return }
        Task { await connection.close() }
    }

    /// Some of the body, or `nil` once it is whole. For one task at a time.
    ///
    /// - Throws: `ClientError`; `CancellationError`.
    public func next() async throws -> ArraySlice<UInt8>? {
        guard let connection = connection.withLock({ $0 }) else { return nil }
        if let piece = try await connection.nextPiece() { return piece }
        self.connection.withLock { $0 = nil }
        if await connection.canBeAskedAgain {
            await KeptConnections.shared.keep(connection, origin)
        } else {
            await connection.close()
        }
        return nil
    }
}
