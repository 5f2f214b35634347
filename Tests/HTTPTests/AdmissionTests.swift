import Glibc
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(2))) struct AdmissionTests {
    private func unfinished(_ count: Int, of length: Int) -> String {
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: count)
    }

    @Test func `a health check is answered whatever connections others hold`() async throws {
        let limits = Limits {
            ($0.connections, $0.reservedConnections, $0.reservedPaths) = (4, 2, ["/health"])
        }
        try await withServer(limits: limits, echo) { server async throws in
            let port = server.port
            let held = try await onThread {
                try (0..<4).map { _ in
                    let client = try SocketClient(port: port)
                    try client.send(unfinished(99, of: 100))
                    return client
                }
            }
            let health = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            for _ in 0..<3 { #expect(statuses(try await exchange(server, health)) == [200]) }
            #expect(statuses(try await exchange(server, getAndClose)) == [503])
            _ = held
        }
    }

    @Test func `one network has a part of the connections at most`() async throws {
        let limits = Limits { $0.connectionsOfNetwork = 3 }
        try await withServer(limits: limits, echo) { server async throws in
            let port = server.port
            let held = try await onThread {
                try (0..<3).map { _ in
                    let client = try SocketClient(port: port)
                    try client.send(unfinished(9, of: 10))
                    return client
                }
            }
            let refused = try await onThread {
                let client = try SocketClient(port: port)
                try? client.send(getAndClose)
                return (try? client.receiveAll()) ?? ""
            }
            #expect(refused.isEmpty)
            _ = held
        }
    }

    @Test func `bytes of bodies are bounded for a network and in all, and come free again`() async throws {
        for (ofNetwork, atOnce, status) in [(1000, 1 << 20, 429), (1 << 20, 1000, 503)] {
            let limits = Limits { ($0.bodyBytesOfNetwork, $0.bodyBytesAtOnce) = (ofNetwork, atOnce) }
            try await withServer(limits: limits, echo) { server async throws in
                let port = server.port
                let text = try await onThread {
                    let first = try SocketClient(port: port)
                    try first.send(unfinished(700, of: 800))
                    // Read by the server before the second's bytes.
                    let second = try SocketClient(port: port)
                    var answer = ""
                    while !answer.contains("\(status)") {
                        let client = try SocketClient(port: port)
                        try client.send(unfinished(700, of: 701))
                        try? client.send("x")
                        answer = try client.receive(until: "\r\n")
                    }
                    try first.send(String(repeating: "x", count: 100))
                    _ = try first.receive(until: "POST / ")
                    _ = second
                    return answer
                }
                #expect(statuses(text) == [status])
                #expect(
                    statuses(
                        try await exchange(
                            server, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 900\r\n\r\n"
                                + String(repeating: "x", count: 900))) == [200])
            }
        }
    }

    @Test func `who may not use the server is told so before a body is read`() async throws {
        var configuration = Server.Configuration(host: "127.0.0.1", port: 0)
        configuration.refuse = { $0.headers["Authorization"] == nil ? .text("who are you?\n", status: 401) : nil }
        let server = try await Server.start(configuration, handler: echo)
        let port = server.port
        let text = try await onThread {
            let client = try SocketClient(port: port)
            try client.send(unfinished(0, of: 8_000_000))
            return try client.receiveAll()
        }
        #expect(statuses(text) == [401])
        #expect(text.hasSuffix("who are you?\n"))
        let known = "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
        #expect(statuses(try await exchange(server, known)) == [200])
        await server.stop(within: .zero)
    }

    @Test func `bytes that trickle in do not prolong a body's time`() async throws {
        let limits = Limits { ($0.bodyGrace, $0.bodyRate) = (.milliseconds(300), 1000) }
        try await withServer(limits: limits, echo) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port)
                try client.send(unfinished(0, of: 100))
                for _ in 0..<99 {
                    guard (try? client.send("x")) != nil else { break }
                    usleep(20_000)
                }
                return try client.receiveAll()
            }
            #expect(statuses(text) == [408])
        }
    }

    @Test func `a network is an IPv4 address, or half of an IPv6 one`() {
        #expect(network(of: "127.0.0.1:80") == "127.0.0.1")
        #expect(network(of: "[2001:db8::1]:5") == network(of: "[2001:db8::ffff:2]:9"))
        #expect(network(of: "[2001:db8::1]:5") != network(of: "[2001:db8:0:1::1]:5"))
        #expect(network(of: "[::ffff:10.0.0.1]:5") == "10.0.0.1")
        #expect(network(of: "unknown") == "unknown")
    }
}
