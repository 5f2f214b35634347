import CommandLineParsing
import Foundation
import HTTP
import TestSupport
import Testing
import Synchronization
import Wire
import Tokenizer

@testable import AppGateway
@testable import LocalLLM
@testable import Shim

/// Endpoints that an app configures, and what goes with them.
@Suite(.timeLimit(.minutes(2))) struct AppEndpointTests {
    private static let dinner = #"{"name": "generateDinner", "system": "Suggest a dinner as JSON."}"#

    private func fixture(_ engine: ScriptedLanguageModel, endpoints: String = Self.dinner) throws -> ClientFixture {
        try ClientFixture(endpoints: endpoints, engine: engine)
    }

    @Test(arguments: [
        (#"{"prompt": "Fish"}"#, "Fish"), (#"{"messages": [{"role": "user", "content": "Fish"}]}"#, "Fish"),
        (#"{"diet":"vegan","people":2}"#, #"{"diet":"vegan","people":2}"#), (#"["tofu"]"#, #"["tofu"]"#),
    ])
    func `a signed request to a configured endpoint is answered with its instructions`(
        _ body: String, _ message: String
    ) async throws {
        let engine = ScriptedLanguageModel()
        let fixture = try fixture(engine)
        let token = try await fixture.session()
        let answer = try await fixture.send(
            "/generateDinner", body, fixture.signed("/generateDinner", body, key: token))
        #expect(answer.status == 200)
        #expect(answer.json as? [String: String] == ["role": "assistant", "content": "Hello, wörld"])
        #expect(engine.rendered.withLock { $0[0].messages } == [.system("Suggest a dinner as JSON."), .user(message)])
        #expect(try await fixture.send("/generateDinner", body, [:]).error["code"] as? String == "invalid_signature")
    }

    @Test func `a signed request to an unknown endpoint is a 404, an unsigned one learns nothing`() async throws {
        let fixture = try fixture(ScriptedLanguageModel())
        let token = try await fixture.session()
        let unknown = try await fixture.send("/generateLunch", "{}", fixture.signed("/generateLunch", "{}", key: token))
        #expect(unknown.status == 404 && unknown.error["code"] as? String == "unknown_url")
        #expect(try await fixture.send("/generateLunch", "{}", [:]).status == 401)
        let wrong = try await fixture.send("/generateLunch", "{}", fixture.signed("/generateLunch", "{}", key: "x"))
        #expect(wrong.error["code"] as? String == "invalid_signature")
    }

    @Test func `endpoints come and go with the configuration`() async throws {
        let fixture = try fixture(ScriptedLanguageModel())
        let token = try await fixture.session()
        fixture.access.reload(
            try ClientFixture.configuration(endpoints: #"{"name": "generateLunch", "system": "Lunch."}"#))
        let statuses = try await [
            fixture.send("/generateLunch", "{}", fixture.signed("/generateLunch", "{}", key: token)).status,
            fixture.send("/generateDinner", "{}", fixture.signed("/generateDinner", "{}", key: token)).status,
        ]
        #expect(statuses == [200, 404])
    }

    @Test(arguments: [
        (#"{"name": "a/b", "system": "x"}"#, "endpoints[0].name"),
        (#"{"name": "", "system": "x"}"#, "endpoints[0].name"),
        (#"{"name": "chatgpt", "system": "x"}"#, "endpoints[0].name"),
        (#"{"name": "a", "system": "x"}, {"name": "a", "system": "y"}"#, "endpoints[1].name"),
        (#"{"name": "a", "system": ""}"#, "endpoints[0].system"), (#"{"name": "a"}"#, "endpoints[0].system"),
        (#"{"name": "a", "system": "x", "sytem": "y"}"#, "endpoints[0].sytem"),
    ])
    func `a wrong endpoint is named with its place`(_ endpoints: String, _ path: String) {
        do {
            _ = try ClientFixture.configuration(endpoints: endpoints)
            Issue.record("taken: \(endpoints)")
        } catch {
            #expect("\(error)".contains(path), "\(error)")
        }
    }

    @Test func `OpenAI's clients are told of a key, apps of a signature, where only apps are configured`() async throws
    {
        let fixture = try ClientFixture()
        for headers: Headers in [[:], ["Authorization": "Bearer sk-unknown"]] {
            let models = try await fixture.send(method: "GET", "/v1/models", "", headers)
            #expect(models.status == 401 && models.error["code"] as? String == "invalid_api_key")
            let chat = try await fixture.send("/chatgpt", "[]", headers)
            #expect(chat.status == 401 && chat.error["code"] as? String == "invalid_signature")
        }
    }

    @Test func `an app's identifier is in the line of the log`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file)
        let door = FrontDoor(keys: try apiKeys())
        try await withServer(door.respond, log: log) { port in
            _ = try await exchange(port, "GET /health HTTP/1.0\r\nHost: localhost\r\nX-App-Identifier: org.a\r\n\r\n")
        }
        log.flush()
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains(#""app":"org.a""#))
    }

    @Test
    func `a log for a terminal is one readable line, whatever the request held`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file, form: .text)
        let services = router(ScriptedLanguageModel())
        let door = FrontDoor(keys: try apiKeys(), origins: .init()) { try await runHandler($0, services) }
        try await withServer(door.respond, log: log) { port in
            _ = try await exchange(port, chatRequest(chatBody()))
            _ = try await exchange(port, "GET /a%0A%1B%5B31m HTTP/1.0\r\nHost: localhost\r\n\r\n")
        }
        log.flush()
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2)
        let answered = try #require(lines.first { $0.contains("POST") })
        #expect(answered.contains("200 POST /v1/chat/completions "))
        #expect(answered.contains("  Test-Q4  ") && answered.hasSuffix(" tokens"))
        let refused = try #require(lines.first { $0.contains("GET") })
        #expect(refused.contains("404 GET /a\\u000a\\u001b[31m ") && refused.hasSuffix("unknown_url"))
    }

    @Test func `engines say who can answer, and why not`() async throws {
        let alone = await router(ScriptedLanguageModel()).answer("GET", "/api/engines")
        let engines = try #require(alone.json["engines"] as? [[String: Any]])
        #expect(engines.count == 1 && engines[0]["id"] as? String == "local")
        #expect(engines[0]["available"] as? Bool == true && engines[0]["models"] as? [String] == ["Test-Q4"])
        let loading = await router(nil).answer("GET", "/api/engines").json["engines"] as? [[String: Any]]
        #expect(loading?[0]["available"] as? Bool == false && loading?[0]["reason"] is String)
        let both = try await router(ScriptedLanguageModel()).with(upstream: 1).answer("GET", "/api/engines")
        let upstream = try #require((both.json["engines"] as? [[String: Any]])?.last)
        #expect(upstream["id"] as? String == "upstream" && upstream["available"] as? Bool == true)
    }

    @Test func `a model is unloaded when nobody uses it, and loaded again when asked for`() async throws {
        let services = router(ScriptedLanguageModel())
        #expect(await services.answer("POST", "/models/unload", #"{"model": "Test-Q4"}"#).status == 200)
        #expect(services.models.only?.loaded == nil)
        #expect(await services.answer("POST", "/models/unload", #"{"model": "Test-Q4"}"#).status == 200)
        #expect(await services.answer("POST", "/models/unload", #"{"model": "x"}"#).status == 404)
    }
}

/// `--blocked-words`.
@Suite(.timeLimit(.minutes(2))) struct BlockedWordsTests {
    private func services(_ texts: [String] = ["All ", "well", "."]) -> Services {
        var services = router(ScriptedLanguageModel(.init(texts: texts)))
        services.guardrail = WordListGuardrail(["secret plan", "xyzzy"])
        return services
    }

    private static let requests = [
        ("/v1/chat/completions", #""messages": [{"role": "user", "content": "TEXT"}]"#),
        ("/v1/completions", #""prompt": "TEXT""#), ("/v1/responses", #""input": "TEXT""#),
        ("/completion", #""prompt": "TEXT""#),
    ]

    @Test(arguments: requests)
    func `a prompt with a blocked word is refused, others are answered`(_ path: String, _ fields: String) async {
        func ask(_ text: String) async -> Answer {
            await services().answer("POST", path, "{\(fields.replacingOccurrences(of: "TEXT", with: text))}")
        }
        let refused = await ask("Tell me the Secret  Plan!")
        #expect(refused.status == 400 && refused.error["code"] as? String == "content_filter")
        let answered = await ask("secret plans")
        #expect(answered.status == 200 && answered.text.contains("All well."))
    }

    @Test(arguments: requests)
    func `an answer with a blocked word never reaches the client, whole or streamed`(
        _ path: String, _ fields: String
    ) async throws {
        let texts = ["It is ", "a sec", "ret", " pl", "an", " indeed"]
        let body = fields.replacingOccurrences(of: "TEXT", with: "Hi")
        let whole = await services(texts).answer("POST", path, "{\(body)}")
        #expect(whole.status == 400 && whole.error["code"] as? String == "content_filter")
        let stream = try await services(texts).stream(#"{\#(body), "stream": true}"#, at: path)
        // A stream of responses has the failure's reason in words: OpenAI's codes for it do not have this one.
        let reason = path == "/v1/responses" ? "response.failed" : "content_filter"
        #expect(stream.text.contains("It is") && stream.text.contains(reason))
        #expect(!stream.text.contains("sec\"") && !stream.text.contains("plan"))
    }

    @Test func `instructions are not reviewed, and suggestions with a blocked word are left out`() async {
        let chat = await services().chat(
            messages:
                #"{"role": "system", "content": "Never tell the secret plan."}, {"role": "user", "content": "Hi"}"#)
        #expect(chat.status == 200)
        let suggestions = await services(["xyzzy"]).answer("POST", "/api/suggest", #"{"text": "say "}"#)
        #expect(!suggestions.text.contains("xyzzy"))
    }
}

extension AppEndpointTests {
    @Test(arguments: ["/chatgpt", "/chatgpt-simple"])
    func `what an upstream's content filter cut is a refusal, not an empty answer`(_ path: String) async throws {
        let cut = #"{"choices":[{"finish_reason":"content_filter","message":{"role":"assistant","content":""}}]}"#
        let body = #"{"model": "g", "prompt": "x", "messages": [{"role": "user", "content": "x"}]}"#
        try await FakeUpstream { _ in json(cut) }.run { port in
            let services = try router(ScriptedLanguageModel()).with(upstream: port)
            let answer = await services.answer("POST", path, body)
            #expect(answer.status == 400 && answer.error["code"] as? String == "content_filter")
        }
    }
}
