import Foundation
import Synchronization
import Testing

@testable import LocalLLM
@testable import Shim

/// Anthropic's API.
@Suite struct MessagesTests {
    private static let tools = """
        "tools": [{"name": "weather", "description": "Tells.", "input_schema": {"type": "object", "properties": {}}}]
        """

    private func engine(_ texts: [String]) -> ScriptedLanguageModel {
        ScriptedLanguageModel(.init(texts: texts, dialect: toolDialect))
    }

    private func body(_ fields: String = "", messages: String = #"{"role": "user", "content": "Hi"}"#) -> String {
        #"{"model": "Test-Q4", "max_tokens": 50, "messages": [\#(messages)]\#(fields.isEmpty ? "" : ", " + fields)}"#
    }

    private func send(_ engine: ScriptedLanguageModel, _ body: String, _ path: String = "/v1/messages") async -> Answer
    {
        await router(engine).answer("POST", path, body)
    }

    private func blocks(_ answer: Answer) -> [[String: Any]] { answer.json["content"] as? [[String: Any]] ?? [] }

    @Test func `an answer has text, a reason and what it cost`() async {
        let answer = await send(engine(["Hello", " there"]), body(#""system": "Be brief.""#))
        #expect(answer.status == 200)
        #expect(answer.json["type"] as? String == "message")
        #expect(answer.json["role"] as? String == "assistant")
        #expect(blocks(answer).first?["text"] as? String == "Hello there")
        #expect(answer.json["stop_reason"] as? String == "end_turn")
        #expect(answer.usage["output_tokens"] as? Int ?? 0 > 0)
        #expect(answer.usage["input_tokens"] as? Int ?? 0 > 0)
    }

    @Test func `thoughts and calls are blocks of their own`() async {
        let answer = await send(engine(["<think>Hm</think>So: ", ToolTests.call]), body(Self.tools))
        #expect(blocks(answer).map { $0["type"] as? String } == ["thinking", "text", "tool_use"])
        #expect(blocks(answer).first?["thinking"] as? String == "Hm")
        #expect(blocks(answer).last?["input"] as? [String: String] == ["city": "York"])
        #expect(answer.json["stop_reason"] as? String == "tool_use")
    }

    @Test func `calls and results of earlier turns reach the template`() async throws {
        let engine = engine(["Hi"])
        let answer = await send(
            engine,
            body(
                Self.tools,
                messages: #"""
                    {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": ""}, {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "York"}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "wet"},
                    {"type": "text", "text": "And?"}]}
                    """#))
        #expect(answer.status == 200)
        let messages = try #require(engine.rendered.withLock { $0.last?.messages })
        #expect(messages.map(\.role) == [.user, .assistant, .tool, .user])
        #expect(messages[1].toolCalls == [.init(id: "a", name: "weather", arguments: #"{"city": "York"}"#)])
        #expect(messages[1].reasoning == "Hm")
        #expect((messages[2].content, messages[2].name) == ("wet", "weather"))
    }

    @Test(arguments: ["/v1/messages", "/v1/messages/count_tokens"])
    func `system messages stand where the client put them, as text or blocks`(path: String) async throws {
        let engine = engine(["Hi"])
        let answer = await send(
            engine,
            body(
                #""system": "A""#,
                messages: #"""
                    {"role": "user", "content": "b"}, {"role": "system", "content": "C"},
                    {"role": "assistant", "content": "d"},
                    {"role": "system", "content": [{"type": "text", "text": "E"}, {"type": "text", "text": "F",
                    "cache_control": {"type": "ephemeral"}}]}, {"role": "user", "content": "g"}
                    """#), path)
        #expect(answer.status == 200)
        let messages = engine.rendered.withLock { $0.last?.messages }
        #expect(
            messages == [.system("A"), .user("b"), .system("C"), .assistant("d"), .system("E\nF"), .user("g")])
    }

    @Test(arguments: [
        #""system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}, {"type": "text", "text": "A"}]"#,
        #""system": [{"type": "text", "text": "x-anthropic-billing-header: cch=2;\nA"}]"#,
        #""system": "x-anthropic-billing-header: cch=3;\nA""#,
    ])
    func `the billing header of a client is no part of the prompt`(fields: String) async {
        let engine = engine(["Hi"])
        #expect(await send(engine, body(fields)).status == 200)
        #expect(engine.rendered.withLock { $0.last?.messages } == [.system("A"), .user("Hi")])
    }

    @Test func `instructions that are only a billing header are none`() async {
        let engine = engine(["Hi"])
        #expect(await send(engine, body(#""system": "x-anthropic-billing-header: cch=3;""#)).status == 200)
        #expect(engine.rendered.withLock { $0.last?.messages } == [.user("Hi")])
    }

    @Test func `a stream tells each block in order`() async throws {
        let texts = ["So: "] + ToolTests.call.map(String.init)
        let events = try await router(engine(texts)).stream(
            body(Self.tools + #", "stream": true"#), at: "/v1/messages"
        ).chunks
        let types = events.compactMap { $0["type"] as? String }
        #expect(types.first == "message_start")
        #expect(Array(types.suffix(3)) == ["content_block_stop", "message_delta", "message_stop"])
        let json = events.compactMap { ($0["delta"] as? [String: Any])?["partial_json"] as? String }.joined()
        #expect(json == #"{"city": "York"}"#)
        let delta = events.last { $0["type"] as? String == "message_delta" }?["delta"] as? [String: Any]
        #expect(delta?["stop_reason"] as? String == "tool_use")
    }

    @Test func `tokens are counted without an answer`() async {
        let answer = await send(engine(["Hi"]), body(), "/v1/messages/count_tokens")
        #expect(answer.json["input_tokens"] as? Int ?? 0 > 0)
    }

    @Test(arguments: [
        (
            #"{"model": "Test-Q4", "messages": [{"role": "user", "content": "Hi"}]}"#, 400, "invalid_request_error",
            "max_tokens"
        ),
        (
            #"{"model": "no", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}"#, 404,
            "not_found_error", "no"
        ),
        (
            #"{"model": "Test-Q4", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]}"#,
            400,
            "invalid_request_error", "messages[0].content[0].type"
        ),
        (
            #"{"model": "Test-Q4", "max_tokens": 1, "messages": [{"role": "wizard", "content": "Hi"}]}"#, 400,
            "invalid_request_error", "messages[0].role: expected user, assistant or system, found \"wizard\""
        ),
        (
            #"{"model": "Test-Q4", "max_tokens": 1, "messages": [{"role": "system", "content": [{"type": "tool_use"}]}]}"#,
            400, "invalid_request_error", "messages[0].content[0].type"
        ),
        ("{", 400, "invalid_request_error", "JSON"),
    ])
    func `errors are in the API's own form`(body: String, status: Int, type: String, word: String) async {
        let answer = await send(engine(["Hi"]), body)
        #expect(answer.status == status)
        #expect(answer.json["type"] as? String == "error")
        #expect(answer.error["type"] as? String == type)
        #expect((answer.error["message"] as? String)?.contains(word) == true)
    }
}
