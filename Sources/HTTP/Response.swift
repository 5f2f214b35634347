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
    private let send: @Sendable ([UInt8]) async throws -> Void

    /// - Parameter send: Sends bytes, never none, and returns when the system has accepted them.
    package init(_ send: @escaping @Sendable ([UInt8]) async throws -> Void) { self.send = send }

    /// Sends bytes. Returns when the system has accepted them, so a slow client slows its handler down (backpressure).
    ///
    /// - Throws: `ConnectionError` if the client disconnected or read nothing for `Limits.writeStall`.
    package func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        let bytes = Array(bytes)
        guard !bytes.isEmpty else { return }  // an empty chunk would end the body
        try await send(bytes)
    }
}
