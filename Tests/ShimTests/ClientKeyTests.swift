import CommandLineParsing
import Foundation
import HTTP
import LocalLLM
import Synchronization
import TestSupport
import Testing

@testable import AppGateway
@testable import Shim

/// The autocomplete SDK's keys and tokens, how they stand beside API keys, and the file that names them all.
@Suite(.timeLimit(.minutes(2))) struct ClientKeyTests {
    private let text = #"{"text":"Hello"}"#

    private func suggest(_ fixture: ClientFixture, _ headers: Headers) async throws -> Answer {
        try await fixture.send("/api/suggest", text, headers)
    }

    private func token(
        _ fixture: ClientFixture, _ authorization: String = "Bearer sk_v1_secret",
        product: String = ClientFixture.product
    ) async throws -> Answer {
        try await fixture.send(
            "/api/auth/token", #"{"product_id":"\#(product)"}"#, ["Authorization": authorization])
    }

    @Test func `a public key opens suggestions, and nothing else`() async throws {
        let fixture = try ClientFixture()
        let encoded = Data("pk_v1_public:".utf8).base64EncodedString()
        for value in ["Bearer pk_v1_public", "Basic pk_v1_public", "bearer  pk_v1_public", "Basic \(encoded)"] {
            #expect(try await suggest(fixture, ["Authorization": value]).status == 200, "\(value)")
        }
        var twice: Headers = ["Authorization": "Bearer pk_v1_public"]
        twice.append("Authorization", "Bearer pk_v1_public")
        let wrong: [Headers] = [
            [:], twice, ["Authorization": "Bearer pk_v1_publi"], ["Authorization": "Bearer pk_v1_public2"],
            ["Authorization": "Bearer at_v1_1_2_3_4"], ["Authorization": "Bearer sk_v1_secret"],
            ["Authorization": "Bearer sk_v1_wrong"], ["x-api-key": "pk_v1_public"],
        ]
        for headers in wrong {
            let answer = try await suggest(fixture, headers)
            #expect(answer.status == 401, "\(headers)")
            #expect(Set(answer.error.keys) == ["message", "type", "param", "code"])
            #expect(!answer.text.contains("_v1_"))
        }
        for path in ["/v1/completions", "/chatgpt", "/auth_token", "/api/suggest/"] {
            let answer = try await fixture.send(path, text, ["Authorization": "Bearer pk_v1_public"])
            #expect(answer.status == 401, "\(path)")
        }
    }

    @Test func `a secret key sent by an app is refused with the reason, right or wrong`() async throws {
        let fixture = try ClientFixture()
        let right = try await suggest(fixture, ["Authorization": "Bearer sk_v1_secret"])
        let wrong = try await suggest(fixture, ["Authorization": "Basic sk_v1_wrong"])
        #expect(right.error["code"] as? String == "secret_key_refused")
        #expect(right.bytes == wrong.bytes && right.status == 401 && wrong.status == 401)
    }

    @Test func `a public key may be bound to apps`() async throws {
        let fixture = try ClientFixture(product: #", "app_identifiers": ["org.a", "org.b"]"#)
        let key = "Bearer pk_v1_public"
        for app in ["org.a", "org.b"] {
            #expect(try await suggest(fixture, ["Authorization": key, "X-App-Identifier": app]).status == 200)
        }
        for headers: Headers in [
            ["Authorization": key], ["Authorization": key, "X-App-Identifier": "org.c"],
            ["Authorization": key, "X-App-Identifier": "org.a", "x-app-identifier": "org.a"],
        ] {
            #expect(try await suggest(fixture, headers).status == 401)
        }
    }

    @Test func `a secret key gets tokens, which last their time and as long as the key`() async throws {
        let fixture = try ClientFixture(product: #", "token_seconds": 60"#)
        let answer = try await token(fixture)
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(Set(answer.json.keys) == ["access_token", "expires_at", "token_type"])
        #expect(answer.json["token_type"] as? String == "Bearer")
        #expect(answer.json["expires_at"] as? Int == fixture.clock.now + 60)
        let text = try #require(answer.json["access_token"] as? String)
        #expect(text.hasPrefix("at_v1_"))
        let headers: Headers = ["Authorization": "Bearer \(text)"]
        fixture.clock.now += 59
        #expect(try await suggest(fixture, headers).status == 200)
        #expect(try await fixture.send(method: "GET", "/v1/models", "", headers).status == 401)

        let restarted = try ClientFixture(product: #", "token_seconds": 5"#)
        #expect(try await suggest(restarted, headers).status == 200)
        restarted.access.reload(
            try ClientFixture.configuration(product: #", "tokens_valid_from": \#(restarted.clock.now + 1)"#))
        #expect(try await suggest(restarted, headers).status == 401)

        let parts = text.split(separator: "_").map(String.init)
        let longer = (["at", "v1", "\(fixture.clock.now + 1000)"] + parts[3...]).joined(separator: "_")
        for forged in [longer, text + "0", String(text.dropLast()), "at_v1_", "at_v1_1_2_3_4"] {
            #expect(try await suggest(fixture, ["Authorization": "Bearer \(forged)"]).status == 401, "\(forged)")
        }
        fixture.clock.now += 1
        #expect(try await suggest(fixture, headers).status == 401)
    }

    @Test func `a wrong secret key gets the contract's words, exactly`() async throws {
        let fixture = try ClientFixture(keys: apiKeys("sk-one"))
        for value in ["Bearer sk_v1_wrong", "Bearer pk_v1_public", "Bearer sk-one", "Bearer", ""] {
            let answer = try await token(fixture, value)
            #expect(answer.status == 401)
            #expect(
                answer.text
                    == #"{"error":{"code":"INVALID_SECRET_KEY","message":"The provided secret key is invalid"}}"#)
        }
        let other = try await token(fixture, product: "00000000-0000-0000-0000-000000000000")
        #expect(other.status == 400 && other.error["param"] as? String == "product_id")
        let none = try await fixture.send("/api/auth/token", "{}", ["Authorization": "Bearer sk_v1_secret"])
        #expect(none.status == 400 && none.error["param"] as? String == "product_id")
        #expect(try await token(fixture, product: ClientFixture.product.uppercased()).status == 200)
    }

    @Test func `API keys go on beside them, and without any nobody else gets in`() async throws {
        let keyed = try ClientFixture(keys: apiKeys("sk-one"))
        let headers: Headers = ["Authorization": "Bearer sk-one"]
        for (method, path, body) in [
            ("GET", "/v1/models", ""), ("POST", "/chatgpt-simple", #"{"prompt":"Hi"}"#), ("POST", "/api/suggest", text),
        ] {
            #expect(try await keyed.send(method: method, path, body, headers).status == 200, "\(path)")
            #expect(try await ClientFixture().send(method: method, path, body, headers).status == 401, "\(path)")
        }
        #expect(try await keyed.send("/auth_token", "", headers).status == 401)
    }

    @Test(arguments: [
        ("/chatgpt", "[]", "messages"), ("/chatgpt", #"{"messages":[{"role":"user"}]}"#, "messages[0].content"),
        ("/chatgpt", #"[{"role":"nobody","content":"x"}]"#, "messages[0].role"), ("/chatgpt", "{}", "messages"),
        ("/chatgpt-simple", "{}", "prompt"), ("/chatgpt-simple", #"{"prompt":"x","model":"none"}"#, "model"),
    ])
    func `mistakes of apps are named`(_ path: String, _ body: String, _ name: String) async {
        let answer = await router(ScriptedLanguageModel()).answer("POST", path, body)
        #expect(answer.status == 400 || answer.status == 404)
        #expect(answer.error["param"] as? String == name)
    }

    @Test func `a prompt that is too long is called by its name`() async {
        let error = LocalModelError.contextSizeExceeded(contextSize: 128, tokenCount: 500)
        let router = router(ScriptedLanguageModel(.init(texts: [], error: error)))
        let answer = await router.answer("POST", "/chatgpt-simple", #"{"prompt":"long"}"#)
        #expect(answer.status == 400)
        #expect(answer.error["code"] as? String == "context_length_exceeded")
        #expect(answer.error["param"] as? String == "prompt")
    }

    @Test func `a server without clients is open to apps as to all, and issues no tokens`() async throws {
        let router = router(ScriptedLanguageModel())
        #expect(await router.answer("POST", "/chatgpt-simple", #"{"prompt":"Hi"}"#).status == 200)
        for path in ["/auth_token", "/api/auth/token"] {
            let answer = await router.answer("POST", path)
            #expect(answer.status == 404)
            #expect((answer.error["message"] as? String)?.contains("--auth-config") == true)
        }
    }

    @Test func `routes learn whose request they answer, and so does the log, but no secret`() async throws {
        let fixture = try ClientFixture(keys: apiKeys("sk-zero", "sk-one"))
        let token = try await fixture.session()
        let seen = Mutex<[Principal?]>([])
        var door = FrontDoor(keys: fixture.door.keys, clients: fixture.access, origins: .init()) { context in
            seen.withLock { $0.append(context.principal) }
            return .text("ok")
        }
        door.logsPrompts = true
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file)
        let requests: [(String, Headers)] = [
            ("/v1/models", ["Authorization": "Bearer sk-one"]),
            ("/v1/models", fixture.signed(method: "GET", "/v1/models", key: token)),
            ("/v1/models", fixture.partnerSigned(method: "GET", "/v1/models")),
            ("/api/suggest", ["Authorization": "Bearer pk_v1_public"]),
            ("/api/suggest", ["Authorization": "Bearer sk_v1_secret"]), ("/health", [:]),
        ]
        try await withServer(door.respond, log: log) { port in
            for (path, headers) in requests {
                let lines = headers.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
                _ = try await exchange(port, "GET \(path) HTTP/1.0\r\nHost: localhost\r\n\(lines)\r\n")
            }
        }
        log.flush()
        let principals = seen.withLock { $0 }
        #expect(principals.map { $0?.kind } == [.apiKey, .app, .partner, .product, nil])
        #expect(principals.map { $0?.id } == ["2", "chat", "acme", ClientFixture.product, nil])
        #expect(principals[1]?.session != nil)
        let text = try withExtendedLifetime(directory) { try String(contentsOfFile: file, encoding: .utf8) }
        #expect(text.contains(#""principal":"partner acme""#))
        let secrets = ClientFixture.secrets.values + ["sk-one", token] + requests.flatMap { $0.1.all("x-signature") }
        for secret in secrets { #expect(!text.contains(secret)) }
    }

    @Test(arguments: [
        ("[]", "expected an object"), ("{}", "at least one"), (#"{"apps": [], "tokens": 1}"#, "tokens"),
        (#"{"apps": [{"id": "a"}]}"#, "apps[0].auth_key"),
        (#"{"apps": [{"id": "a", "auth_key": "plain"}]}"#, "apps[0].auth_key"),
        (#"{"apps": [{"id": "a", "auth_key": {}}]}"#, "apps[0].auth_key"),
        (#"{"apps": [{"id": "a", "auth_key": {"env": "KEY", "file": "x"}}]}"#, "apps[0].auth_key"),
        (#"{"apps": [{"id": "a", "auth_key": {"env": "KEY", "value": "x"}}]}"#, "apps[0].auth_key.value"),
        (#"{"apps": [{"id": "a", "auth_key": {"env": "NONE"}}]}"#, "NONE is not set"),
        (#"{"apps": [{"id": "a", "auth_key": {"env": "EMPTY"}}]}"#, "EMPTY"),
        (#"{"apps": [{"id": "a", "auth_key": {"file": "/nowhere/key"}}]}"#, "/nowhere/key"),
        (#"{"apps": [{"id": "a", "auth_key": {"env": "KEY"}, "token_second": 5}]}"#, "apps[0].token_second"),
        (#"{"apps": [{"id": "a", "auth_key": {"env": "KEY"}, "token_seconds": 0}]}"#, "apps[0].token_seconds"),
        (#"{"apps": [{"id": "a b", "auth_key": {"env": "KEY"}}]}"#, "apps[0].id"),
        (
            #"{"partners": [{"id": "a", "secret": {"env": "KEY"}}, {"id": "A", "secret": {"env": "KEY"}}]}"#,
            "partners[1].id"
        ),
        (#"{"products": [{"id": "5", "secret_key": {"env": "SK"}}]}"#, "products[0].id"),
        (#"{"products": [{"id": "5b1e4f0a-6f0c-4b8e-9a53-0f2f3f1f7a10"}]}"#, "secret_key, public_key"),
        (#"{"products": [{"id": "5b1e4f0a-6f0c-4b8e-9a53-0f2f3f1f7a10", "secret_key": {"env": "KEY"}}]}"#, "sk_v1_"),
        (#"{"products": [{"id": "5b1e4f0a-6f0c-4b8e-9a53-0f2f3f1f7a10", "public_key": {"env": "SK"}}]}"#, "pk_v1_"),
        ("{,}", "JSON"),
    ])
    func `mistakes in the file are named, and no secret with them`(_ json: String, _ words: String) {
        let error = #expect(throws: UsageError.self) {
            try clientConfiguration(json, environment: ["KEY": "hunter2", "SK": "sk_v1_hunter2", "EMPTY": ""])
        }
        #expect(error?.description.contains("clients.json") == true)
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func `secrets come from files too; and with clients a server has keys`() throws {
        let directory = try TemporaryDirectory()
        let key = try directory.write(Array("file-key\n".utf8), as: "key")
        let file = try directory.write(
            Array(#"{"apps": [{"id": "a", "auth_key": {"file": "\#(key)"}}]}"#.utf8), as: "clients.json")
        let options = try AppOptions(
            Arguments(["--auth-config", file], options: AppOptions.all), environment: [:])
        #expect(options.configuration?.apps.first?.authKey.value == "file-key")
        #expect(options.configuration?.secretFiles == [key])
        let access = try accessOptions(host: "0.0.0.0", hasAuthenticator: true)
        #expect(access.origins.hostCheck == .none)
        withExtendedLifetime(directory) {}
    }
}
