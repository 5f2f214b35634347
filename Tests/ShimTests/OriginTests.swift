import HTTP
import Testing

@testable import Shim

@Suite struct OriginTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var headers: Headers
        var isAllowed = true
        var path = "/v1/models"
        var testDescription: String { "\(path) \(headers.fields.map { "\($0.name): \($0.value)" })" }
    }

    private func check(_ input: Case, _ origins: OriginPolicy) async throws {
        let answer = try await FrontDoor(keys: apiKeys(), origins: origins).answer("POST", input.path, input.headers)
        #expect(answer.status == (input.isAllowed ? 200 : 403))
        guard !input.isAllowed else { return }
        #expect(Set(answer.error.keys) == ["message", "type", "param", "code"])
        #expect((answer.error["code"] as? String)?.hasPrefix("forbidden_") == true)
        #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
    }

    @Test(arguments: [
        Case(headers: [:]),  // HTTP/1.0
        Case(headers: ["Host": "localhost:8080"]), Case(headers: ["Host": "LocalHost"]),
        Case(headers: ["Host": "127.0.0.1:8080"]), Case(headers: ["Host": "127.9.9.9"]),
        Case(headers: ["Host": "[::1]:8080"]),
        Case(headers: ["Host": "evil.example"], isAllowed: false),
        Case(headers: ["Host": "evil.example:8080"], isAllowed: false, path: "/"),
        Case(headers: ["Host": "localhost.evil.example"], isAllowed: false),
        Case(headers: ["Host": "127.0.0.1.evil.example"], isAllowed: false),
        Case(headers: ["Host": "192.168.0.1"], isAllowed: false), Case(headers: ["Host": "0.0.0.0"], isAllowed: false),
        Case(headers: ["Host": "[::2]"], isAllowed: false),
        // A page of another name that has been pointed here names itself in both.
        Case(headers: ["Host": "evil.example", "Origin": "http://evil.example"], isAllowed: false),
    ])
    func `on this machine only its own names are known`(_ input: Case) async throws {
        try await check(input, OriginPolicy())
    }

    @Test(arguments: [
        Case(headers: ["Host": "localhost:80", "Origin": "http://localhost:80"]),
        Case(headers: ["Host": "LOCALHOST:80", "Origin": "https://localhost:80"]),
        Case(headers: ["Host": "localhost:80", "Origin": "http://localhost:3000"], isAllowed: false),
        Case(headers: ["Host": "localhost:80", "Origin": "http://localhost"], isAllowed: false),
        Case(headers: ["Host": "localhost:80", "Origin": "https://evil.example"], isAllowed: false),
        Case(headers: ["Host": "localhost:80", "Origin": "null"], isAllowed: false),
        Case(headers: ["Host": "localhost:80", "Origin": ""], isAllowed: false),
        Case(headers: ["Host": "localhost:80", "Origin": "http://localhost:80.evil.example"], isAllowed: false),
        Case(headers: ["Host": "localhost:80", "Origin": "http://evil.example/localhost:80"], isAllowed: false),
        Case(headers: ["Host": "localhost", "Sec-Fetch-Site": "same-origin"]),
        // Chromium sends an Origin with the page's own modules, whose Host a proxy may have replaced.
        Case(headers: ["Host": "localhost", "Origin": "http://localhost:90", "Sec-Fetch-Site": "same-origin"]),
        Case(
            headers: ["Host": "localhost", "Origin": "http://localhost:90", "Sec-Fetch-Site": "same-site"],
            isAllowed: false),
        Case(
            headers: ["Host": "evil.example", "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"],
            isAllowed: false),
        Case(headers: ["Host": "localhost", "Sec-Fetch-Site": "none"]),
        Case(headers: ["Host": "localhost", "Sec-Fetch-Site": "cross-site"], isAllowed: false),
        Case(headers: ["Host": "localhost", "Sec-Fetch-Site": "same-site"], isAllowed: false),
        // A link on another site may lead to the page, whose modules come with the name of a proxy as their Origin.
        Case(headers: ["Host": "localhost", "Sec-Fetch-Site": "cross-site"], path: "/"),
        Case(headers: ["Host": "localhost", "Origin": "http://proxy.example"], path: "/page/chat.js"),
    ])
    func `pages of other origins are refused`(_ input: Case) async throws {
        try await check(input, OriginPolicy())
    }

    @Test(arguments: [
        Case(headers: ["Host": "chat.example.org"]), Case(headers: ["Host": "Chat.Example.org:8443"]),
        Case(headers: ["Host": "chat.example.org", "Origin": "https://chat.example.org"]),
        // A proxy that puts its own name for the server into Host.
        Case(headers: ["Host": "127.0.0.1:8080", "Origin": "https://chat.example.org"]),
        Case(headers: ["Host": "127.0.0.1:8080", "Origin": "https://chat.example.org.evil.example"], isAllowed: false),
        // Another port of this machine is another server.
        Case(headers: ["Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8080"]),
        Case(headers: ["Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:3000"], isAllowed: false),
        Case(headers: ["Host": "example.org"], isAllowed: false),
        Case(headers: ["Host": "localhost", "Origin": "https://app.example.org"]),
        Case(headers: ["Host": "localhost", "Origin": "http://app.example.org"], isAllowed: false),
        Case(headers: ["Host": "localhost", "Origin": "https://app.example.org:444"], isAllowed: false),
        Case(headers: ["Host": "localhost", "Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"]),
    ])
    func `what the command line adds`(_ input: Case) async throws {
        try await check(
            input, OriginPolicy(corsOrigins: ["https://app.example.org"], hosts: ["chat.example.org", "127.0.0.1"]))
    }

    @Test func `off loopback a name must be known where no key protects, an address need not`() async throws {
        for check in [OriginPolicy.HostCheck.addresses, .none] {
            let policy = OriginPolicy(hostCheck: check)
            try await self.check(Case(headers: ["Host": "192.168.0.1:8080"]), policy)
            try await self.check(Case(headers: ["Host": "[fe80::1]"]), policy)
            try await self.check(Case(headers: ["Host": "evil.example"], isAllowed: check == .none), policy)
            try await self.check(
                Case(headers: ["Host": "192.168.0.1", "Origin": "http://evil.example"], isAllowed: false), policy)
        }
    }

    @Test func `CORS headers go to named origins only, with errors too`() async throws {
        let app = "https://app.example.org"
        let door = FrontDoor(keys: try apiKeys("sk-one"), origins: OriginPolicy(corsOrigins: [app]))
        for (key, status) in [("sk-one", 200), ("sk-two", 401)] {
            let answer = try await door.answer("GET", "/v1/models", ["Origin": app, "x-api-key": key])
            #expect(answer.status == status)
            #expect(answer.headers["Access-Control-Allow-Origin"] == app)
            #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("X-Request-Id") == true)
            #expect(answer.headers["Vary"] == "Origin")
        }
        let own = try await door.answer("GET", "/v1/models", ["x-api-key": "sk-one"])
        #expect(own.headers.fields.allSatisfy { !$0.name.hasPrefix("Access-Control") })
    }

    @Test func `a preflight is answered without a key, for named origins`() async throws {
        let door = FrontDoor(
            keys: try apiKeys("sk-one"), origins: OriginPolicy(corsOrigins: ["https://app.example.org"]))
        func preflight(_ origin: String) async throws -> Answer {
            try await door.answer(
                "OPTIONS", "/v1/chat/completions",
                [
                    "Origin": origin, "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
                ])
        }
        let answer = try await preflight("https://app.example.org")
        #expect(answer.status == 204)
        #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app.example.org")
        #expect(answer.headers["Access-Control-Allow-Methods"] == "POST")
        #expect(answer.headers["Access-Control-Allow-Headers"] == "authorization,content-type,x-stainless-os")
        #expect(try await preflight("https://evil.example").status == 403)
    }
}
