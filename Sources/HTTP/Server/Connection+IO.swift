// Bytes in and out of a connection.
extension Connection {
    func ready(_ events: ReadyEvents) {
        if !events.isDisjoint(with: .dead) { return fail() }
        if events.contains(.peerClosed) {
            peerClosed = true
            exchange?.cancel()
        }
        if !events.isDisjoint(with: [.read, .peerClosed]) { isReadable = true }
        if events.contains(.write) { isWritable = true }
        wake()
    }

    func handshake() async throws(ConnectionError) {
        guard let tls else { return }
        _ = try await retrying { tls.handshake() }
    }

    /// Gives the parser at least one byte more; false if no more will come.
    func fill() async throws(ConnectionError) -> Bool {
        try await receive { parser.append($0) }
    }

    /// Reads and drops, until the other end closes, the deadline passes or the limit is reached.
    func discardInput(upTo limit: Int) async {
        var rest = limit
        while rest > 0 {
            let count = try? await retrying {
                withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 1) { receive(into: $0) }
            }
            guard let count, count > 0 else { return }
            rest -= count
        }
    }

    /// Sends every byte, however long the client takes, as long as it takes some.
    func send(_ bytes: [UInt8]) async throws(ConnectionError) {
        guard !isWriting else { throw .overlappingWrites }
        isWriting = true
        defer { isWriting = false }
        try await send(bytes, stall: configuration.limits.writeStall) { record?.count($0) }
    }
}
