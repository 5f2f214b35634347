import Foundation
import HTTP
import TestSupport
import Testing
import Wire

@testable import AppGateway
@testable import Shim

/// Requests that are signed: the app's and the partner's.
@Suite(.timeLimit(.minutes(2))) struct AppSignatureTests {
    private let chat = #"[{"role":"user","content":"Hi"}]"#

    private func isRefused(_ answer: Answer) -> Bool {
        answer.status == 401 && answer.error["code"] as? String == "invalid_signature"
            && answer.error["message"] as? String == APIError.signatureRefused.message
    }

    @Test func `an app gets a session, and answers with its token`() async throws {
        let fixture = try ClientFixture()
        let answer = try await fixture.send("/auth_token", "", fixture.signed("/auth_token", key: "app-auth-key"))
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(Set(answer.json.keys) == ["token", "expires_at"])
        #expect(answer.json["expires_at"] as? Int == fixture.clock.now + 900)
        let token = try #require(answer.json["token"] as? String)
        #expect(token.utf8.count == 64)
        let bodies = [chat, #"{"messages":\#(chat)}"#, #"{"messages":\#(chat),"model":"Test-Q4"}"#]
        for body in bodies {
            let answer = try await fixture.send("/chatgpt", body, fixture.signed("/chatgpt", body, key: token))
            #expect(answer.json as? [String: String] == ["role": "assistant", "content": "Hello, wörld"])
        }
        #expect(try await fixture.prompt(token: token) == 200)
        let listed = try await fixture.send(
            method: "GET", "/v1/models", "", fixture.signed(method: "GET", "/v1/models", key: token))
        #expect(listed.status == 200)
    }

    @Test(arguments: [
        ("/chatgpt/a/b", "/chatgpt/a/b"), ("/chatgpt/", "/chatgpt/"), ("/chatgpt?x=1", "/chatgpt"),
        ("/chatgpt/a%20%2f", "/chatgpt/a%20%2f"), ("http://localhost/chatgpt/x?y", "/chatgpt/x"),
    ])
    func `the path is signed as it is sent, with its extension and without the query`(
        _ target: String, _ path: String
    ) async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.session()
        let request = Request(
            method: "POST", target: target, path: path.removingPercentEncoding ?? "",
            headers: fixture.signed(path, chat, key: token), body: Array(chat.utf8))
        #expect(try await fixture.door.respond(to: request).status == 200)
    }

    @Test func `what was signed cannot be altered, nor come twice`() async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.session()
        let good = fixture.signed("/chatgpt", chat, key: token)
        var twice = good
        twice.append("X-Signature", good["x-signature"] ?? "")
        var otherTime = good
        otherTime["x-timestamp"] = "\(fixture.clock.now + 1)"
        var longTime = good
        longTime["x-timestamp"] = "0\(fixture.clock.now)"
        var noTime = good
        noTime["x-timestamp"] = nil
        var twoTimes = good
        twoTimes.append("x-timestamp", good["x-timestamp"] ?? "")
        let bad: [(String, String, String, Headers)] = [
            ("POST", "/chatgpt", chat + " ", good), ("POST", "/chatgpt-simple", chat, good),
            ("POST", "/chatgpt/", chat, good), ("POST", "/chat%67pt", chat, good), ("PUT", "/chatgpt", chat, good),
            ("HEAD", "/chatgpt", chat, good), ("POST", "/auth_token", chat, good), ("POST", "/chatgpt", chat, twice),
            ("POST", "/chatgpt", chat, otherTime), ("POST", "/chatgpt", chat, longTime),
            ("POST", "/chatgpt", chat, noTime), ("POST", "/chatgpt", chat, twoTimes),
            ("POST", "/chatgpt", chat, ["x-signature": "", "x-timestamp": "\(fixture.clock.now)"]),
            ("POST", "/chatgpt", chat, [:]),
        ]
        for (method, target, body, headers) in bad {
            #expect(
                isRefused(try await fixture.send(method: method, target, body, headers)),
                "\(method) \(target) \(headers)")
        }
        #expect(try await fixture.send("/chatgpt", chat, good).status == 200)
        #expect(isRefused(try await fixture.send("/chatgpt", chat, good)))
        // The same signature, spelt otherwise.
        let shouted: Headers = [
            "x-signature": good["x-signature"]?.uppercased() ?? "", "x-timestamp": good["x-timestamp"] ?? "",
        ]
        #expect(isRefused(try await fixture.send("/chatgpt", chat, shouted)))
    }

    @Test func `each key opens what it is for`() async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.session()
        for key in ["app-auth-key", "wrong", ""] {
            #expect(isRefused(try await fixture.send("/chatgpt", chat, fixture.signed("/chatgpt", chat, key: key))))
        }
        for key in [token, "wrong", ""] {
            #expect(isRefused(try await fixture.send("/auth_token", "", fixture.signed("/auth_token", key: key))))
        }
        for (method, path) in [("GET", "/metrics"), ("GET", "/props"), ("POST", "/api/suggest"), ("POST", "/tokenize")]
        {
            #expect(
                isRefused(
                    try await fixture.send(method: method, path, "", fixture.signed(method: method, path, key: token))))
        }
        let partner = try await fixture.send("/auth_token", "", fixture.partnerSigned("/auth_token"))
        #expect(isRefused(partner))
    }

    @Test(arguments: [(-301, 401), (-300, 200), (300, 200), (301, 401)])
    func `clocks may differ by five minutes`(_ skew: Int, _ status: Int) async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.session()
        let signed = fixture.signed("/chatgpt", chat, key: token, skew: skew)
        #expect(try await fixture.send("/chatgpt", chat, signed).status == status)
        let partner = fixture.partnerSigned("/chatgpt", chat, skew: skew)
        #expect(try await fixture.send("/chatgpt", chat, partner).status == status)
    }

    @Test func `a replay is refused for as long as its time would be accepted`() async throws {
        let fixture = try ClientFixture(app: #", "token_seconds": 3600"#)
        let token = try await fixture.session()
        let early = fixture.signed("/chatgpt", chat, key: token, skew: 300)
        #expect(try await fixture.send("/chatgpt", chat, early).status == 200)
        for _ in 0..<61 {
            #expect(isRefused(try await fixture.send("/chatgpt", chat, early)))
            fixture.clock.now += 10
        }
        // It is forgotten by now, and too old; also once somebody sets the clock back.
        fixture.clock.now -= 20
        #expect(isRefused(try await fixture.send("/chatgpt", chat, early)))
    }

    @Test func `a clock that is ahead for a while locks nobody out, and forgets no signature`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "state").path
        let first = try ClientFixture(stateFile: file)
        let signed = first.partnerSigned("/chatgpt", chat)
        #expect(try await first.send("/chatgpt", chat, signed).status == 200)

        func checks(_ fixture: ClientFixture) async throws {
            let inTime = fixture.partnerSigned("/chatgpt", chat, skew: 1 - 86_400)
            #expect(isRefused(try await fixture.send("/chatgpt", chat, inTime)))
            fixture.clock.now -= 86_400 - 2
            #expect(isRefused(try await fixture.send("/chatgpt", chat, signed)))
            let next = fixture.partnerSigned("/chatgpt", chat)
            #expect(try await fixture.send("/chatgpt", chat, next).status == 200)
        }
        first.clock.now += 86_400
        try await checks(first)
        let second = try ClientFixture(stateFile: file, clock: TestClock(first.clock.now + 86_400))
        try await checks(second)
        withExtendedLifetime(directory) {}
    }

    @Test func `of equal requests at once exactly one wins`() async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.session()
        let signed = fixture.signed("/chatgpt", chat, key: token)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<32 { group.addTask { try await fixture.send("/chatgpt", chat, signed).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 200 }.count == 1)
        #expect(statuses.filter { $0 == 401 }.count == 31)
    }

    @Test func `a session ends with its time, by its app's word, and when there are too many`() async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.session()
        fixture.clock.now += 899
        #expect(try await fixture.prompt(token: token) == 200)
        fixture.clock.now += 1
        #expect(try await fixture.prompt(token: token) == 401)

        let (first, other) = (try await fixture.session(), try await fixture.session(key: "other-auth-key"))
        fixture.clock.now += 1
        let second = try await fixture.session()
        fixture.access.reload(
            try ClientFixture.configuration(app: #", "tokens_valid_from": \#(fixture.clock.now)"#))
        #expect(try await fixture.prompt(token: first) == 401)
        #expect(try await fixture.prompt(token: second) == 200)
        for number in 0..<ClientMemory.maximumSessions { _ = try await fixture.session("\(number)") }
        #expect(try await fixture.prompt("Again", token: second) == 401)
        #expect(try await fixture.prompt(token: other) == 200)
    }

    @Test func `sessions and seen signatures outlive the process in a file of its owner's`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "state").path
        let (signed, partner, token) = try await {
            let fixture = try ClientFixture(stateFile: file)
            let token = try await fixture.session()
            let signed = fixture.signed("/chatgpt", chat, key: token)
            let partner = fixture.partnerSigned("/chatgpt", chat)
            #expect(try await fixture.send("/chatgpt", chat, signed).status == 200)
            #expect(try await fixture.send("/chatgpt", chat, partner).status == 200)
            return (signed, partner, token)
        }()
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        // As a process leaves it that is killed while it writes.
        let torn = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try torn.seekToEnd()
        try torn.write(contentsOf: Data(#"{"seen":12"#.utf8))
        try torn.close()

        for _ in 0..<2 {
            let fixture = try ClientFixture(stateFile: file)
            #expect(isRefused(try await fixture.send("/chatgpt", chat, signed)))
            #expect(isRefused(try await fixture.send("/chatgpt", chat, partner)))
        }
        #expect(try await ClientFixture(stateFile: file).prompt(token: token) == 200)
        #expect(try await ClientFixture().prompt(token: token) == 401)
        let folder = directory.url.path
        let unreadable = #expect(throws: JournalError.self) { try ClientFixture(stateFile: folder) }
        #expect(unreadable?.errorDescription?.hasPrefix("state_file: \(folder): ") == true)
        #expect(unreadable?.errorDescription?.contains("Is a directory") == true)

        try Data("nonsense\n".utf8).write(to: URL(fileURLWithPath: file))
        let error = #expect(throws: JournalError.self) { try ClientFixture(stateFile: file) }
        #expect(error?.errorDescription?.contains("line 1") == true)
        withExtendedLifetime(directory) {}
    }

    @Test func `the memory of signatures is bounded, and refuses rather than forgets`() {
        var seen = SeenSignatures()
        for mark in 0..<SeenSignatures.capacity {
            #expect(seen.insert(SeenSignatures.Mark(mark), time: 1000, now: 1000) == .isNew)
        }
        #expect(seen.insert(.max, time: 1000, now: 1000) == .isFull)
        #expect(seen.insert(0, time: 1000, now: 1300) == .isKnown)
        #expect(seen.insert(.max, time: 1001, now: 1301) == .isNew)
    }

    @Test func `partners sign for themselves, and what was signed cannot be altered`() async throws {
        let fixture = try ClientFixture()
        let good = fixture.partnerSigned("/chatgpt", chat)
        var twice = good
        twice.append("X-Api-Id", "acme")
        var noNonce = good
        noNonce["X-Nonce"] = nil
        let bad: [(String, String, String, Headers)] = [
            ("POST", "/chatgpt", chat + " ", good), ("PUT", "/chatgpt", chat, good), ("POST", "/chatgpt/", chat, good),
            ("POST", "/chatgpt", chat, twice), ("POST", "/chatgpt", chat, noNonce),
            ("POST", "/chatgpt", chat, fixture.partnerSigned("/chatgpt", chat, secret: "wrong")),
            ("POST", "/chatgpt", chat, fixture.partnerSigned("/chatgpt", chat, secret: "", id: "nobody")),
            ("POST", "/chatgpt", chat, fixture.partnerSigned("/chatgpt", chat, id: "ACME")),
        ]
        for (method, target, body, headers) in bad {
            #expect(
                isRefused(try await fixture.send(method: method, target, body, headers)),
                "\(method) \(target) \(headers)")
        }
        #expect(try await fixture.send("/chatgpt?x=1", chat, good).status == 200)
        #expect(isRefused(try await fixture.send("/chatgpt", chat, good)))
        #expect(isRefused(try await fixture.send("/chatgpt[", String(chat.dropFirst()), good)))
    }
}
