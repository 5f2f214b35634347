import Foundation
import HTTP
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// Who answers what both could, or only one.
@Suite(.timeLimit(.minutes(5))) struct EngineTests {
    private let configured = ["--upstream-model", "big", "--upstream-when", "busy,too-long"]

    private func failing(_ error: LocalModelError) -> Services {
        router(ScriptedLanguageModel(.init(texts: [], error: error)))
    }

    private func ask(
        _ local: Services, _ fake: FakeUpstream, _ arguments: [String], _ request: String
    ) async throws -> SocketReply {
        try await fake.run { port in
            var router = local
            router.upstream = try Upstream(upstreamOptions(port: port, arguments), timeLimit: .seconds(60))
            return try await throughDoor(router, request)
        }
    }

    @Test(arguments: [
        (LocalModelError.queueFull(limit: 1), 429),
        (LocalModelError.contextSizeExceeded(contextSize: 8, tokenCount: 9), 400),
    ])
    func `busy and too long go upstream where that is wanted`(_ error: LocalModelError, _ status: Int) async throws {
        for fields in ["", #""stream":true,"seed":9007199254740993,"timings_per_token":true"#] {
            let fake = FakeUpstream { request in
                String(decoding: request.body.bytes ?? [], as: UTF8.self).contains("stream")
                    ? events(["data: {}\n\ndata: [DONE]\n\n"]) : json(completion)
            }
            let request = chatRequest(chatBody(fields))
            let reply = try await ask(failing(error), fake, configured, request)
            #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
            let body = String(decoding: fake.last?.body.bytes ?? [], as: UTF8.self)
            #expect(
                body.contains(#""model":"big""#) && !body.contains("Test-Q4") && !body.contains("timings_per_token"))
            #expect(body.contains("9007199254740993") == !fields.isEmpty)
            let unwanted = try await ask(failing(error), fake, ["--upstream-model", "big"], request)
            #expect(unwanted.status == status && unwanted.header("x-engine") == "local")
            #expect(fake.count == 1)
        }
    }

    @Test func `where the upstream is no help, the client hears what is wrong here`() async throws {
        let fake = FakeUpstream { _ in .text("no", status: 500) }
        let reply = try await ask(failing(.queueFull(limit: 1)), fake, configured, chatRequest(chatBody()))
        #expect(reply.status == 429 && reply.header("x-engine") == "local" && reply.errorCode == "rate_limit_exceeded")
        #expect(fake.count == 1)
    }

    @Test func `a full server is ready while its upstream takes over`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let full = router(ScriptedLanguageModel(.init(isFull: true)))
        for (options, status) in [(configured, 200), (["--upstream-model", "big"], 503)] {
            let request = "GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            #expect(try await ask(full, fake, options, request).status == status)
        }
        #expect(fake.count == 0)
    }

    @Test func `other errors, other endpoints and begun conversations stay here`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let template = try await ask(failing(.templateFailed("no")), fake, configured, chatRequest(chatBody()))
        #expect(template.status == 400)
        for request in [
            post("/v1/completions", #"{"model":"Test-Q4","prompt":"x"}"#),
            post("/v1/responses", #"{"model":"Test-Q4","input":"x","previous_response_id":"resp_1"}"#),
        ] {
            let reply = try await ask(failing(.queueFull(limit: 1)), fake, configured, request)
            #expect(reply.status >= 400 && reply.header("x-engine") == "local")
        }
        #expect(fake.count == 0)
    }

    private let image = #"""
        {"model":"Test-Q4","messages":[{"role":"user","content":[
            {"type":"text","text":"?"},{"type":"image_url","image_url":{"url":"http://127.0.0.1:1/x.png"}}]}]}
        """#

    @Test func `images go upstream, untouched`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let local = router(ScriptedLanguageModel())
        let reply = try await ask(local, fake, ["--upstream-model", "big"], chatRequest(image))
        #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
        let body = String(decoding: fake.last?.body.bytes ?? [], as: UTF8.self)
        #expect(body.contains("http://127.0.0.1:1/x.png") && body.contains(#""model":"big""#))
        let own = chatRequest(image.replacingOccurrences(of: "Test-Q4", with: "imageReader"))
        #expect(try await ask(local, fake, [], own).header("x-engine") == "upstream")
        let nameless = try await ask(local, fake, [], chatRequest(image))
        #expect(nameless.status == 400 && nameless.body.contains("--upstream-model"))
        let input = #"{"model":"Test-Q4","input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]}"#
        let responses = FakeUpstream { _ in json(#"{"output":[]}"#) }
        #expect(try await ask(local, responses, configured, post("/v1/responses", input)).status == 200)
    }

    @Test func `without an upstream, images are refused with the option that would change it`() async throws {
        let reply = try await throughDoor(router(ScriptedLanguageModel()), chatRequest(image))
        #expect(reply.status == 400 && reply.errorCode == "unsupported_parameter")
        #expect(reply.body.contains("--upstream") && reply.body.contains("messages[0].content[1].type"))
    }

    @Test func `a body that is no request is refused before anyone is asked`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        for body in ["", "{", "[]", #"{"model":7}"#, #"{"model":"g","stream":"yes"}"#] {
            let reply = try await ask(router(ScriptedLanguageModel()), fake, configured, chatRequest(body))
            #expect(reply.status == 400)
        }
        #expect(fake.count == 0)
    }

    @Test func `suggestions say that they are from here`() async throws {
        let reply = try await throughDoor(router(ScriptedLanguageModel()), post("/api/suggest", #"{"text":"Well"}"#))
        #expect(reply.status == 200 && reply.header("x-engine") == "local")
    }

    @Test func `pages may read who answered`() async throws {
        let services = router(ScriptedLanguageModel())
        let door = FrontDoor(keys: try apiKeys(), origins: .init(corsOrigins: ["https://a.example"])) {
            try await runHandler($0, services)
        }
        let request = chatRequest(chatBody()).replacingOccurrences(
            of: "Host:", with: "Origin: https://a.example\r\nHost:")
        let reply = SocketReply(try await withServer(door.respond) { try await exchange($0, request) })
        #expect(reply.header("x-engine") == "local")
        #expect(reply.header("Access-Control-Expose-Headers")?.contains("x-engine") == true)
    }
}
