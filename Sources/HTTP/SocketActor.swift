import CLinux
import Platform

/// An actor on the event loop that owns a connected socket. Edge-triggered events wake its one reader and its one writer.
protocol SocketActor: EventSource {
    nonisolated var descriptor: Int32 { get }
    var tls: TLSSession? { get }
    /// Deadline for both reader and writer.
    var deadline: ContinuousClock.Instant? { get set }
    var isReadable: Bool { get set }
    var isWritable: Bool { get set }
    var isDead: Bool { get set }
    var hasTimedOut: Bool { get set }
    var reader: CheckedContinuation<Void, Never>? { get set }
    var writer: CheckedContinuation<Void, Never>? { get set }
}

extension SocketActor {
    func tick(_ now: ContinuousClock.Instant) {
        guard let deadline, now >= deadline else { return }
        self.deadline = nil
        hasTimedOut = true
        wake()
    }

    /// Resumes the reader or writer that can proceed or has to throw.
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

    func check() throws(ConnectionError) {
        if isDead { throw .closed }
        if hasTimedOut { throw .timedOut }
    }

    // A task that does not prefer the loop enters the actor anew in `withCheckedContinuation`, behind other jobs and events of the
    // loop. So the closure looks whether an event has come, by `wake`: a look before it can miss one, and epoll reports each
    // event once (edge triggered).

    private func waitUntilReadable() async throws(ConnectionError) {
        await withCheckedContinuation {
            reader = $0
            wake()
        }
        try check()
    }

    func waitUntilWritable() async throws(ConnectionError) {
        await withCheckedContinuation {
            writer = $0
            wake()
        }
        try check()
    }

    /// Repeats a call until it transfers bytes; 0 at the end of input.
    ///
    /// - Parameter loop: Each call waits for a turn on this loop; `nil`: calls take little time.
    func retrying(
        takingTurnsOn loop: EventLoop? = nil, _ call: () -> IOResult
    ) async throws(ConnectionError) -> Int {
        while true {
            if let loop {
                await withCheckedContinuation { loop.takeTurn($0) }
                try check()
            }
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

    /// Receives at least one byte; `false` at the end of input.
    func receive(_ take: (Slice<UnsafeMutableRawBufferPointer>) -> Void) async throws(ConnectionError) -> Bool {
        try check()
        return try await retrying {
            withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 1) { buffer in
                let result = if let tls { tls.read(into: buffer) } else { receive(into: buffer) }
                if case .bytes(let count) = result { take(buffer[..<count]) }
                return result
            }
        } > 0
    }

    /// Sends all bytes; throws if the peer accepts none for `stall`.
    ///
    /// - Parameter count: Called with the number of bytes of each write.
    func send(_ bytes: [UInt8], stall: Duration, _ count: (Int) -> Void) async throws(ConnectionError) {
        defer { deadline = nil }
        var sent = 0
        while sent < bytes.count {
            deadline = .now + stall
            try check()
            let written = try await retrying { bytes.withUnsafeBytes { write(.init(rebasing: $0[sent...])) } }
            count(written)
            sent += written
        }
    }

    /// Receives raw bytes from the socket, without TLS.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
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
