import Glibc
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(2))) struct AdmissionTests {
    private func unfinished(_ count: Int, of length: Int) -> String {
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: count)
    }

    /// Clients that have sent a part of a request each, and send no more.
    private func hold(_ count: Int, _ server: Server) async throws -> [SocketClient] {
        let port = server.port
        let text = unfinished(99, of: 100)
        return try await onThread {
            try (0..<count).map { _ in
                let client = try SocketClient(port: port)
                try? client.send(text)
                return client
            }
        }
    }

    private let health = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    @Test(arguments: [0, 1, 8, 50, 200, 500, 1000, 1 << 20])
    func `connections are lowered to the files that may be opened`(files: Int) {
        var limits = Limits()
        let isLowered = limits.fit(openFiles: files)
        #expect(isLowered == (files < 704))
        #expect(limits.connections >= 1 && limits.reservedConnections >= 1)
        #expect(limits.connections + limits.reservedConnections <= max(2, files - files / 4))
        if !isLowered { #expect(limits.connections == 512 && limits.reservedConnections == 16) }
    }

    @Test func `a health check is answered whatever connections others hold`() async throws {
        let limits = Limits {
            ($0.connections, $0.reservedConnections, $0.reservedPaths) = (4, 2, ["/health"])
        }
        try await withServer(limits: limits, echo) { server async throws in
            let held = try await hold(9, server)
            for _ in 0..<3 { #expect(statuses(try await exchange(server, health)) == [200]) }
            #expect(statuses(try await exchange(server, getAndClose)) == [503])
            withExtendedLifetime(held) {}
        }
    }

    @Test func `540 bodies of one address that are never done leave the health check answered`() async throws {
        let limits = Limits { $0.reservedPaths = ["/health"] }
        try await withServer(limits: limits, echo) { server async throws in
            let held = try await hold(540, server)
            #expect(statuses(try await exchange(server, health)) == [200])
            withExtendedLifetime(held) {}
        }
    }

    @Test func `one network has a part of the connections at most`() async throws {
        try await withServer(limits: Limits { $0.connectionsOfNetwork = 3 }, echo) { server async throws in
            var held = try await hold(3, server)
            let port = server.port
            let refused = try await onThread {
                let client = try SocketClient(port: port)
                try? client.send(getAndClose)
                return (try? client.receiveAll()) ?? ""
            }
            #expect(refused.isEmpty)
            held.removeAll()
            // Until the server has seen that they left.
            var answer = ""
            while answer.isEmpty { answer = (try? await exchange(server, getAndClose)) ?? "" }
            #expect(statuses(answer) == [200])
        }
    }

    @Test func `connections of a trusted proxy are not counted, bytes are its client's`() async throws {
        var configuration = Server.Configuration(host: "127.0.0.1", port: 0)
        (configuration.limits.connectionsOfNetwork, configuration.limits.bodyBytesOfNetwork) = (1, 1000)
        let isRange = configuration.proxies.insert("127.0.0.0/8")
        #expect(isRange)
        let server = try await Server.start(configuration) {
            .text("from \(try await $0.collected(upTo: .max).network) ")
        }
        let held = try await hold(3, server)
        func send(_ bytes: Int, for client: String) async throws -> String {
            try await exchange(
                server,
                "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: 9.9.9.9, \(client)\r\n"
                    + "Content-Length: \(bytes)\r\n\r\n" + String(repeating: "x", count: bytes))
        }
        #expect(try await send(900, for: "10.1.2.3").hasSuffix("from 10.1.2.3 "))
        #expect(try await send(900, for: "10.1.2.3:999, 127.0.0.2").hasSuffix("from 10.1.2.3 "))
        #expect(try await send(900, for: "[2001:db8::1]").hasSuffix("from 20:1:d:b8:0:0:0:0 "))
        #expect(statuses(try await send(1001, for: "10.1.2.3")) == [429])
        withExtendedLifetime(held) {}
        await server.stop(within: .zero)
    }

    @Test func `what a stranger says of its address is not believed`() throws {
        let headers: Headers = ["X-Forwarded-For": "10.1.2.3"]
        var proxies = TrustedProxies()
        #expect(proxies.network(of: "1.2.3.4:5", headers) == "1.2.3.4")
        let isRange = proxies.insert("1.2.0.0/16")
        #expect(isRange)
        #expect(proxies.network(of: "1.2.3.4:5", headers) == "10.1.2.3")
        #expect(proxies.network(of: "1.3.3.4:5", headers) == "1.3.3.4")
        #expect(proxies.network(of: "1.2.3.4:5", ["X-Forwarded-For": "10.1.2.3, nonsense"]) == "1.2.3.4")
        for wrong in ["", "x", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/8/8", "::/129", "example.org"] {
            let isRange = proxies.insert(wrong)
            #expect(!isRange, "\(wrong)")
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
                    // The first is counted before the others come, or it would be the one that is refused.
                    usleep(500_000)
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
                // Connections that have just ended may count for a moment.
                var whole = [status]
                while whole == [status] {
                    whole = statuses(
                        try await exchange(
                            server,
                            "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 900\r\n\r\n"
                                + String(repeating: "x", count: 900)))
                }
                #expect(whole == [200])
            }
        }
    }

    @Test func `who may not use the server is told so before a body is read`() async throws {
        let configuration = Server.Configuration(host: "127.0.0.1", port: 0)
        let server = try await Server.start(configuration) { request in
            guard request.headers["Authorization"] != nil else { return .text("who are you?\n", status: 401) }
            return try await echo(request)
        }
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
