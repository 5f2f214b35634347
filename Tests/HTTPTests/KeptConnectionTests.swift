import Synchronization
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(2))) struct KeptConnectionTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func ask(_ port: UInt16, _ method: String, mayRepeat: Bool? = nil) async throws -> String {
        let client = HTTPClient(host: "127.0.0.1", port: port)
        return try await text(client.send(method, "/", headers: [:], mayRepeat: mayRepeat))
    }

    private func text(_ response: ClientResponse) async throws -> String {
        var bytes: [UInt8] = []
        while let piece = try await response.next() { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `requests that may be repeated share a connection, others have one each`() async throws {
        let seen = Mutex<[String]>([])
        let log: @Sendable (RequestRecord) -> Void = { record in seen.withLock { $0.append(record.peer) } }
        try await withServer(log: log, echo) { server in
            for method in ["GET", "PUT", "DELETE", "POST", "POST"] { _ = try await ask(server.port, method) }
            _ = try await ask(server.port, "POST", mayRepeat: true)
            _ = try await ask(server.port, "GET", mayRepeat: false)
            while seen.withLock({ $0.count }) < 7 { await Task.yield() }
        }
        let clients = seen.withLock { $0 }
        #expect(Set(clients[0...2]).count == 1)
        #expect(Set(clients[2...4]).count == 3)
        #expect(clients[5] == clients[0])
        #expect(clients[6] != clients[5])
    }

    @Test func `an answer whose end is the connection's, or after which the server closes, leaves none`() async throws {
        for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"] {
            let listener = try SocketListener()
            async let served: Void = onThread {
                for _ in 0..<2 {
                    let connection = try listener.accept()
                    _ = try connection.receive(until: "\r\n\r\n")
                    try connection.send(head + "ok")
                    connection.finishSending()
                }
            }
            for _ in 0..<2 { #expect(try await ask(listener.port, "GET") == "ok") }
            try await served
        }
    }

    @Test func `what is lost on a kept connection is asked once more, and bytes nobody asked for are no answer`()
        async throws
    {
        let listener = try SocketListener()
        async let served: [Int] = onThread {
            var counts = [0, 0]
            let first = try listener.accept()
            _ = try first.receive(until: "\r\n\r\n")
            try first.send(Self.answer)
            // The second request comes here, and is lost.
            if try first.receive(until: "\r\n\r\n").contains("GET / ") { counts[0] += 1 }
            first.finishSending()
            let second = try listener.accept()
            if try second.receive(until: "\r\n\r\n").contains("GET / ") { counts[1] += 1 }
            // More than was asked for: the third request must not take it for its answer.
            try second.send(Self.answer + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            let third = try listener.accept()
            _ = try third.receive(until: "\r\n\r\n")
            try third.send(Self.answer)
            return counts
        }
        for _ in 0..<3 { #expect(try await ask(listener.port, "GET") == "ok") }
        #expect(try await served == [1, 1])
    }
}
