import Foundation
import HTTP

/// The target of a request: a server, and the path as signed and sent.
struct Endpoint: Sendable {
    let server: HTTPClient
    /// Percent-encoded.
    let path: String

    /// - Parameters:
    ///   - path: Path, not percent-encoded. May not have the segments `.` and `..`: servers resolve them, so the signed
    ///     path would differ.
    ///   - silence: Maximum silence of the server.
    /// - Throws: `APIClientError.invalidURL`; `NetworkError` if the system's certificates cannot be read.
    init(_ path: String, of baseURL: URL, silence: Duration) throws {
        var limits = HTTPClient.Limits()
        limits.silence = silence
        guard var components = URLComponents(url: baseURL, resolvingAgainstBaseURL: true),
            let server = try HTTPClient(components, limits: limits),
            path.utf8.first == UInt8(ascii: "/"),
            !path.split(separator: "/").contains(where: { [".", ".."].contains($0) })
        else { throw APIClientError.invalidURL }
        if components.path.utf8.last == UInt8(ascii: "/") { components.path.removeLast() }
        components.path += path
        self.path = components.percentEncodedPath
        self.server = server
    }
}
