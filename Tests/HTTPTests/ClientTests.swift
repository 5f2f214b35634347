@testable import HTTP
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct ClientTests {
    private func text(_ response: ClientResponse) async throws -> String {
        var bytes: [UInt8] = []
        while let piece = try await response.next() { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `asks and reads, whole and in pieces`() async throws {
        let large = String(repeating: "x", count: 5 << 20)
        let handler: Server.Handler = { request in
            guard request.path == "/stream" else {
                return Response(
                    status: 201, headers: ["X-Host": request.headers["Host"] ?? "", "X-A": request.headers["A"] ?? ""],
                    body: .bytes(try await request.body.collect(upTo: .max)))
            }
            return Response(status: 200, body: .stream { for _ in 0..<3 { try await $0.write("abc".utf8) } })
        }
        try await withServer(handler) { server in
            let client = HTTPClient(host: "127.0.0.1", port: server.port)
            let whole = try await client.send("POST", "/a?b=c", headers: ["A": "é"], body: Array(large.utf8))
            #expect(whole.status == 201)
            #expect(whole.headers["x-host"] == "127.0.0.1:\(server.port)" && whole.headers["x-a"] == "é")
            #expect(try await text(whole) == large)
            #expect(try await text(client.send("GET", "/stream", headers: [:])) == "abcabcabc")
        }
    }

    @Test func `a header cannot become two`() async throws {
        try await withServer(echo) { server in
            _ = await #expect(throws: InvalidResponse.self) {
                try await HTTPClient(host: "127.0.0.1", port: server.port).send("GET", "/", headers: ["A": "b\r\nC: d"])
            }
        }
    }

    private func get(_ host: String, _ port: UInt16) async throws -> ClientResponse {
        try await HTTPClient(host: host, port: port).send("GET", "/", headers: [:])
    }

    @Test func `says how it failed`() async throws {
        let port = try await withServer(echo, { $0.port })
        for host in ["127.0.0.1", "no.invalid"] {
            await #expect {
                _ = try await get(host, port)
            } throws: {
                if case ClientError.notConnected = $0 { true } else { false }
            }
        }
        let slow: Server.Handler = { _ in
            try await Task.sleep(for: .seconds(60))
            return .text("late")
        }
        try await withServer(slow) { server in
            var client = HTTPClient(host: "127.0.0.1", port: server.port)
            client.limits.silence = .milliseconds(100)
            _ = await #expect(throws: ClientError.timedOut) { try await client.send("GET", "/", headers: [:]) }
        }
        let broken: Server.Handler = { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    try await writer.write("a".utf8)
                    throw ConnectionError.closed
                })
        }
        try await withServer(broken) { server in
            let response = try await get("127.0.0.1", server.port)
            _ = await #expect(throws: ClientError.lost) { try await text(response) }
        }
    }

    @Test func `cancelling ends it at once, and closes the connection`() async throws {
        let (began, cancelled) = (Signal(), Signal())
        let handler: Server.Handler = { _ in
            began.fire()
            do { try await Task.sleep(for: .seconds(60)) } catch { cancelled.fire() }
            return .text("late")
        }
        try await withServer(handler) { server in
            let client = HTTPClient(host: "127.0.0.1", port: server.port)
            let task = Task { try await client.send("GET", "/", headers: [:]).status }
            #expect(await began.wait())
            task.cancel()
            _ = await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await cancelled.wait())
        }
    }

    @Test func `the time for the whole answer includes redirects`() async throws {
        let handler: Server.Handler = { request in
            try await Task.sleep(for: .milliseconds(100))
            return Response(status: 302, headers: ["Location": "/"])
        }
        try await withServer(handler) { server in
            var limits = HTTPClient.Limits()
            limits.whole = .milliseconds(300)
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
            let error = await #expect(throws: ClientError.self) {
                try await HTTPClient.get(url, limits: limits, headers: { _ in [:] }, redirect: { _, _, _ in })
            }
            // It may run out between two requests.
            #expect(error == .timedOut || "\(String(describing: error))".contains("timed out"))
        }
    }

    @Test func `an answer that nobody reads any more is given up`() async throws {
        let ended = Signal()
        let handler: Server.Handler = { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    defer { ended.fire() }
                    while true { try await writer.write([UInt8](repeating: 0, count: 1 << 16)) }
                })
        }
        try await withServer(handler) { server in
            var response: ClientResponse? = try await get("127.0.0.1", server.port)
            let first = try await response?.next()
            #expect(first?.isEmpty == false)
            #expect(!ended.hasFired)
            response = nil
            #expect(await ended.wait())
        }
    }
}
