import Foundation
@testable import AppGateway
@testable import HTTP
import JSON
import LocalLLM
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Shim

/// What one client can do to others.
@Suite(.timeLimit(.minutes(5))) struct AbuseTests {
    private let app = Principal(kind: .app, id: "chat")

    private func signature(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + Array(repeating: 0, count: 24)
    }

    private func session(_ name: String) -> Principal { Principal(kind: .app, id: "chat", session: name) }

    @Test func `one session's signatures leave room for another's`() throws {
        var memory = try ClientMemory(file: nil, now: 1000)
        var verdicts: [SeenSignatures.Verdict] = []
        for number in 0...ClientMemory.signaturesOfSession {
            verdicts.append(try memory.insert(signature(number), time: 1300, from: session("a"), at: "1", now: 1000))
        }
        #expect(verdicts.dropLast().allSatisfy { $0 == .isNew } && verdicts.last == .isFull)
        #expect(try memory.insert(signature(0), time: 1300, from: session("a"), at: "1", now: 1000) == .isKnown)
        #expect(try memory.insert(signature(0), time: 1000, from: session("b"), at: "1", now: 1000) == .isNew)
    }

    @Test func `many sessions' signatures end the one that has signed the most, not others`() throws {
        let configuration = try ClientFixture.configuration()
        let client = try #require(configuration.apps.first)
        var memory = try ClientMemory(file: nil, now: 1000)
        let sessions = (0..<18).map { _ in AppSession(app: client, network: "1", now: 1000) }
        for session in sessions { try memory.add(session, now: 1000) }
        var number = 0
        // The first signs once; the others as much as they can, the second most of all.
        var verdict = try memory.insert(
            signature(number), time: 1300, from: session(sessions[0].name), at: "1", now: 1000)
        for (index, abuser) in sessions.enumerated().dropFirst() {
            for _ in 0..<ClientMemory.signaturesOfSession - index {
                number += 1
                verdict = try memory.insert(
                    signature(number), time: 1300, from: session(abuser.name), at: "1", now: 1000)
                guard verdict == .isNew else { break }
            }
        }
        #expect(verdict == .isNew)
        let left = Set((memory.sessions["chat"] ?? []).map(\.name))
        #expect(left.contains(sessions[0].name) && !left.contains(sessions[1].name) && left.count == 17)
        #expect(
            try memory.insert(signature(0), time: 1300, from: session(sessions[0].name), at: "1", now: 1000) == .isKnown
        )
    }

    @Test func `one address's sessions do not end another's`() throws {
        let client = try #require(try ClientFixture.configuration().apps.first)
        var memory = try ClientMemory(file: nil, now: 1000)
        let other = AppSession(app: client, network: "2", now: 1000)
        try memory.add(other, now: 1000)
        for _ in 0..<ClientMemory.maximumSessions + 10 {
            try memory.add(AppSession(app: client, network: "1", now: 1000), now: 1000)
        }
        let sessions = memory.sessions["chat"] ?? []
        #expect(sessions.count == ClientMemory.maximumSessions)
        #expect(sessions.first?.name == other.name)
    }

    @Test func `what is remembered of sessions outlives the process`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "state").path
        for expected in [SeenSignatures.Verdict.isNew, .isKnown] {
            var memory = try ClientMemory(file: file, now: 1000)
            #expect(try memory.insert(signature(1), time: 1000, from: session("a"), at: "1", now: 1000) == expected)
            #expect(try memory.insert(signature(2), time: 1000, from: app, at: "1", now: 1000) == expected)
        }
        withExtendedLifetime(directory) {}
    }

    @Test func `wrong signatures are limited by address, and sessions from there are still known`() async throws {
        let fixture = try ClientFixture()
        func send(_ key: String, _ number: Int, from peer: String, _ path: String = "/chatgpt-simple") async throws
            -> Int
        {
            let body = #"{"prompt":"\#(number)"}"#
            return try await fixture.send(path, body, fixture.signed(path, body, key: key), peer: peer).status
        }
        let there = try await fixture.send(
            "/auth_token", "x", fixture.signed("/auth_token", "x", key: "app-auth-key"), peer: "10.0.0.1:5")
        let elsewhere = try await fixture.send(
            "/auth_token", "y", fixture.signed("/auth_token", "y", key: "app-auth-key"), peer: "10.0.0.2:5")
        let (token, other) = (there.json["token"] as? String ?? "", elsewhere.json["token"] as? String ?? "")
        var statuses: [Int] = []
        for number in 0..<400 { statuses.append(try await send("wrong", number, from: "10.0.0.1:\(number)")) }
        #expect(statuses.prefix(120).allSatisfy { $0 == 401 })
        #expect(statuses.last == 429)
        #expect(try await send(token, 1000, from: "10.0.0.1:5") == 200)
        #expect(try await send(other, 1001, from: "10.0.0.2:5") == 200)
        #expect(try await send("wrong", 1002, from: "10.0.0.2:5") == 401)
    }

    @Test func `a device with many sessions has no more requests than eight of them`() async throws {
        let limiter = RateLimiter(perMinute: 10)
        var passed = 0
        for session in 0..<30 {
            for number in 0..<10 {
                let context = RequestContext(
                    Request(method: "POST", target: "/v1/x", path: "/v1/x", peer: "10.0.0.1:\(number + 1)"),
                    principal: Principal(kind: .app, id: "chat", session: "\(session)"))
                let response = try await limiter.limiting(context) { .text("ok") }
                if response.status == 200 { passed += 1 }
            }
        }
        #expect((80...82).contains(passed))
        // Another address's is not touched.
        let other = RequestContext(
            Request(method: "POST", target: "/v1/x", path: "/v1/x", peer: "10.0.0.2:1"),
            principal: Principal(kind: .app, id: "chat", session: "0b"))
        #expect(try await limiter.limiting(other) { .text("ok") }.status == 200)
    }

    // MARK: Before a body is read

    private func firstAnswer(_ door: FrontDoor, _ head: String) async throws -> String {
        let configuration = Server.Configuration(
            host: "127.0.0.1", port: 0, errorResponse: errorResponse, makeNotes: { RequestTrace() })
        let server = try await Server.start(configuration, handler: door.respond)
        let port = server.port
        let text = try await onThread {
            let client = try SocketClient(port: port)
            try client.send("\(head)\r\nHost: localhost\r\n\r\n")
            return try client.receive(until: "}")
        }
        await server.stop(within: .zero)
        return text
    }

    @Test func `who may not use the server hears so before the body is there, and pages can read it`() async throws {
        let door = FrontDoor(
            keys: try apiKeys("sk-one"), origins: OriginPolicy(corsOrigins: ["https://app.example.org"]))
        let length = "Content-Length: 8000000"
        let refused = try await firstAnswer(
            door, "POST /v1/chat/completions HTTP/1.1\r\nOrigin: https://app.example.org\r\n\(length)")
        #expect(refused.hasPrefix("HTTP/1.1 401 ") && refused.contains("invalid_api_key"))
        #expect(refused.contains("Access-Control-Allow-Origin: https://app.example.org"))
        let foreign = try await firstAnswer(
            door, "POST /v1/chat/completions HTTP/1.1\r\nOrigin: https://evil.example\r\nx-api-key: sk-one\r\n\(length)"
        )
        #expect(foreign.hasPrefix("HTTP/1.1 403 "))
        let large = try await firstAnswer(door, "POST /api/suggest HTTP/1.1\r\nx-api-key: sk-one\r\n\(length)")
        #expect(large.hasPrefix("HTTP/1.1 413 ") && large.contains("request_too_large"))
    }

    @Test func `a proxy's word is believed if it is trusted`() throws {
        let options = try accessOptions("--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1")
        #expect(options.proxies.network(of: "10.1.2.3:5", ["X-Forwarded-For": "1.2.3.4"]) == "1.2.3.4")
        #expect(options.proxies.network(of: "[::1]:5", ["X-Forwarded-For": "1.2.3.4"]) == "1.2.3.4")
        #expect(options.proxies.network(of: "127.0.0.1:5", ["X-Forwarded-For": "1.2.3.4"]) == "127.0.0.1")
        #expect(throws: (any Error).self) { try accessOptions("--trusted-proxy", "proxy.example") }
    }

    @Test func `what a stranger says of its address does not end another's suggestions`() {
        let users = ["1.1.1.1:1", "2.2.2.2:2"].map { peer in
            LatestRequests.User(
                RequestContext(
                    Request(
                        method: "POST", target: "/", path: "/", headers: ["X-Forwarded-For": "9.9.9.9"], peer: peer)),
                name: nil)
        }
        #expect(users[0] != users[1])
    }

    @Test func `devices that share an app's key do not end each other's suggestions by a name that they say`() {
        func user(_ peer: String, _ principal: Principal?) -> LatestRequests.User {
            let request = Request(method: "POST", target: "/", path: "/", headers: [:], peer: peer)
            return LatestRequests.User(RequestContext(request, principal: principal), name: "kim")
        }
        for principal in [nil, Principal(kind: .product, id: "p")] {
            #expect(user("1.1.1.1:1", principal) != user("2.2.2.2:2", principal))
            #expect(user("1.1.1.1:1", principal) == user("1.1.1.1:2", principal))
        }
        // Who is known by a token is so from wherever.
        let known = Principal(kind: .product, id: "p", session: "s")
        #expect(user("1.1.1.1:1", known) == user("2.2.2.2:2", known))
    }

    // MARK: Long answers

    @Test(arguments: [0, 1, 100, 3000])
    func `long lists are encoded in pieces, and are what they would be whole`(count: Int) async throws {
        struct Value: Encodable {
            struct Part: Encodable {
                var text = #""list":[] "#
                var list: [Int] = []
                var other: [Int] = []
                var rest: [Int] = []
            }
            var parts: [Part]
            var list = "[]"
        }
        let whole = Value(
            parts: (0..<3).map {
                .init(list: Array(0..<count * $0), other: [], rest: Array(0..<count / 3))
            })
        let expected = String(decoding: try JSON.encode(whole), as: UTF8.self)
        func list(_ part: Value.Part, _ path: @escaping @Sendable (Value.Part) -> [Int]) -> LongList {
            LongList(count: path(part).count, values: 2) { path(part)[$0] }
        }
        let response = try Response.json(
            Value(parts: whole.parts.map { _ in .init() }),
            filling: [
                "list": whole.parts.map { list($0) { $0.list } }, "rest": whole.parts.map { list($0) { $0.rest } },
            ])
        // 4096 values are encoded at once.
        if case .stream = response.body { #expect(count == 3000) } else { #expect(count < 3000) }
        let text = try await withServer({ _ in response }) {
            try await exchange($0, "GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        }
        #expect(text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n") == expected)
    }

    @Test func `handlers know whose work they do`() async throws {
        let seen = Mutex<[String?]>([])
        let table = RouteTable([
            Route("POST", "/x") { _, _ in
                seen.withLock { $0.append(FairShare.client) }
                return .text("ok")
            }
        ])
        let services = router(ScriptedLanguageModel())
        for principal in [nil, Principal(kind: .apiKey, id: "2"), Principal(kind: .product, id: "p")] {
            let context = RequestContext(
                Request(method: "POST", target: "/x", path: "/x", peer: "10.0.0.1:9"), routes: table,
                principal: principal)
            _ = try await runHandler(context, services)
        }
        #expect(seen.withLock { $0 } == ["10.0.0.1", "api_key 2 ", "10.0.0.1"])
    }
}
