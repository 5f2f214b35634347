import Foundation
import Glibc
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// Over a socket, where streams and hang-ups are.
@Suite(.timeLimit(.minutes(2))) struct LiveTests {
    @Test func `a streamed answer`() async throws {
        let stream = try await router(ScriptedLanguageModel()).stream(chatBody(#""stream": true"#))
        #expect(stream.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(stream.text.contains("Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n"))
        #expect(stream.text.contains("X-Accel-Buffering: no\r\n"))
        #expect(stream.text.hasSuffix("data: [DONE]\n\n\r\n0\r\n\r\n"))
        #expect(stream.events.count == 6)
        #expect(
            stream.deltas as? [[String: String]] == [
                ["role": "assistant", "content": ""], ["content": "Hello"], ["content": ","], ["content": " wörld"],
                [:],
            ])
        #expect(stream.choices.map { $0["finish_reason"] as? String } == [nil, nil, nil, nil, "stop"])
    }

    @Test func `22: a long prefill is bridged with comments`() async throws {
        let engine = ScriptedLanguageModel(.init(prefill: .seconds(1)))
        let stream = try await router(engine, pingInterval: .milliseconds(100)).stream(chatBody(#""stream": true"#))
        #expect(stream.deltas[0] as? [String: String] == ["role": "assistant", "content": ""])
        #expect(stream.events.last == "data: [DONE]")
        let first = try #require(stream.events.firstIndex { $0.contains("Hello") })
        #expect(stream.events[..<first].contains(": ping"))
    }

    @Test(arguments: ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
    func `a stream begins during prefill, before a ping is due`(_ path: String) async throws {
        let engine = ScriptedLanguageModel(.init(prefill: .seconds(3600)))
        let body =
            #"{"model":"Test-Q4","stream":true,"max_tokens":5,"#
            + (path == "/v1/responses" ? #""input":"Hi"}"# : #""messages":[{"role":"user","content":"Hi"}]}"#)
        var services = router(engine)
        services.firstPing = Services(models: services.models).firstPing
        try await withShim(services) { port in
            try await onThread {
                let client = try SocketClient(port: port)
                try client.send(post(path, body))
                #expect(try client.receive(until: ": ping").hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
        }
    }

    @Test(arguments: ["false", "true"], [Duration.seconds(60), .zero])
    func `20: a client that leaves ends the generation`(_ stream: String, _ prefill: Duration) async throws {
        let engine = ScriptedLanguageModel(
            .init(texts: Array(repeating: "x", count: 100_000), prefill: prefill, pause: .milliseconds(10)))
        try await withShim(router(engine)) { port in
            try await onThread {
                let client = try SocketClient(port: port)
                try client.send(chatRequest(chatBody(#""stream": \#(stream)"#)))
                usleep(200_000)
            }
            #expect(await engine.isCancelled(within: .seconds(20)))
        }
    }

    @Test func `what is no HTTP is answered with OpenAI's error body`() async throws {
        let text = try await withShim(router(ScriptedLanguageModel())) { try await exchange($0, "rubbish\r\n") }
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        let body = text.components(separatedBy: "\r\n\r\n").last ?? ""
        let error = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: [String: Any]]
        #expect(error?["error"]?["type"] as? String == "invalid_request_error")
    }

    @Test(arguments: [true, false])
    func `7: a server that stops says so to those whose time is over`(_ isStream: Bool) async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["Hello", " never"], pause: .seconds(600)))
        let server = try await Server.start(
            .init(host: "127.0.0.1", port: 0, errorResponse: errorResponse), handler: router(engine).respond)
        let client = try SocketClient(port: server.port)
        try client.send(chatRequest(chatBody(#""stream": \#(isStream)"#)))
        var text = isStream ? try await onThread { try client.receive(until: "Hello") } : ""
        while engine.asked.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(5)) }
        await server.stop(within: .zero)
        text += try await onThread { try client.receiveAll() }
        #expect(text.contains("shutting_down"))
        #expect(text.hasPrefix(isStream ? "HTTP/1.1 200 " : "HTTP/1.1 503 "))
    }

    @Test func `a server that stops is not ready, which an open connection can still see`() async throws {
        var limits = Limits()
        limits.lastRequest = .seconds(60)
        let engine = ScriptedLanguageModel(.init(texts: ["Hello", " there"], pause: .seconds(1)))
        let server = try await Server.start(
            .init(host: "127.0.0.1", port: 0, limits: limits, errorResponse: errorResponse),
            handler: router(engine).respond)
        let port = server.port
        let ready = "GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"
        let (running, open) = try await onThread {
            let (running, open) = (try SocketClient(port: port), try SocketClient(port: port))
            try running.send(chatRequest(chatBody(#""stream": true"#)))
            _ = try running.receive(until: "Hello")
            try open.send(ready)
            #expect(try open.receive(until: "}").hasPrefix("HTTP/1.1 200 "))
            return (running, open)
        }
        async let stopped: Void = server.stop(within: .seconds(60))
        let (rest, answer) = try await onThread {
            while (try? SocketClient(port: port)) != nil { usleep(10_000) }
            try open.send(ready)
            return (try running.receiveAll(), try open.receiveAll())
        }
        #expect(rest.contains(" there") && rest.contains("[DONE]"))
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.contains("\r\nConnection: close\r\n"))
        #expect(answer.hasSuffix(#"{"status":"stopping"}"#))
        await stopped
    }

    @Test func `no CORS headers, whoever asks`() async throws {
        let text = try await withShim(router(ScriptedLanguageModel())) {
            try await exchange(
                $0, "GET /v1/models HTTP/1.1\r\nHost: a\r\nOrigin: https://example.org\r\nConnection: close\r\n\r\n")
        }
        #expect(text.hasPrefix("HTTP/1.1 200"))
        #expect(!text.contains("Access-Control"))
    }
}
