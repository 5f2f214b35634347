import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// Over a socket, where streams and hang-ups are.
@Suite(.timeLimit(.minutes(2))) struct LiveTests {
    /// The events of a streamed answer: the text after `data: ` in each, and comments.
    private func events(_ response: String) -> [String] {
        // Each write is one chunk and one event.
        response.components(separatedBy: "\r\n").filter { $0.hasPrefix("data: ") || $0.hasPrefix(":") }
            .map { $0.trimmingCharacters(in: .newlines) }
    }

    private func json(_ event: String) -> [String: Any] {
        let object = try? JSONSerialization.jsonObject(with: Data(event.dropFirst(6).utf8))
        return object as? [String: Any] ?? [:]
    }

    private func choice(_ event: String) -> [String: Any] { (json(event)["choices"] as? [[String: Any]])?.first ?? [:] }

    @Test func `a streamed answer`() async throws {
        let text = try await withShim(router(ScriptedEngine())) {
            try await exchange($0, chatRequest(chatBody(#""stream": true"#)))
        }
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.contains("Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n"))
        #expect(text.hasSuffix("data: [DONE]\n\n\r\n0\r\n\r\n"))
        let events = events(text)
        #expect(events.count == 6)
        #expect(events.last == "data: [DONE]")
        let chunks = events.dropLast()
        #expect(Set(chunks.map { json($0)["id"] as? String }).count == 1)
        #expect(Set(chunks.map { json($0)["created"] as? Int }).count == 1)
        #expect(chunks.allSatisfy { json($0)["usage"] == nil })
        let deltas = chunks.map { choice($0)["delta"] as? [String: String] }
        #expect(
            deltas == [
                ["role": "assistant", "content": ""], ["content": "Hello"], ["content": ", "], ["content": "wörld"],
                [:],
            ])
        #expect(chunks.map { choice($0)["finish_reason"] as? String } == [nil, nil, nil, nil, "stop"])
    }

    @Test func `usage comes only where it is asked for`() async throws {
        let text = try await withShim(router(ScriptedEngine())) {
            try await exchange($0, chatRequest(chatBody(#""stream": true, "stream_options": {"include_usage": true}"#)))
        }
        let events = events(text).dropLast()
        #expect(events.dropLast().allSatisfy { json($0)["usage"] is NSNull })
        let last = json(events.last ?? "")
        #expect((last["choices"] as? [Any])?.isEmpty == true)
        #expect((last["usage"] as? [String: Int])?["total_tokens"] == 10)
    }

    @Test func `a long prefill is bridged with comments`() async throws {
        let engine = ScriptedEngine(.init(prefill: .seconds(1)))
        let text = try await withShim(router(engine, pingInterval: .milliseconds(100))) {
            try await exchange($0, chatRequest(chatBody(#""stream": true"#)))
        }
        let events = events(text)
        #expect(choice(events[0])["delta"] as? [String: String] == ["role": "assistant", "content": ""])
        #expect(events.last == "data: [DONE]")
        let first = try #require(events.firstIndex { $0.contains("Hello") })
        #expect(events[..<first].contains(": ping"))
    }

    @Test func `an error in the middle of a stream is its last event`() async throws {
        let engine = ScriptedEngine(.init(error: .shutDown))
        let text = try await withShim(router(engine)) {
            try await exchange($0, chatRequest(chatBody(#""stream": true"#)))
        }
        let events = events(text)
        #expect(!events.contains("data: [DONE]"))
        let error = try #require(json(events.last ?? "")["error"] as? [String: Any])
        #expect(Set(error.keys) == ["message", "type", "param", "code"])
        #expect(error["code"] as? String == "shutting_down")
    }

    @Test(arguments: ["false", "true"], [Duration.seconds(60), .zero])
    func `a client that leaves ends the generation`(_ stream: String, _ prefill: Duration) async throws {
        let engine = ScriptedEngine(
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
        let text = try await withShim(router(ScriptedEngine())) { try await exchange($0, "rubbish\r\n") }
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        let body = text.components(separatedBy: "\r\n\r\n").last ?? ""
        let error = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: [String: Any]]
        #expect(error?["error"]?["type"] as? String == "invalid_request_error")
    }

    @Test func `no CORS headers, whoever asks`() async throws {
        let text = try await withShim(router(ScriptedEngine())) {
            try await exchange(
                $0, "GET /v1/models HTTP/1.1\r\nHost: a\r\nOrigin: https://example.org\r\nConnection: close\r\n\r\n")
        }
        #expect(text.hasPrefix("HTTP/1.1 200"))
        #expect(!text.contains("Access-Control"))
    }
}
