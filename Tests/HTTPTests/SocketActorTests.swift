import Glibc
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1))) struct SocketActorTests {
    /// One end of a pair of sockets, and what its peer does.
    private actor Socket: SocketActor {
        private let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        nonisolated let descriptor: Int32
        private let peer: Int32

        let tls: TLSSession? = nil
        var deadline: ContinuousClock.Instant?
        var (isReadable, isWritable, isDead, hasTimedOut) = (true, true, false, false)
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?

        init(_ loop: EventLoop) throws {
            var ends: [Int32] = [0, 0]
            let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
            try #require(socketpair(AF_UNIX, Int32(kind), 0, &ends) == 0)
            (self.loop, descriptor, peer) = (loop, ends[0], ends[1])
        }

        func ready(_ events: ReadyEvents) {
            if events.contains(.read) { isReadable = true }
            wake()
        }

        /// Waits for what the peer writes, some rounds of the loop from now.
        ///
        /// - Parameter rounds: Rounds before the first attempt to read.
        /// - Returns: The number of bytes received.
        func read(after rounds: Int) async throws -> Int {
            let token = try #require(loop.add(descriptor, self, [.read, .write]))
            defer {
                loop.remove(descriptor, token)
                close(descriptor)
                close(peer)
            }
            Task(executorPreference: loop) { [peer] in Glibc.send(peer, "a", 1, Int32(MSG_NOSIGNAL)) }
            for _ in 0..<rounds { await Task.yield() }
            return try await retrying {
                withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { receive(into: $0) }
            }
        }
    }

    /// A task that does not prefer the loop enters the actor anew with each call of an async function, behind other jobs and
    /// events.
    @Test(arguments: [false, true]) func `an event between finding nothing and waiting is not missed`(
        _ prefersLoop: Bool
    ) async throws {
        let loop = try EventLoop.shared.get()
        for rounds in 0..<4 {
            let socket = try Socket(loop)
            let task = Task(executorPreference: prefersLoop ? loop : nil) { try await socket.read(after: rounds) }
            #expect(try await task.value == 1)
        }
    }
}
