import Foundation
import HTTP

/// Where a call goes: a server, and the path as it is signed and sent.
struct Endpoint: Sendable {
    let server: HTTPClient
    /// Percent-encoded.
    let path: String

    /// Reading the system's certificates takes a while.
    private static let trust = Result { () throws(ServerError) in try TLSTrust() }

    /// - Parameters:
    ///   - path: Not percent-encoded. Whatever is signed has to be what is sent, so dots, which servers resolve, may not be
    ///     segments.
    ///   - silence: How long the server may be silent.
    /// - Throws: `APIClientError.invalidURL`; `ServerError` if the system's certificates cannot be read.
    init(_ path: String, of baseURL: URL, silence: Duration) throws {
        guard var components = URLComponents(url: baseURL, resolvingAgainstBaseURL: true),
            let scheme = components.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = components.encodedHost, !host.isEmpty,
            let port = UInt16(exactly: components.port ?? (scheme == "https" ? 443 : 80)),
            path.utf8.first == UInt8(ascii: "/"),
            !path.split(separator: "/").contains(where: { [".", ".."].contains($0) })
        else { throw APIClientError.invalidURL }
        if components.path.utf8.last == UInt8(ascii: "/") { components.path.removeLast() }
        components.path += path
        self.path = components.percentEncodedPath
        let isBracketed = host.utf8.first == UInt8(ascii: "[")
        var limits = HTTPClient.Limits()
        limits.silence = silence
        server = HTTPClient(
            host: isBracketed ? String(host.dropFirst().dropLast()) : host, port: port,
            trust: scheme == "https" ? try Self.trust.get() : nil, limits: limits)
    }
}
