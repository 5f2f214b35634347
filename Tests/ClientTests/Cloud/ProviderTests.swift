import Foundation
import HTTP
import FoundationModels
import LocalLLM
import Testing

@testable import Client

@Suite("Providers")
struct ProviderTests {
    private static func chunk(_ delta: String, _ reason: String = "null") -> String {
        #"{"choices":[{"index":0,"delta":{\#(delta)},"finish_reason":\#(reason)}]}"#
    }

    private static func answer(_ text: String) -> Response {
        .events([
            chunk(#""content":"\#(text)""#, #""stop""#),
            #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#, "[DONE]",
        ])
    }

    private func sent(_ request: Request?) throws -> [[String: Any]] {
        let request = try #require(request)
        let body = try JSONSerialization.jsonObject(with: Data(request.body.bytes ?? [])) as? [String: Any]
        return try #require(body?["messages"] as? [[String: Any]])
    }

    private struct Weather: Tool {
        let name = "get_weather"
        let description = "The weather in a city."
        let parameters = GenerationSchema(
            type: GeneratedContent.self, properties: [.init(name: "city", type: String.self)])

        func call(arguments: GeneratedContent) async throws -> String {
            "sunny in \(try arguments.value(String.self, forProperty: "city"))"
        }
    }

    @Test func `a session converses with a service and runs the tools that its model calls`() async throws {
        let requests = Record<Request>()
        try await withServer { request in
            requests.add(request)
            guard requests.all.count == 1 else { return Self.answer("It is sunny.") }
            let call =
                #""tool_calls":[{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]"#
            return .events([Self.chunk(call), Self.chunk("", #""tool_calls""#), "[DONE]"])
        } _: { (url: URL) async throws -> Void in
            let service = OpenAIChatService(baseURL: url, key: nil, model: "m")
            let session = LanguageModelSession(provider: service, tools: [Weather()])
            let answer = try await session.respond(to: "Weather in Oslo?")
            #expect(answer.content == "It is sunny." && answer.usage.output.totalTokenCount == 2)
            #expect(session.transcript.count == 4)
        }
        let messages = try sent(requests.all.last)
        #expect(messages.map { $0["role"] as? String } == ["user", "assistant", "tool"])
        #expect(messages.last?["content"] as? String == "sunny in Oslo")
    }

    @Test func `a session with a service of messages streams`() async throws {
        let requests = Record<Request>()
        let events = [
            #"{"type":"message_start","message":{"usage":{"input_tokens":3}}}"#,
            #"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
            #"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}"#,
            #"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
            #"{"type":"message_stop"}"#,
        ]
        try await withServer { request in
            requests.add(request)
            return .events(events)
        } _: { (url: URL) async throws -> Void in
            let service = AnthropicChatService(baseURL: url, key: "abc", model: "m")
            let session = LanguageModelSession(provider: service, instructions: "Be brief.")
            var texts: [String] = []
            for try await snapshot in session.streamResponse(to: "Hi") { texts.append(snapshot.content) }
            #expect(texts.last == "Hello")
            #expect(session.transcript.count == 3)
        }
        let request = try #require(requests.all.first)
        #expect(request.target == "/v1/messages" && request.headers["x-api-key"] == "abc")
        #expect(String(decoding: request.body.bytes ?? [], as: UTF8.self).contains(#""system":"Be brief.""#))
    }

    @Test(arguments: [
        #"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
        #"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
    ])
    func `a conversation too long for a service goes on without its older half`(_ refusal: String) async throws {
        let requests = Record<Request>()
        try await withServer { request in
            requests.add(request)
            let messages = try sent(request)
            guard messages.count > 3 else { return Self.answer("ok") }
            return Response(
                status: 400, headers: ["Content-Type": "application/json"], body: .bytes(Array(refusal.utf8)))
        } _: { (url: URL) async throws -> Void in
            let session = LanguageModelSession(provider: OpenAIChatService(baseURL: url, key: nil, model: "m"))
            for question in ["one", "two", "three"] { _ = try await session.respond(to: question) }
            #expect(session.transcript.omissions.flatMap(\.entryIDs).count == 2)
            session.contextOverflowPolicy = .fail
            await #expect(throws: LanguageModelError.self) { try await session.respond(to: "four") }
        }
        let questions = try sent(requests.all.last).compactMap { $0["content"] as? String }
        #expect(questions == ["two", "ok", "three", "ok", "four"])
    }

    @Test func `a provider in need is asked in place of one that fails`() async throws {
        try await withServer { _ in
            Self.answer("second")
        } _: { (url: URL) async throws -> Void in
            let absent = OpenAIChatService(
                baseURL: URL(string: "http://127.0.0.1:1")!, key: nil, model: "m", patience: .seconds(1))
            let present = OpenAIChatService(baseURL: url, key: nil, model: "m")
            let session = LanguageModelSession(provider: FallbackProvider(absent, present))
            let answer = try await session.respond(to: "Hi")
            #expect(answer.content == "second")
        }
    }
}
