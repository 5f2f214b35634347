import CLinux
import Glibc

// Bytes in and out of a connection: edge-triggered events wake the one reader and the one writer.
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

    func tick(_ now: ContinuousClock.Instant) {
        guard let deadline, now >= deadline else { return }
        self.deadline = nil
        hasTimedOut = true
        wake()
    }

    /// Resumes whoever has something to do or an error to throw.
    func wake() {
        let isOver = isDead || hasTimedOut
        if isReadable || isOver {
            reader?.resume()
            reader = nil
        }
        if isWritable || isOver {
            writer?.resume()
            writer = nil
        }
    }

    private func check() throws(ConnectionError) {
        if isDead { throw .closed }
        if hasTimedOut { throw .timedOut }
    }

    private func waitUntilReadable() async throws(ConnectionError) {
        try check()
        guard !isReadable else { return }
        await withCheckedContinuation { reader = $0 }
        try check()
    }

    private func waitUntilWritable() async throws(ConnectionError) {
        try check()
        guard !isWritable else { return }
        await withCheckedContinuation { writer = $0 }
        try check()
    }

    /// Repeats a call until it moves bytes; 0 means that the other end has sent its last.
    private func retrying(_ call: () -> IOResult) async throws(ConnectionError) -> Int {
        while true {
            switch call() {
            case .bytes(let count): return count
            case .ended: return 0
            case .failed:
                isDead = true
                throw .closed
            case .wantsRead:
                isReadable = false
                try await waitUntilReadable()
            case .wantsWrite:
                isWritable = false
                try await waitUntilWritable()
            }
        }
    }

    func handshake() async throws(ConnectionError) {
        guard let tls else { return }
        _ = try await retrying { tls.handshake() }
    }

    /// Gives the parser at least one byte more; false if no more will come.
    func fill() async throws(ConnectionError) -> Bool {
        try check()
        return try await retrying {
            withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 1) { buffer in
                let result = read(into: buffer)
                if case .bytes(let count) = result { parser.append(buffer[..<count]) }
                return result
            }
        } > 0
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
        defer { (isWriting, deadline) = (false, nil) }
        var sent = 0
        while sent < bytes.count {
            deadline = .now + configuration.limits.writeStall
            try check()
            let count = try await retrying { bytes.withUnsafeBytes { write(.init(rebasing: $0[sent...])) } }
            record?.count(count)
            sent += count
        }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        tls?.read(into: buffer) ?? receive(into: buffer)
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        result(.wantsRead) { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> IOResult {
        tls?.write(bytes)
            ?? result(.wantsWrite) { Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    private func result(_ wouldBlock: IOResult, _ call: () -> Int) -> IOResult {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            switch errno {
            case EAGAIN: return wouldBlock
            case EINTR: continue
            default: return .failed
            }
        }
    }
}
