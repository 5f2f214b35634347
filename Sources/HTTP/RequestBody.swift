/// The body of a request: in memory, or read as it arrives.
///
/// It is read once, by one task at a time, before the handler returns. If a part is left unread then, the connection closes
/// after the response.
package struct RequestBody: Sendable {
    /// Returns the next part, not empty, or `nil` at the end.
    ///
    /// Throws a `RequestError` if the body has more than `limit` bytes in all, is invalid or too slow, and a `ConnectionError`
    /// if the client has left.
    package typealias Read = @Sendable (_ limit: Int) async throws -> [UInt8]?

    /// The whole body without chunk framing, if it is in memory.
    package let bytes: [UInt8]?
    /// Its size, if the client announced it.
    package let length: Int?
    private let read: Read

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        length = bytes.count
        read = { _ in nil }
    }

    package init(length: Int?, read: @escaping Read) {
        bytes = nil
        self.length = length
        self.read = read
    }

    /// The parts as they arrive.
    ///
    /// - Parameter limit: Maximum bytes in all. A body that is announced to be larger is refused before a byte is read.
    package func parts(upTo limit: Int) -> Parts { Parts(body: self, limit: limit, rest: bytes) }

    /// The whole body.
    ///
    /// - Parameter limit: As in `parts`.
    package func collect(upTo limit: Int) async throws -> [UInt8] {
        var parts = parts(upTo: limit)
        guard var whole = try await parts.next() else { return [] }
        while let part = try await parts.next() { whole += part }
        return whole
    }

    package struct Parts: AsyncSequence, AsyncIteratorProtocol {
        fileprivate let body: RequestBody
        fileprivate let limit: Int
        /// What has not been passed on of a body in memory.
        fileprivate var rest: [UInt8]?

        package func makeAsyncIterator() -> Self { self }

        package mutating func next() async throws -> [UInt8]? {
            if let length = body.length, length > limit { throw RequestError.bodyTooLarge(limit) }
            guard body.bytes != nil else { return try await body.read(limit) }
            defer { rest = nil }
            return rest.flatMap { $0.isEmpty ? nil : $0 }
        }
    }
}
