import Glibc
@testable import HTTP
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct ServerTests {
    @Test func `a response has a date, a length and the handler's headers`() async throws {
        let text = try await withServer({ request in
            Response(status: 201, headers: ["X-Peer": request.peer], body: .bytes(Array("hi".utf8)))
        }) { try await exchange($0, getAndClose) }
        #expect(text.hasPrefix("HTTP/1.1 201 Created\r\nDate: "))
        #expect(text.contains(" GMT\r\nX-Peer: 127.0.0.1:"))
        #expect(text.hasSuffix("Content-Length: 2\r\nConnection: close\r\n\r\nhi"))
    }

    @Test func `a connection is kept and takes one request after the other`() async throws {
        try await withServer(echo) { server async throws in
            let port = server.port
            let answers = try await onThread {
                let client = try SocketClient(port: port)
                return try (1...3).map { number in
                    try client.send("POST /\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n\(number)")
                    return body(try client.receive(until: "/\(number) \(number)"))
                }
            }
            #expect(answers == ["POST /1 1", "POST /2 2", "POST /3 3"])
        }
    }

    @Test func `pipelined requests are answered in order, though the first takes longest`() async throws {
        try await withServer({ request in
            if request.path == "/slow" { try await Task.sleep(for: .milliseconds(200)) }
            return .text(request.path)
        }) { server async throws in
            let requests = ["/slow", "/b", "/c"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined() + getAndClose
            let text = try await exchange(server, requests)
            let paths = text.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != "H" } }
            #expect(paths == ["/slow", "/b", "/c", "/"])
        }
    }

    @Test func `a handler that computes holds up nobody else`() async throws {
        let other = Signal()
        try await withServer({ request in
            if request.path == "/other" {
                other.fire()
                return .text("other")
            }
            for _ in 0..<3000 where !other.hasFired { usleep(10_000) }
            return .text("\(other.hasFired)")
        }) { server async throws in
            async let blocking = exchange(server, getAndClose)
            try await Task.sleep(for: .milliseconds(100))
            _ = try await exchange(server, "GET /other HTTP/1.0\r\n\r\n")
            #expect(body(try await blocking) == "true")
        }
    }

    @Test func `HTTP 1_0 closes unless asked not to`() async throws {
        try await withServer(echo) { server async throws in
            #expect(try await exchange(server, "GET / HTTP/1.0\r\n\r\n").contains("Connection: close\r\n"))
            let kept = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            let text = try await exchange(server, kept + "GET /b HTTP/1.0\r\n\r\n")
            #expect(text.contains("Connection: keep-alive\r\n\r\nGET /a "))
            #expect(body(text) == "GET /b ")
        }
    }

    @Test func `HEAD gets the head that GET would, and nothing after it`() async throws {
        try await withServer({ request in
            request.path == "/stream" ? Response(status: 200, body: .stream { try await $0.write([1]) }) : .text("four")
        }) { server async throws in
            let text = try await exchange(
                server,
                "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n" + getAndClose)
            let parts = text.split(separator: "\r\n\r\n")
            #expect(parts.count == 4)
            #expect(parts[0].contains("Content-Length: 4"))
            #expect(parts[1].contains("Transfer-Encoding: chunked"))
            #expect(parts[3] == "four")
        }
    }

    @Test func `a 204 has neither body nor length`() async throws {
        let text = try await withServer({ _ in Response(status: 204, body: .bytes([1, 2])) }) {
            try await exchange($0, getAndClose)
        }
        #expect(!text.contains("Content-Length"))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test func `OPTIONS reaches the handler, also for the whole server`() async throws {
        try await withServer(echo) { server async throws in
            let text = try await exchange(server, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(body(text) == "OPTIONS * ")
        }
    }

    @Test func `a client that expects 100 Continue gets it before it sends the body`() async throws {
        try await withServer(limits: Limits { $0.bodyBytes = 5 }, echo) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port)
                try client.send(
                    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
                )
                let interim = try client.receive(until: "\r\n\r\n")
                try client.send("hello")
                return interim + (try client.receiveAll())
            }
            #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"))
            #expect(body(text) == "POST / hello")
            let refused = try await exchange(
                server, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n")
            #expect(statuses(refused) == [413])
        }
    }

    @Test func `a chunked body arrives whole and without its framing`() async throws {
        try await withServer(echo) { server async throws in
            let text = try await exchange(
                server,
                "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\nfoo\r\n4;x=y\r\n bar\r\n0\r\nT: t\r\n\r\n")
            #expect(body(text) == "POST / foo bar")
        }
    }

    @Test func `bytes that are no request get a status, and the connection ends`() async throws {
        try await withServer(echo) { server async throws in
            #expect(statuses(try await exchange(server, get + "rubbish\r\n" + get)) == [200, 400])
            #expect(statuses(try await exchange(server, "GET / HTTP/1.1\r\n\r\n")) == [400])
        }
    }

    @Test(arguments: ["Content-Length: 12000000", "Transfer-Encoding: chunked"])
    func `a client that goes on sending a body that is too large can still read the 413`(_ framing: String) async throws
    {
        try await withServer(echo) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port)
                try client.send("POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
                let block = [UInt8](repeating: 0x61, count: 1_000_000)
                for _ in 0..<12 {
                    try client.send(framing.hasPrefix("T") ? Array("F4240\r\n".utf8) + block + [13, 10] : block)
                }
                return try client.receiveAll()
            }
            #expect(statuses(text) == [413])
        }
    }

    @Test func `an error that a handler throws is a 500 that says nothing of it`() async throws {
        struct Secret: Error { var password = "hunter2" }
        let text = try await withServer({ _ in throw Secret() }) { try await exchange($0, get + getAndClose) }
        #expect(statuses(text) == [500, 500])
        #expect(!text.contains("hunter2"))
    }

    @Test(arguments: [
        ("X", "a\r\nInjected: yes"), ("X", "a\nb"), ("X", "a\0"), ("X\r\nInjected", "a"), ("", "a"), ("X Y", "a"),
        ("Content-Length", "5"), ("transfer-encoding", "chunked"), ("Connection", "keep-alive"),
    ])
    func `a response header that could be taken for more is not sent`(_ name: String, _ value: String) async throws {
        let text = try await withServer({ _ in
            var headers = Headers()
            headers.append(name, value)
            return Response(status: 200, headers: headers, body: .bytes([0x61]))
        }) { try await exchange($0, getAndClose) }
        #expect(statuses(text) == [500])
        #expect(!text.contains("Injected"))
    }

    @Test func `the system chooses port 0, and another server cannot have it`() async throws {
        try await withServer(echo) { server async throws in
            #expect(server.port != 0)
            #expect(server.addresses == ["127.0.0.1:\(server.port)"])
            let error = await #expect(throws: NetworkError.self) {
                try await Server.start(.init(host: "127.0.0.1", port: server.port), handler: echo)
            }
            #expect(error?.reason == .addressInUse)
            #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
        }
    }

    @Test func `a host that is not this machine's is refused`() async {
        for host in ["192.0.2.1", "no host"] {
            let error = await #expect(throws: NetworkError.self) {
                try await Server.start(.init(host: host, port: 0), handler: echo)
            }
            #expect(error?.reason == .addressUnavailable)
            #expect(error?.message.contains(host) == true)
        }
    }

    static let hasIPv6 = (try? SocketClient(port: 9, ipv6: true)) != nil || errno == ECONNREFUSED

    @Test(.enabled(if: hasIPv6, "no IPv6 here")) func `IPv6`() async throws {
        try await withServer(host: "::1", { .text($0.peer) }) { server async throws in
            let port = server.port
            #expect(server.addresses == ["[::1]:\(port)"])
            let text = try await onThread {
                let client = try SocketClient(port: port, ipv6: true)
                try client.send(getAndClose)
                return try client.receiveAll()
            }
            #expect(body(text).hasPrefix("[::1]:"))
        }
    }

    @Test func `a client that has closed its sending half still gets what is answered`() async throws {
        try await withServer(echo) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port)
                try client.send("GET / HTTP/1.0\r\n\r\n")
                client.finishSending()
                return try client.receiveAll()
            }
            #expect(body(text) == "GET / ")
        }
    }
}
