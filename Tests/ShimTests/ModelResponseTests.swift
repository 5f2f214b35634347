import Foundation
import HTTP
import JSON
import Synchronization
import Template
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// Line 28 of what clients depend on: `/v1/responses`.
@Suite(.timeLimit(.minutes(2))) struct ModelResponseTests {
    private func body(_ fields: String) -> String { #"{"model": "Test-Q4", \#(fields)}"# }

    private func respond(_ router: Services, _ fields: String) async -> Answer {
        await router.answer("POST", "/v1/responses", body(fields))
    }

    /// The text of a response's item, and its type.
    private func items(_ response: [String: Any]) -> [[String]] {
        (response["output"] as? [[String: Any]] ?? []).map { item in
            let parts = item["content"] as? [[String: Any]] ?? []
            return [item["type"] as? String ?? "", parts.compactMap { $0["text"] as? String }.joined()]
        }
    }

    @Test func `28: a response to a string`() async {
        let engine = ScriptedLanguageModel(.init(cachedTokens: 2))
        let answer = await respond(
            router(engine),
            #""input": "Hi", "instructions": "Be brief.", "metadata": {"a": "b"}, "temperature": 0.5, "max_output_tokens": 9"#
        )
        #expect(answer.status == 200)
        #expect(answer.json["object"] as? String == "response")
        #expect((answer.json["id"] as? String)?.hasPrefix("resp_") == true)
        #expect(answer.json["status"] as? String == "completed")
        #expect(items(answer.json) == [["message", "Hello, wörld"]])
        for name in ["error", "incomplete_details", "previous_response_id", "max_tool_calls"] {
            #expect(answer.json[name] is NSNull)
        }
        #expect(answer.json["metadata"] as? [String: String] == ["a": "b"])
        #expect(answer.json["temperature"] as? Double == 0.5)
        #expect(answer.usage["input_tokens"] as? Int == 7)
        #expect(
            answer.usage["input_tokens_details"] as? [String: Int] == ["cached_tokens": 2, "cache_write_tokens": 5])
        #expect(answer.usage["output_tokens_details"] as? [String: Int] == ["reasoning_tokens": 0])
        #expect(engine.rendered.withLock { $0[0].messages } == [.system("Be brief."), .user("Hi")])
        #expect(engine.asked.withLock { $0[0].options.maximumTokens } == 9)
    }

    @Test func `28: a response that was cut short is incomplete, and says why`() async {
        let answer = await respond(router(ScriptedLanguageModel(.init(reason: .length))), #""input": "Hi""#)
        #expect(answer.json["status"] as? String == "incomplete")
        #expect(answer.json["incomplete_details"] as? [String: String] == ["reason": "max_output_tokens"])
        #expect((answer.json["output"] as? [[String: Any]])?.first?["status"] as? String == "incomplete")
    }

    @Test func `28: items of every form, and output given back as input`() async {
        let engine = ScriptedLanguageModel()
        let answer = await respond(
            router(engine),
            """
            "input": [{"role": "developer", "content": "A"},
              {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "b"}]},
              {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
              {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
               "content": [{"type": "output_text", "text": "c", "annotations": []}, {"type": "refusal", "refusal": "!"}]},
              {"role": "user", "content": "d"}]
            """)
        #expect(answer.status == 200)
        #expect(
            engine.rendered.withLock { $0[0].messages } == [
                .system("A"), .user("b"), ChatMessage(role: .assistant, content: "c\n!", reasoning: "Hm"), .user("d"),
            ])
    }

    @Test func `28: the events of a stream, in order and numbered`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["<think>", "Hm", "</think>", "Yes", "."]))
        let stream = try await router(engine).stream(body(#""input": "Hi", "stream": true"#), at: "/v1/responses")
        let events = stream.chunks
        #expect(
            events.map { ($0["type"] as? String ?? "").replacingOccurrences(of: "response.", with: "") } == [
                "created", "in_progress",
                "output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done",
                "content_part.done", "output_item.done",
                "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
                "output_text.done", "content_part.done", "output_item.done",
                "completed",
            ])
        #expect(events.map { $0["sequence_number"] as? Int } == Array(0..<events.count))
        #expect(stream.events.allSatisfy { $0.hasPrefix("event: response.") })
        #expect(!stream.text.contains("[DONE]"))
        #expect(events[2...7].allSatisfy { $0["output_index"] as? Int == 0 })
        #expect(events[8...14].allSatisfy { $0["output_index"] as? Int == 1 })
        #expect(events[12]["text"] as? String == "Yes.")
        #expect(events[10]["delta"] as? String == "Yes")
        let item = try #require(events[14]["item"] as? [String: Any])
        #expect(item["status"] as? String == "completed")
        #expect(Set(events[9...13].map { $0["item_id"] as? String }) == [item["id"] as? String])
        let begun = try #require(events[0]["response"] as? [String: Any])
        #expect(begun["status"] as? String == "in_progress")
        #expect(begun["usage"] == nil)
        let whole = try #require(events[15]["response"] as? [String: Any])
        #expect(whole["id"] as? String == begun["id"] as? String)
        #expect(items(whole) == [["reasoning", "Hm"], ["message", "Yes."]])
    }

    @Test func `28: where a summary is asked for, it is the thoughts, whole and as events`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["<think>", "Hm", "</think>", "Yes"]))
        let fields = #""input": "Hi", "reasoning": {"summary": "auto"}"#
        let answer = await respond(router(engine), fields)
        let output = answer.json["output"] as? [[String: Any]] ?? []
        let summary = output.first?["summary"] as? [[String: String]]
        #expect(summary == [["type": "summary_text", "text": "Hm"]])
        #expect(items(answer.json) == [["reasoning", "Hm"], ["message", "Yes"]])
        #expect((answer.json["reasoning"] as? [String: Any])?["summary"] as? String == "auto")
        let stream = try await router(engine).stream(body(fields + #", "stream": true"#), at: "/v1/responses")
        let events = stream.chunks.filter { ($0["type"] as? String)?.contains("summary") == true }
        #expect(
            events.map { ($0["type"] as? String ?? "").replacing("response.reasoning_summary_", with: "") } == [
                "part.added", "text.delta", "text.done", "part.done",
            ])
        #expect(events.allSatisfy { $0["summary_index"] as? Int == 0 && $0["content_index"] == nil })
        #expect(events[1]["delta"] as? String == "Hm" && events[2]["text"] as? String == "Hm")
        let refused = await respond(router(engine), #""input": "Hi", "reasoning": {"summary": "long"}"#)
        #expect(refused.status == 400 && refused.text.contains("reasoning.summary"))
    }

    @Test func `28: a stream that fails says so in an event of its type`() async throws {
        let stream = try await router(ScriptedLanguageModel(.init(error: .shutDown)))
            .stream(body(#""input": "Hi", "stream": true"#), at: "/v1/responses")
        let last = try #require(stream.chunks.last)
        #expect(last["type"] as? String == "response.failed")
        let response = try #require(last["response"] as? [String: Any])
        #expect(response["status"] as? String == "failed")
        #expect((response["error"] as? [String: String])?["code"] == "server_error")
    }

    @Test func `28: a conversation goes on by the id of its last response, without the instructions`() async {
        let engine = ScriptedLanguageModel(.init(texts: ["<think>Hm</think>", "Yes"]))
        let router = router(engine)
        let first = await respond(router, #""input": "A", "instructions": "Be brief.""#)
        let id = first.json["id"] as? String ?? ""
        let second = await respond(router, #""input": "B", "previous_response_id": "\#(id)""#)
        #expect(second.json["previous_response_id"] as? String == id)
        let answered = ChatMessage(role: .assistant, content: "Yes", reasoning: "Hm")
        #expect(engine.rendered.withLock { $0[1].messages } == [.user("A"), answered, .user("B")])
        let third = await respond(router, #""input": "C", "previous_response_id": "\#(second.json["id"] ?? "")""#)
        #expect(third.status == 200)
        #expect(engine.rendered.withLock { $0[2].messages.count } == 5)
    }

    @Test func `28: a stored response can be asked for and deleted, one that is not stored cannot`() async {
        let router = router(ScriptedLanguageModel())
        let made = await respond(router, #""input": "A""#)
        let path = "/v1/responses/\(made.json["id"] ?? "")"
        #expect(await router.answer("GET", path).bytes == made.bytes)
        let deleted = await router.answer("DELETE", path)
        #expect(deleted.json["deleted"] as? Bool == true)
        #expect(await router.answer("GET", path).status == 404)
        #expect(await router.answer("DELETE", path).status == 404)
        let unstored = await respond(router, #""input": "A", "store": false"#)
        let id = unstored.json["id"] as? String ?? ""
        #expect(await router.answer("GET", "/v1/responses/\(id)").status == 404)
        let refused = await respond(router, #""input": "B", "previous_response_id": "\#(id)""#)
        #expect(refused.status == 400)
        #expect(refused.error["code"] as? String == "previous_response_not_found")
        #expect(refused.error["param"] as? String == "previous_response_id")
    }

    @Test func `the store is bounded in count and in bytes, the oldest goes first`() async throws {
        let request = try JSON.decode(ResponseRequest.self, from: Array(body(#""input": "A""#).utf8))
        func entry(_ id: String, bytes: Int = 0, of client: String = "") -> ResponseStore.Entry {
            let identity = AnswerIdentity(id: id, created: 0, model: "m", systemFingerprint: "")
            return .init(
                ModelResponse(
                    identity, for: request,
                    sampling: .init(
                        temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0, topLogprobs: 0)),
                conversation: [.user(String(repeating: "x", count: bytes))], client: client)
        }
        let few = ResponseStore(maximumCount: 2)
        for id in ["a", "b", "c"] { try few.insert(entry(id)) }
        #expect(few["a"] == nil && few["b"] != nil && few["c"] != nil)
        let small = ResponseStore(maximumBytes: 10_000)
        for id in ["a", "b"] { try small.insert(entry(id, bytes: 4000)) }
        #expect(small["a"] == nil && small["b"] != nil)
        try small.insert(entry("c", bytes: 20_000))
        #expect(small["b"] == nil && small["c"] == nil)
        try small.insert(entry("d", bytes: 4000))
        #expect(small["d"] != nil)
        // An image counts with the bytes of its file.
        let image = ChatMessage.user("what?", images: [Data(count: 20_000)])
        try small.insert(.init(entry("e").response, conversation: [image]))
        #expect(small["e"] == nil)
        // Whoever has the most loses the oldest, not those who have little.
        let shared = ResponseStore(maximumCount: 4, maximumBytes: 50_000)
        try shared.insert(entry("a", of: "one"))
        for id in 0..<20 { try shared.insert(entry("b\(id)", of: "two")) }
        #expect(shared["a"] != nil && shared["b16"] == nil && shared["b17"] != nil)
        for id in 0..<5 { try shared.insert(entry("c\(id)", bytes: 20_000, of: "three")) }
        #expect(shared["a"] != nil && shared["c3"] != nil && shared["c4"] != nil)
    }

    @Test(arguments: [
        (#""input": "A", "tools": [{"type": "functoin"}]"#, "tools[0].type"), (#""input": []"#, "input"),
        (#""input": "A", "tools": [{"type": "namespace", "name": "n"}]"#, "tools[0].tools"),
        (#""input": "A", "tools": [{"type": "namespace", "tools": []}]"#, "tools[0].name"),
        (
            #""input": "A", "tools": [{"type": "namespace", "name": "n", "tools": [{"type": "mcp"}]}]"#,
            "tools[0].tools[0].type"
        ),
        (#""input": "A", "tools": [{"type": "mcp"}], "tool_choice": {"type": "mcp"}"#, "tool_choice"),
        (#""input": "A", "tools": [{"type": "mcp"}], "tool_choice": "required""#, "tool_choice"),
        (#""input": "A", "text": {"verbosity": "chatty"}"#, "text.verbosity"),
        (#""input": "A", "reasoning": {"summary": "long"}"#, "reasoning.summary"),
        (#""input": [{"type": "local_shell_call", "call_id": "c"}]"#, "input[0].action"),
        (#""input": [{"type": "item_reference", "id": "c"}]"#, "input[0].type"),
        (#""x": 1"#, "input"),
        (#""input": "A", "truncation": "auto""#, "truncation"),
        (#""input": "A", "background": true, "store": false"#, "background"),
        (#""input": "A", "n": 2"#, "n"),
        (#""input": "A", "include": ["reasoning.encrypted_content", "x"]"#, "include[1]"),
        (#""input": "A", "prompt": {"id": "p"}"#, "prompt"),
        (#""input": "A", "max_output_tokens": 0"#, "max_output_tokens"),
        (#""input": [{"type": "function_call_output", "output": "x"}]"#, "input[0].call_id"),
        (#""input": [{"type": "function_call", "call_id": "c", "name": "f"}]"#, "input[0].arguments"),
        (#""input": [{"role": "user", "content": [{"type": "input_image"}]}]"#, "input[0].content[0].type"),
        (#""input": [{"role": "wizard", "content": "x"}]"#, "input[0].role"),
        (#""input": [{"role": "user"}]"#, "input[0].content"),
    ])
    func `28: what is not served is refused, naming the field`(_ fields: String, _ param: String) async {
        let engine = ScriptedLanguageModel()
        let answer = await respond(router(engine), fields)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == param)
        #expect(engine.asked.withLock { $0.isEmpty })
    }

    @Test(arguments: [
        #""include": ["reasoning.encrypted_content", "web_search_call.action.sources"], "store": false"#,
        #""reasoning": {"effort": "low", "summary": "auto"}, "text": {"format": {"type": "text"}}"#,
        #""tools": [], "tool_choice": "auto", "parallel_tool_calls": true, "max_tool_calls": 3, "truncation": "disabled""#,
        #""text": {"verbosity": "low"}, "reasoning": {"summary": "concise"}"#,
        #""reasoning": {"summary": "none"}"#,
        #""user": "u", "service_tier": "auto", "prompt_cache_key": "k", "safety_identifier": "s", "background": false"#,
    ])
    func `28: what asks for nothing here is no error`(_ fields: String) async {
        #expect(await respond(router(ScriptedLanguageModel()), #""input": "A", \#(fields)"#).status == 200)
    }

    // MARK: Tools that OpenAI's API runs, and namespaces

    /// As Codex sends them.
    private static let tools = """
        "tools": [{"type": "web_search", "external_web_access": true}, {"type": "image_generation"}, {"type": "web_search"},
        {"type": "namespace", "name": "agents", "description": "Others.", "tools": [
        {"type": "function", "name": "spawn", "parameters": {"type": "object", "properties": {}}},
        {"type": "custom", "name": "note"}]},
        {"type": "namespace", "name": "mcp__files__", "description": "", "tools": [{"type": "function", "name": "spawn"}]},
        {"type": "function", "name": "spawn"}]
        """

    private func called(_ name: String, _ arguments: String = "{}") -> ScriptedLanguageModel {
        let text = "<tool_call>\n{\"name\": \"\(name)\", \"arguments\": \(arguments)}\n</tool_call>"
        return ScriptedLanguageModel(.init(texts: [text], dialect: toolDialect))
    }

    @Test(arguments: [
        ("agents__spawn", "agents", "spawn"), ("mcp__files__spawn", "mcp__files__", "spawn"), ("spawn", nil, "spawn"),
    ])
    func `functions of a namespace are offered, and called by namespace and name`(
        seen: String, namespace: String?, name: String
    ) async throws {
        let engine = called(seen)
        let services = router(engine)
        let answer = await respond(services, #""input": "A", \#(Self.tools)"#)
        #expect(answer.status == 200)
        let item = (answer.json["output"] as? [[String: Any]])?.first ?? [:]
        #expect(item["type"] as? String == "function_call")
        #expect(item["namespace"] as? String == namespace && item["name"] as? String == name)
        let offered = engine.rendered.withLock { $0[0].variables["tools"] }?.json ?? ""
        let names = ["agents__spawn", "agents__note", "mcp__files__spawn", "spawn"]
        #expect(names.allSatisfy { offered.contains("\"name\": \"\($0)\"") })

        let stream = try await router(called(seen)).stream(
            body(#""input": "A", "stream": true, \#(Self.tools)"#), at: "/v1/responses")
        let added = stream.chunks.first { $0["type"] as? String == "response.output_item.added" }?["item"]
        #expect((added as? [String: Any])?["namespace"] as? String == namespace)
        let done = stream.chunks.first { $0["type"] as? String == "response.function_call_arguments.done" }
        #expect(done?["name"] as? String == name)

        // The stored answer and a history with the item are the same conversation.
        let id = answer.json["id"] as? String ?? ""
        _ = await respond(services, #""input": "B", "previous_response_id": "\#(id)""#)
        #expect(engine.rendered.withLock { $0.last?.messages[1].toolCalls?.map(\.name) } == [seen])
        let space = namespace.map { "\"namespace\": \"\($0)\"," } ?? ""
        _ = await respond(
            services,
            """
            "input": [{"role": "user", "content": "A"}, {"type": "function_call", "call_id": "c", \(space)
            "name": "\(name)", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "x"}]
            """)
        #expect(engine.rendered.withLock { $0.last?.messages[1].toolCalls?.map(\.name) } == [seen])
    }

    @Test func `a custom tool of a namespace gets its text`() async {
        let answer = await respond(
            router(called("agents__note", #"{"input": "Hi"}"#)), #""input": "A", \#(Self.tools)"#)
        let item = (answer.json["output"] as? [[String: Any]])?.first ?? [:]
        #expect(item["type"] as? String == "custom_tool_call" && item["input"] as? String == "Hi")
        #expect(item["namespace"] as? String == "agents" && item["name"] as? String == "note")
    }

    @Test func `a function of a namespace can be demanded`() async {
        let engine = called("agents__spawn")
        let choice = #""tool_choice": {"type": "function", "namespace": "agents", "name": "spawn"}"#
        #expect(await respond(router(engine), #""input": "A", \#(choice), \#(Self.tools)"#).status == 200)
        let two = Self.tools.replacingOccurrences(of: #""name": "mcp__files__""#, with: #""name": "agents""#)
        let answer = await respond(router(engine), #""input": "A", \#(two)"#)
        #expect(answer.error["param"] as? String == "tools[4].tools[0].name")
    }

    @Test func `hosted tools are left out, with a note in the response and the log`() async {
        let services = router(called("spawn"))
        let fields = #""input": [{"type": "compaction", "encrypted_content": "x"}, {"role": "user", "content": "A"}]"#
        let request = Request(
            method: "POST", target: "/v1/responses", path: "/v1/responses",
            body: Array(body(#"\#(fields), "metadata": {"a": "b"}, \#(Self.tools)"#).utf8))
        let context = RequestContext(request)
        let response = try? await runHandler(context, services)
        let note = "tools: web_search, image_generation; items: compaction"
        #expect(context.trace.leftOut == note)
        guard case .bytes(let bytes)? = response?.body else {
            Issue.record("no answer")
            return
        }
        let answer = Answer(status: 200, headers: [:], bytes: bytes)
        #expect(answer.json["metadata"] as? [String: String] == ["a": "b", "left_out": note])
    }

    @Test func `hosted tools are refused where the server was started so`() async {
        var services = router(called("spawn"))
        services.refusesHostedTools = true
        let answer = await respond(services, #""input": "A", \#(Self.tools)"#)
        #expect(answer.status == 400 && answer.error["param"] as? String == "tools[0].type")
    }

    @Test func `items of hosted tools in the history are read`() async throws {
        let engine = ScriptedLanguageModel(.init(dialect: toolDialect))
        let answer = await respond(
            router(engine),
            #"""
            "input": [{"role": "user", "content": "A"},
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm"}], "content": null,
             "encrypted_content": "x"},
            {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
            {"type": "local_shell_call", "id": "l", "call_id": "c1", "status": "completed",
             "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"type": "local_shell_call_output", "id": "c1", "output": "one"},
            {"type": "shell_call", "call_id": "c2", "action": {"commands": ["pwd"]}},
            {"type": "shell_call_output", "call_id": "c2",
             "output": [{"stdout": "/", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
            {"type": "tool_search_call", "call_id": null, "arguments": {"query": "q"}},
            {"type": "tool_search_output", "call_id": null, "tools": [{"type": "function", "name": "f"}]},
            {"type": "mcp_call", "id": "m", "server_label": "s", "name": "look", "arguments": "{\"a\": 1}", "output": "two"},
            {"type": "code_interpreter_call", "id": "i", "status": "completed", "container_id": "x", "code": "1",
             "outputs": [{"type": "logs", "logs": "1"}]},
            {"type": "file_search_call", "id": "f", "status": "completed", "queries": ["q"], "results": null},
            {"type": "apply_patch_call", "call_id": "c3", "status": "completed",
             "operation": {"type": "delete_file", "path": "a"}},
            {"type": "apply_patch_call_output", "call_id": "c3", "status": "failed"},
            {"type": "compaction", "encrypted_content": "x"}, {"role": "user", "content": "C"}]
            """#)
        #expect(answer.status == 200)
        let metadata = answer.json["metadata"] as? [String: String]
        #expect(metadata == ["left_out": "items: web_search_call, file_search_call, compaction"])
        let messages = try #require(engine.rendered.withLock { $0.last?.messages })
        #expect(
            messages[1]
                == ChatMessage(role: .assistant, content: "b", reasoning: "Hm").calling(
                    .init(id: "c1", name: "local_shell", arguments: #"{"type":"exec","command":["ls"],"env":{}}"#))
        )
        let calls = messages.flatMap { $0.toolCalls ?? [] }
        #expect(
            calls.map(\.name) == ["local_shell", "shell", "tool_search", "look", "code_interpreter", "apply_patch"])
        let results = messages.filter { $0.role == .tool }
        #expect(results.map(\.toolCallID) == calls.map(\.id))
        #expect(results.map(\.name) == calls.map(\.name))
        #expect(results.map(\.content).filter { !$0.contains("{") } == ["one", "two", "failed"])
        #expect(calls[4].arguments == #"{"code":"1"}"#)
        #expect(messages.last == .user("C"))
    }

    @Test func `28: errors of the engine name the input, and probabilities come where asked for`() async {
        let error = LocalModelError.contextSizeExceeded(contextSize: 128, tokenCount: 500)
        let long = await respond(router(ScriptedLanguageModel(.init(texts: [], error: error))), #""input": "A""#)
        #expect(long.error["param"] as? String == "input")
        #expect(long.error["code"] as? String == "context_length_exceeded")
        let answer = await respond(
            router(ScriptedLanguageModel(.init(texts: ["A"]))),
            #""input": "A", "include": ["message.output_text.logprobs"], "top_logprobs": 1"#)
        let item = (answer.json["output"] as? [[String: Any]])?.first
        let part = (item?["content"] as? [[String: Any]])?.first
        let logprobs = part?["logprobs"] as? [[String: Any]]
        #expect(logprobs?.map { $0["token"] as? String } == ["A"])
        #expect((logprobs?.first?["top_logprobs"] as? [Any])?.count == 1)
    }

    @Test func `the last events of a stream have the probabilities of all tokens`() async throws {
        // More than are encoded at once.
        let texts = (0..<700).map { $0 % 3 == 0 ? "A" : "B" }
        let stream = try await router(ScriptedLanguageModel(.init(texts: texts))).stream(
            body(
                #""input": "A", "include": ["message.output_text.logprobs"], "top_logprobs": 1, "stream": true"#),
            at: "/v1/responses")
        func tokens(_ value: Any?) -> [String]? {
            (value as? [[String: Any]])?.compactMap { $0["token"] as? String }
        }
        func event(_ type: String) throws -> [String: Any] {
            try #require(stream.chunks.first { $0["type"] as? String == "response.\(type)" })
        }
        func part(_ item: Any?) -> [String: Any]? { ((item as? [String: Any])?["content"] as? [[String: Any]])?.first }
        #expect(tokens(try event("output_text.done")["logprobs"]) == texts)
        #expect(tokens((try event("content_part.done")["part"] as? [String: Any])?["logprobs"]) == texts)
        #expect(tokens(part(try event("output_item.done")["item"])?["logprobs"]) == texts)
        let output = (try event("completed")["response"] as? [String: Any])?["output"] as? [Any]
        #expect(tokens(part(output?.first)?["logprobs"]) == texts)
    }

    @Test func `an empty list of the same key behind the long one stays empty`() throws {
        struct Value: Encodable {
            let a = ["list": [Int]()]
            let b = ["list": [Int]()]
        }
        let bytes = try LongList.encode(Value(), filling: ["list": [LongList(count: 3) { $0 }]])
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":{"list":[0,1,2]},"b":{"list":[]}}"#)
    }
}

extension ChatMessage {
    fileprivate func calling(_ call: ToolCall) -> Self {
        var message = self
        message.toolCalls = [call]
        return message
    }
}
