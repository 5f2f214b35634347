import Glibc
@testable import HTTP
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct StopTests {
    @Test func `stop lets a running request end, refuses new connections and closes idle ones`() async throws {
        let started = Signal()
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { _ in
            started.fire()
            try await Task.sleep(for: .milliseconds(300))
            return .text("done")
        }
        let port = server.port
        let idle = try await onThread { try SocketClient(port: port) }
        async let running = exchange(server, get)
        #expect(await started.wait())
        await server.stop(within: .seconds(10))
        let text = try await running
        #expect(text.hasSuffix("Connection: close\r\n\r\ndone"))
        #expect(try await onThread { try idle.receiveAll() }.isEmpty)
        await #expect(throws: SocketClient.Failure.self) { try await onThread { _ = try SocketClient(port: port) } }
    }

    @Test func `a request that was on its way when the server stopped is still answered`() async throws {
        let limits = Limits { $0.lastRequest = .seconds(20) }
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0, limits: limits), handler: echo)
        let port = server.port
        let client = try await onThread {
            let client = try SocketClient(port: port)
            try client.send(get)
            _ = try client.receive(until: "GET / ")
            return client
        }
        async let stopped: Void = server.stop(within: .seconds(20))
        let text = try await onThread {
            while (try? SocketClient(port: port)) != nil { usleep(10_000) }
            try client.send(get)
            return try client.receiveAll()
        }
        #expect(text.hasSuffix("Connection: close\r\n\r\nGET / "))
        _ = client
        await stopped
    }

    @Test func `stop cancels what is still running when its time is up`() async throws {
        let (started, cancelled) = (Signal(), Signal())
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { _ in
            started.fire()
            do { try await Task.sleep(for: .seconds(60)) } catch {
                cancelled.fire()
                throw error
            }
            return .text("never")
        }
        async let running = exchange(server, get)
        #expect(await started.wait())
        let begin = ContinuousClock.now
        await server.stop(within: .milliseconds(100))
        #expect(.now - begin < .seconds(20))
        #expect(cancelled.hasFired)
        #expect(try await running.hasPrefix("HTTP/1.1 500 "), "what it still answers is sent")
    }
}
