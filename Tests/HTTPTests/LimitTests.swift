import Glibc
@testable import HTTP
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct LimitTests {
    /// Sends pieces with pauses; what came back before the server closed.
    private func drip(_ server: Server, _ pieces: [String], pause: UInt32) async throws -> String {
        let port = server.port
        return try await onThread {
            let client = try SocketClient(port: port)
            for piece in pieces {
                guard (try? client.send(piece)) != nil else { break }
                usleep(pause)
            }
            return try client.receiveAll()
        }
    }

    @Test func `a head that drips in gets 408 when its time is up, whatever its pace`() async throws {
        try await withServer(limits: Limits { $0.head = .milliseconds(300) }, echo) { server async throws in
            let begin = ContinuousClock.now
            let text = try await drip(server, get.dropLast().map(String.init), pause: 20_000)
            #expect(statuses(text) == [408])
            #expect(.now - begin < .seconds(20))
        }
    }

    @Test func `a body slower than the rate gets 408, a faster one is read to its end`() async throws {
        let limits = Limits { ($0.bodyGrace, $0.bodyRate) = (.seconds(2), 1000) }
        try await withServer(limits: limits, echo) { server async throws in
            func send(_ pieces: Int, of size: Int, pause: UInt32) async throws -> String {
                let head = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(pieces * size)\r\n\r\n"
                let piece = String(repeating: "x", count: size)
                return try await drip(server, [head] + Array(repeating: piece, count: pieces), pause: pause)
            }
            #expect(statuses(try await send(40, of: 1, pause: 100_000)) == [408])
            #expect(statuses(try await send(10, of: 1000, pause: 300_000)) == [200])  // takes longer than the grace
        }
    }

    @Test func `an idle connection is closed without a word, before a request and after one`() async throws {
        try await withServer(limits: Limits { $0.idle = .seconds(2) }, echo) { server async throws in
            #expect(try await drip(server, [], pause: 0).isEmpty)
            #expect(statuses(try await drip(server, [get], pause: 0)) == [200])
        }
    }

    @Test func `a client that leaves in the middle of a request is no error`() async throws {
        try await withServer(echo) { server async throws in
            let port = server.port
            for text in ["GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"] {
                let answer = try await onThread {
                    let client = try SocketClient(port: port)
                    try client.send(text)
                    client.finishSending()
                    return try client.receiveAll()
                }
                #expect(answer.isEmpty)
            }
            #expect(statuses(try await exchange(server, getAndClose)) == [200])
        }
    }

    @Test func `a client beyond the cap waits until there is room`() async throws {
        let (first, release, second) = (Signal(), Signal(), Signal())
        try await withServer(
            limits: Limits { $0.connections = 1 },
            { request in
                if request.path == "/first" {
                    first.fire()
                    _ = await release.wait()
                } else {
                    second.fire()
                }
                return .text("ok")
            }
        ) { server async throws in
            async let one = exchange(server, "GET /first HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(await first.wait())
            async let two = exchange(server, getAndClose)
            #expect(await !second.wait(.milliseconds(300)))
            release.fire()
            #expect(statuses(try await one) == [200])
            #expect(statuses(try await two) == [200])
        }
    }

    @Test func `at the cap the connection idle longest makes room`() async throws {
        try await withServer(limits: Limits { $0.connections = 2 }, echo) { server async throws in
            let port = server.port
            let idle = try await onThread { try [SocketClient(port: port), SocketClient(port: port)] }
            let begin = ContinuousClock.now
            #expect(statuses(try await exchange(server, getAndClose)) == [200])
            #expect(.now - begin < .seconds(20))
            _ = idle
        }
    }

    // Older versions of swift-testing run no test in a process of its own.
    #if compiler(>=6.2)
        /// In a process of its own, since the limit on descriptors is a process's.
        @Test func `running out of descriptors is survived`() async {
            await #expect(processExitsWith: .success) {
                try await withServer(echo) { server async throws in
                    let port = server.port
                    let statusesSeen = try await onThread {
                        let first = try SocketClient(port: port)
                        try first.send(get)
                        let before = try first.receive(until: "GET / ")

                        // Every descriptor but the client's own is taken, so that the server has none for its end.
                        var limit = rlimit(rlim_cur: 128, rlim_max: 128)
                        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                        var filling: [Int32] = []
                        while case let descriptor = dup(0), descriptor >= 0 { filling.append(descriptor) }
                        close(filling.removeLast())
                        let second = try SocketClient(port: port)
                        try second.send(getAndClose)
                        usleep(300_000)

                        // The server goes on serving what it has, and takes the second once there is room.
                        try first.send(get)
                        let during = try first.receive(until: "GET / ")
                        close(filling.removeLast())
                        return try [before, during, second.receiveAll()].map(statuses)
                    }
                    guard statusesSeen == [[200], [200], [200]] else { exit(1) }
                }
                exit(0)
            }
        }
    #endif
}
