import HTTP
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// Answers from a model that is not in memory yet.
@Suite(.timeLimit(.minutes(2))) struct LoadingTests {
    private let directory: TemporaryDirectory
    private let machine: FakeMachine

    init() throws {
        directory = try TemporaryDirectory()
        _ = try TinyModel().write(in: directory, as: "a.gguf")
        machine = FakeMachine(memory: FakeMachine.bytes)
    }

    private func router(pingInterval: Duration = .milliseconds(50)) -> Services {
        Services(
            models: ModelStore(ModelCatalog(directory: directory.url), tools: machine.tools), pingInterval: pingInterval
        )
    }

    private static let paths = ["/v1/chat/completions", "/v1/completions", "/v1/responses"]

    private func body(_ path: String, _ fields: String = #""stream": true"#, model: String = "a") -> String {
        let prompt =
            switch path {
            case "/v1/chat/completions": #""messages": [{"role": "user", "content": "Hi"}]"#
            case "/v1/completions": #""prompt": "Hi""#
            default: #""input": "Hi""#
            }
        return #"{"model": "\#(model)", \#(prompt), \#(fields)}"#
    }

    /// A stream whose client sees two comments before `finish` lets the model's loading end.
    private func stream(_ path: String, _ finish: @escaping @Sendable () -> Void) async throws -> EventStream {
        machine.open(false)
        return try await withShim(router()) { port in
            EventStream(
                try await onThread { [request = post(path, body(path))] in
                    let client = try SocketClient(port: port)
                    try client.send(request)
                    let beginning = try client.receive(until: ": ping") + client.receive(until: ": ping")
                    finish()
                    return try beginning + client.receiveAll()
                })
        }
    }

    @Test(arguments: paths)
    func `22: loading is bridged with comments`(_ path: String) async throws {
        let stream = try await stream(path) { [machine] in machine.open(true) }
        #expect(stream.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(stream.text.contains("Content-Type: text/event-stream\r\n"))
        #expect(stream.events[..<2] == [": ping", ": ping"])
        #expect(stream.text.contains("wörld"))
        #expect(stream.error == nil)
    }

    @Test(arguments: paths)
    func `7: loading that fails is the stream's last event, with the error that it has elsewhere`(
        _ path: String
    ) async throws {
        let stream = try await stream(path) { [machine] in
            machine.fail(with: LocalModelError.noTokenizer("none in the file"))
            machine.open(true)
        }
        #expect(stream.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        let last = stream.chunks.last ?? [:]
        let error = path == "/v1/responses" ? last : stream.error ?? [:]
        #expect(error["code"] as? String == "no_tokenizer")
        #expect(error["message"] as? String == "none in the file")
        #expect(error["param"] != nil)
        if path == "/v1/responses" {
            #expect(last["type"] as? String == "error" && last["sequence_number"] as? Int == 0)
        }
        #expect(!stream.events.contains("data: [DONE]"))
    }

    @Test(arguments: paths)
    func `5: what is known before loading takes long is a status`(_ path: String) async throws {
        let router = router(pingInterval: .seconds(600))
        let unknown = await router.answer("POST", path, body(path, model: "b"))
        #expect(unknown.status == 404 && unknown.error["code"] as? String == "model_not_found")
        #expect(await router.answer("POST", path, body(path, #""stream": true, "temperature": 9"#)).status == 400)
        _ = try TinyModel().write(in: directory, as: "b.gguf")
        let lease = try await router.models.lease(for: "b")
        let full = await router.answer("POST", path, body(path))
        #expect(full.status == 503 && full.error["code"] as? String == "insufficient_memory")
        withExtendedLifetime(lease) {}
    }

    @Test func `20: a client that leaves while the model is loaded asks it for nothing`() async throws {
        machine.open(false)
        let router = router()
        try await withShim(router) { port in
            try await onThread { [request = post(Self.paths[0], body(Self.paths[0]))] in
                let client = try SocketClient(port: port)
                try client.send(request)
                _ = try client.receive(until: ": ping")
            }
            #expect(await eventually { router.metrics.values.requests.values.contains(1) })
        }
        machine.open(true)
        #expect(await eventually { (try? router.models.model(named: "a").idleSince) != nil })
        #expect(router.metrics.values.models.values.allSatisfy { $0.promptTokens == 0 })
    }
}
