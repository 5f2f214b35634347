/// A handler's response.
///
/// The server adds `Date`, `X-Request-Id`, `Content-Length`, `Transfer-Encoding` and `Connection`; a response that sets
/// one of these, or that has an invalid header, is replaced by a 500.
package struct Response: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Called once the head is sent; writes are sent immediately. Throwing closes the connection, so the client can
        /// tell that the response is incomplete.
        case stream(@Sendable (ResponseWriter) async throws -> Void)
    }

    package var status: Int
    package var headers: Headers
    package var body: Body

    package init(status: Int, headers: Headers = [:], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A short message as plain text.
    package static func text(_ text: String, status: Int = 200) -> Self {
        .init(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }
}

/// Writes a streamed body. Must not be used by several tasks at once.
package struct ResponseWriter: Sendable {
    let connection: Connection
    let exchange: Int
    let isChunked: Bool

    /// Sends bytes. Returns when the system has accepted them, so a slow client slows its handler down (backpressure).
    ///
    /// - Throws: `ConnectionError` if the client disconnected or read nothing for `Limits.writeStall`.
    package func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        var payload = Array(bytes)
        guard !payload.isEmpty else { return }  // an empty chunk would end the body
        if isChunked {
            payload = Array("\(String(payload.count, radix: 16))\r\n".utf8) + payload + Array("\r\n".utf8)
        }
        try await connection.write(payload, exchange: exchange)
    }
}
