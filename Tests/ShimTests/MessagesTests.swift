import Foundation
import Synchronization
import Template
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
        #expect(messages[1].toolCalls == [.init(id: "a", name: "weather", arguments: #"{"city":"York"}"#)])
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

    // MARK: Continuing

    @Test(arguments: ["/v1/messages", "/v1/messages/count_tokens"])
    func `a last assistant message is continued`(path: String) async throws {
        let engine = engine([#""a": 1}"#])
        let messages = #"""
            {"role": "user", "content": "JSON?"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": ""},
            {"type": "text", "text": "{"}]}
            """#
        let answer = await send(engine, body(messages: messages), path)
        #expect(answer.status == 200)
        #expect(engine.endings.withLock { $0 } == [.continuation])
        #expect(engine.rendered.withLock { $0[0].messages.last?.content } == "{")
        if path == "/v1/messages" { #expect(blocks(answer).first?["text"] as? String == #""a": 1}"#) }
    }

    @Test func `an empty last assistant message is none`() async throws {
        let engine = engine(["Hi"])
        let messages = #"{"role": "user", "content": "A"}, {"role": "assistant", "content": " "}"#
        #expect(await send(engine, body(messages: messages)).status == 200)
        #expect(engine.endings.withLock { $0 } == [.answer])
        #expect(engine.rendered.withLock { $0[0].messages } == [.user("A")])
    }

    // MARK: Options

    @Test func `the samplers, seed and salt of chats are taken`() async throws {
        let engine = engine(["Hi"])
        let fields = #"""
            "min_p": 0.1, "top_k": 7, "top_p": 0.5, "repetition_penalty": 1.5, "seed": 3, "typical_p": 0.75,
            "presence_penalty": 1, "logit_bias": {"5": 2}, "cache_salt": "s", "xtc_probability": 0.25,
            "stop_sequences": ["A"], "stop": "B", "thinking_budget": 5
            """#
        #expect(await send(engine, body(fields)).status == 200)
        let options = try #require(engine.asked.withLock { $0.first?.options })
        #expect(options.minP == 0.1 && options.topK == 7 && options.topP == 0.5 && options.repetitionPenalty == 1.5)
        #expect(options.seed == 3 && options.typicalP == 0.75 && options.presencePenalty == 1)
        #expect(options.logitBias == [5: 2] && options.xtc?.probability == 0.25)
        #expect(options.cacheSalt?.hasSuffix("s") == true)
        #expect(Set(options.stop) == ["A", "B"] && options.maximumTokens == 50)
    }

    @Test func `a server of one model needs no name`() async {
        let answer = await send(
            engine(["Hi"]), #"{"max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}"#)
        #expect(answer.status == 200 && answer.json["model"] as? String == "Test-Q4")
    }

    // MARK: Documents, search results and deferred tools

    @Test func `documents and search results are text`() async throws {
        let engine = engine(["Hi"])
        let messages = #"""
            {"role": "user", "content": [
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grass"}, "title": "T",
             "context": "C", "citations": {"enabled": false}},
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "One"}]}},
            {"type": "document", "source": {"type": "content", "content": "Two"}, "title": null},
            {"type": "search_result", "source": "https://a.example", "title": "S",
             "content": [{"type": "text", "text": "Found"}]}, {"type": "text", "text": "Why?", "citations": null}]},
            {"role": "assistant", "content": [{"type": "text", "text": "So.", "citations": [{"type": "x"}]},
            {"type": "tool_use", "id": "a", "name": "weather", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "search_result", "source": "s", "title": "S", "content": [{"type": "text", "text": "wet"}]}]}]}
            """#
        let answer = await send(engine, body(Self.tools, messages: messages))
        #expect(answer.status == 200)
        let seen = try #require(engine.rendered.withLock { $0.last?.messages })
        #expect(
            seen[0].content == """
                <document>
                <title>T</title>
                <context>C</context>
                Grass
                </document>
                <document>
                One
                </document>
                <document>
                Two
                </document>
                <search_result>
                <source>https://a.example</source>
                <title>S</title>
                Found
                </search_result>
                Why?
                """)
        #expect(seen[2].content == "<search_result>\n<source>s</source>\n<title>S</title>\nwet\n</search_result>")
    }

    private static let deferred = """
        "tools": [{"name": "find", "input_schema": {"type": "object"}},
        {"name": "weather", "defer_loading": true, "input_schema": {"type": "object"}}]
        """

    @Test func `a deferred tool is offered once a result refers to it`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: [ToolTests.call], dialect: toolDialect))
        let unseen = await send(engine, body(Self.deferred))
        #expect(unseen.json["stop_reason"] as? String == "end_turn")
        #expect(engine.rendered.withLock { $0[0].variables["tools"]?.json.contains("weather") } == false)
        let messages = #"""
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "find", "input": {}}]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "weather"}]}]}
            """#
        let answer = await send(engine, body(Self.deferred, messages: messages))
        #expect(answer.json["stop_reason"] as? String == "tool_use")
        #expect(engine.rendered.withLock { $0[1].variables["tools"]?.json.contains("weather") } == true)
        #expect(engine.rendered.withLock { $0[1].messages[2].content } == "The tool weather can be called now.")
    }

    @Test(arguments: [
        (
            #"{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ""}}"#,
            "source.type"
        ),
        (
            #"{"type": "document", "source": {"type": "text", "data": "x"}, "citations": {"enabled": true}}"#,
            "citations"
        ),
        (#"{"type": "document", "source": {"type": "text"}}"#, "source.data"),
        (#"{"type": "document"}"#, "source"),
        (
            #"{"type": "document", "source": {"type": "content", "content": [{"type": "tool_use"}]}}"#,
            "source.content[0].type"
        ),
        (#"{"type": "search_result", "source": "s", "content": []}"#, "title"),
        (#"{"type": "search_result", "title": "s", "content": []}"#, "source"),
        (#"{"type": "tool_reference", "tool_name": "weather"}"#, "type"),
        (
            #"{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "no"}]}"#,
            "content[0].tool_name"
        ),
        (#"{"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}}"#, "type"),
    ])
    func `a block that cannot be read is an error that names it`(block: String, field: String) async {
        let answer = await send(engine(["Hi"]), body(messages: #"{"role": "user", "content": [\#(block)]}"#))
        #expect(answer.status == 400)
        let message = answer.error["message"] as? String ?? ""
        #expect(message.contains("messages[0].content[0].\(field)"), "\(message)")
    }

    @Test(arguments: [
        (#""tools": [{"name": "a", "defer_loading": true, "input_schema": {}}]"#, "", "tools:"),
        (#""n": 2"#, "", "n:"), (#""temperature": 1.5"#, "", "temperature:"), (#""min_p": 2"#, "", "min_p:"),
        (#""bad_words": ["a"]"#, "", "bad_words:"), (#""stop_sequences": [""]"#, "", "stop_sequences:"),
        (#""stop_sequences": "# + (0...64).map(\.description).description, "", "stop_sequences:"),
        (
            #""output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}"#,
            #", {"role": "assistant", "content": "{"}"#, "output_config.format.schema:"
        ),
        (
            "", #", {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": ""}]}"#,
            "messages[1].content:"
        ),
    ])
    func `options that cannot be served are refused by name`(fields: String, more: String, field: String) async {
        let answer = await send(
            engine(["Hi"]), body(fields, messages: #"{"role": "user", "content": "Hi"}"# + more))
        #expect(answer.status == 400)
        let message = answer.error["message"] as? String ?? ""
        #expect(message.hasPrefix(field), "\(message)")
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
