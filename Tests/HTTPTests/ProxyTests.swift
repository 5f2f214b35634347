import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(2))) struct ProxyTests {
    private func proxy(_ host: String, tls: Bool = true, _ environment: [String: String]) throws -> String? {
        try Proxy(to: host, usesTLS: tls) { environment[$0] }.map { "\($0.host):\($0.port) \($0.authorization ?? "-")" }
    }

    @Test func `the environment names proxies, and whom to ask without`() throws {
        let all = [
            "http_proxy": "http://plain:3128", "HTTPS_PROXY": "user:p%40ss@[::1]:8080/",
            "no_proxy": "a.test, .b.test,c",
        ]
        #expect(try proxy("x.test", tls: false, all) == "plain:3128 -")
        #expect(try proxy("x.test", all) == "::1:8080 Basic dXNlcjpwQHNz")
        for host in ["a.test", "A.test", "d.a.test", "b.test", "e.b.test", "c", "localhost", "127.0.0.2", "::1"] {
            #expect(try proxy(host, all) == nil)
        }
        #expect(try proxy("aa.test", all) != nil)
        #expect(try proxy("x.test", ["ALL_PROXY": "http://p", "no_proxy": "*"]) == nil)
        #expect(try proxy("x.test", ["ALL_PROXY": "http://p"]) == "p:80 -")
        #expect(try proxy("x.test", tls: false, ["HTTP_PROXY": "http://p"]) == nil)
        for wrong in ["socks5://p:1", "https://p", "http://", "http://p:99999", "http://p/path"] {
            #expect(throws: ClientError.notConnected("the environment variable https_proxy: expected http://HOST:PORT"))
            {
                try proxy("x.test", ["https_proxy": wrong])
            }
        }
    }

    private func client(through port: UInt16, tls: TLSTrust? = nil) -> HTTPClient {
        var client = HTTPClient(host: "far.test", port: tls == nil ? 80 : 443, trust: tls)
        client.environment = { $0 == "all_proxy" ? "http://me:secret@127.0.0.1:\(port)" : nil }
        return client
    }

    @Test func `a proxy gets requests whole, with its password`() async throws {
        let handler: Server.Handler = { request in
            .text("\(request.path) \(request.headers["Host"] ?? "") \(request.headers["Proxy-Authorization"] ?? "")")
        }
        try await withServer(handler) { server in
            let answer = try await client(through: server.port).send("GET", "/a?b", headers: [:])
            #expect(String(decoding: try await answer.next() ?? [], as: UTF8.self) == "/a far.test Basic bWU6c2VjcmV0")
        }
    }

    @Test func `a proxy that opens no tunnel is said`() async throws {
        try await withServer(echo) { server in
            let client = try client(through: server.port, tls: TLSTrust())
            await #expect { try await client.send("GET", "/", headers: [:]) } throws: {
                guard case ClientError.notConnected(let reason) = $0 else { return false }
                return reason.contains("refused the tunnel: status 501")
            }
        }
    }

    @Test func `over TLS the proxy sees the host and its own password, nothing else`() async throws {
        let listener = try SocketListener()
        async let seen: [String] = onThread {
            let connection = try listener.accept()
            let head = try connection.receive(until: "\r\n\r\n")
            try connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
            let hello = try connection.receive()
            return [head, hello.first == 22 ? "a TLS handshake" : "something else"]
        }
        let client = try client(through: listener.port, tls: TLSTrust())
        await #expect(throws: ClientError.self) {
            try await client.send("GET", "/secret", headers: ["Authorization": "Bearer key"])
        }
        let connect = "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"
        #expect(try await seen == [connect + "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n", "a TLS handshake"])
    }
}
