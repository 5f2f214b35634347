package import FoundationEssentials
import Platform
import Synchronization

/// Why a request failed.
package enum ClientError: Error, Equatable, Sendable {
    /// No connection was established, so nothing was sent. Has the reason.
    case notConnected(String)
    /// The server's certificate was not accepted. Has the reason.
    case untrusted(String)
    /// The connection ended before the response did.
    case lost
    /// `Limits.silence` or `Limits.whole` was exceeded.
    case timedOut
    /// The response is not valid HTTP/1.1 or HTTP/1.0. Has the reason.
    case malformed(String)
}

extension ClientError {
    /// Makes attempts until one has a connection: nothing was sent before, so nothing can happen twice.
    ///
    /// - Parameters:
    ///   - pauses: One for each further attempt.
    ///   - pause: Waits; gets the reason of the failure.
    package static func retryingConnection<Answer>(
        after pauses: [Duration], _ attempt: () async throws -> Answer,
        pause: (Duration, _ reason: String) async throws -> Void
    ) async throws -> Answer {
        for duration in pauses {
            do {
                return try await attempt()
            } catch ClientError.notConnected(let reason) {
                try await pause(duration, reason)
            }
        }
        return try await attempt()
    }
}

extension ClientError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notConnected(let reason): reason
        case .untrusted(let reason): "the server's certificate is not trusted: \(reason)"
        case .lost: "the connection closed before the answer was complete"
        case .timedOut: "timeout: the server was silent, or the answer took too long"
        case .malformed(let reason): "the answer is not HTTP/1.1: \(reason)"
        }
    }
}

/// An HTTP/1.1 client (RFC 9112) of one server, with or without TLS.
///
/// A response's body is read only on demand, so a slow reader slows the server down (backpressure). Connections are
/// kept alive, but reused only for requests that may be repeated: if a kept connection closes while a request is sent,
/// it is unknown whether the server processed it. Redirects are followed only by `get`. Proxies are taken from the
/// environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
package struct HTTPClient: Sendable {
    /// Timeouts of one request.
    package struct Limits: Sendable {
        /// For the address lookup, and for a connection to each address, TLS included.
        package var connect: Duration = .seconds(5)
        /// Until the first byte, and between any two bytes.
        package var silence: Duration = .seconds(120)
        /// For the whole response, including the time its reader takes.
        package var whole: Duration = .seconds(3600)

        package init() {}
    }

    /// Host name, or an address without brackets.
    package var host: String
    package var port: UInt16
    /// Accepted certificates; `nil`: no TLS.
    package var trust: TLSTrust?
    package var limits: Limits
    package var reach = ClientReach.everywhere
    /// Reads an environment variable; tests replace it.
    var environment: @Sendable (String) -> String? = { getenv($0).map { String(cString: $0) } }

    package init(host: String, port: UInt16, trust: TLSTrust? = nil, limits: Limits = .init()) {
        self.host = host
        self.port = port
        self.trust = trust
        self.limits = limits
    }

    /// - Parameter url: An `http` or `https` URL; its host and port are used. The result is `nil` for other schemes.
    /// - Throws: `NetworkError` if the system's certificates cannot be read.
    package init?(_ url: URLComponents, limits: Limits = .init()) throws(NetworkError) {
        guard let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let (host, port) = url.hostAndPort
        else { return nil }
        self.init(host: host, port: port, trust: scheme == "https" ? try TLSTrust.system.get() : nil, limits: limits)
    }

    /// Sends a request and waits for the head of the response.
    ///
    /// - Parameters:
    ///   - target: Percent-encoded path and query.
    ///   - headers: Headers except `Host`, `Content-Length`, `Connection` and `Proxy-Authorization`, which the client
    ///     sets.
    ///   - mayRepeat: Whether the request may be sent a second time if a kept connection breaks; by default only for
    ///     idempotent methods (RFC 9110, section 9.2.2).
    /// - Throws: `ClientError`; `CancellationError`.
    package func send(
        _ method: String, _ target: String, headers: Headers, body: [UInt8] = [], mayRepeat: Bool? = nil
    ) async throws -> ClientResponse {
        let end = ContinuousClock.now + limits.whole
        let proxy = reach == .everywhere ? try Proxy(to: host, usesTLS: trust != nil, environment) : nil
        let mayRepeat = mayRepeat ?? ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(method)
        let request = try head(method, target, headers, body.count, through: proxy, keeps: mayRepeat) + body
        let origin = KeptConnections.Origin(
            host: host, port: port, trust: trust.map(ObjectIdentifier.init), proxy: proxy, reach: reach)
        if mayRepeat, let kept = await KeptConnections.shared.take(origin) {
            do {
                return try await ask(kept, request, origin, until: end)
            } catch ClientError.lost {
                // The server had closed it: retry on a new connection.
            }
        }
        return try await ask(connect(through: proxy, until: end), request, origin, until: end)
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

    /// Connects to the first address of the host or proxy that accepts.
    private func connect(
        through proxy: Proxy?, until end: ContinuousClock.Instant
    ) async throws -> ClientConnection {
        var limits = limits
        limits.connect = min(limits.connect, max(.zero, ContinuousClock.now.duration(to: end)))
        let (name, port) = proxy.map { ($0.host, $0.port) } ?? (host, port)
        let lookup = await HostLookup.addresses(of: name, port: port, within: limits.connect)
        try Task.checkCancellation()
        let found = try lookup.get()
        let addresses = reach == .everywhere ? found : found.filter(\.isPublic)
        guard found.isEmpty || !addresses.isEmpty else {
            throw ClientError.notConnected("host \(name) has no address on the public internet")
        }
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
            // A name may stand for hundreds of addresses.
            guard ContinuousClock.now < end else { throw ClientError.timedOut }
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

/// A response whose body is read in pieces. The connection is kept alive once the body is complete; releasing the
/// response earlier closes it.
package final class ClientResponse: Sendable {
    package let status: Int
    package let headers: Headers
    private let origin: KeptConnections.Origin
    /// `nil` once the body is complete.
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

    /// The next piece of the body; `nil` at its end. Must not be called concurrently.
    ///
    /// - Throws: `ClientError`; `CancellationError`.
    package func next() async throws -> ArraySlice<UInt8>? {
        guard let connection = connection.withLock({ $0 }) else { return nil }
        if let piece = try await connection.nextBytes() { return piece }
        self.connection.withLock { $0 = nil }
        if await connection.canBeAskedAgain {
            await KeptConnections.shared.keep(connection, origin)
        } else {
            await connection.close()
        }
        return nil
    }
}
