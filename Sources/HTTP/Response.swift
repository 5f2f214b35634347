/// What a handler answers.
///
/// The server adds `Date`, `X-Request-Id`, `Content-Length`, `Transfer-Encoding` and `Connection`; a response that sets
/// one of them itself, or that has a header which is not one line of text, is answered as 500 instead of being sent.
public struct Response: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// Called once the head is on its way; what it writes leaves at once. Throwing cuts the connection, so the
        /// client can tell a broken answer from a finished one.
        case stream(@Sendable (ResponseWriter) async throws -> Void)
    }

    public var status: Int
    public var headers: Headers
    public var body: Body

    public init(status: Int, headers: Headers = [:], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A short message as plain text.
    public static func text(_ text: String, status: Int = 200) -> Self {
        .init(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }
}

/// Writes a streamed body. For one task at a time.
public struct ResponseWriter: Sendable {
    let connection: Connection
    let exchange: Int
    let isChunked: Bool

    /// Sends bytes; returns when they have left this process, so a slow client slows its handler down.
    ///
    /// - Throws: `ConnectionError` once the client is gone, or has read nothing for `Limits.writeStall`.
    public func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        var payload = Array(bytes)
        guard !payload.isEmpty else { return }  // an empty chunk would end the body
        if isChunked {
            payload = Array("\(String(payload.count, radix: 16))\r\n".utf8) + payload + Array("\r\n".utf8)
        }
        try await connection.write(payload, exchange: exchange)
    }
}
