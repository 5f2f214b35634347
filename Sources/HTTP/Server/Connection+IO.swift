// Input and output of a connection.
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
        _ = try await retrying(takingTurnsOn: loop) { tls.handshake() }
    }

    /// Reads at least one byte into the parser; `false` at the end of input.
    func fill() async throws(ConnectionError) -> Bool {
        try await receive { parser.append($0) }
    }

    /// Discards input until the peer closes, the deadline passes or `limit` bytes were read.
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

    /// Sends all bytes. Fails if the client accepts none for `Limits.writeStall`.
    func send(_ bytes: [UInt8]) async throws(ConnectionError) {
        guard !isWriting else { throw .overlappingUse }
        isWriting = true
        defer { isWriting = false }
        try await send(bytes, stall: configuration.limits.writeStall) { record?.count($0) }
    }
}
