import Foundation
import HTTP
import LocalLLM
import Synchronization
import Testing

@testable import Shim

/// Conversations that an upstream answers in another API's form than the client's.
@Suite(.timeLimit(.minutes(5))) struct TranslationTests {
    private let local = router(ScriptedLanguageModel())
    private static let tool =
        #"{"name":"get_weather","description":"The weather.","PARAMETERS":"#
        + #"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}"#

    /// The chunks of a chat that thinks, speaks and calls.
    private static let chunks = [
        #"{"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Hm"}}]}"#,
        #"{"choices":[{"index":0,"delta":{"content":"I"}}]}"#,
        #"{"choices":[{"index":0,"delta":{"content":" look."}}]}"#,
        #"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_123456789","type":"function","#
            + #""function":{"name":"get_weather","arguments":""}}]}}]}"#,
        #"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}}]}"#,
        #"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]}}]}"#,
        #"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        #"{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        "[DONE]",
    ].map { "data: \($0)\n\n" }

    /// The same answer as events of a message.
    private static let messageEvents = [
        #"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"#
            + #""usage":{"input_tokens":16,"cache_read_input_tokens":4,"output_tokens":1}}}"#,
        #"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        #"{"type":"ping"}"#,
        #"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
        #"{"type":"content_block_stop","index":0}"#,
        #"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        #"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look."}}"#,
        #"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_12345678","#
            + #""name":"get_weather","input":{}}}"#,
        #"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}"#,
        #"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}"#,
        #"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
        #"{"type":"message_stop"}"#,
    ].map { "event: e\ndata: \($0)\n\n" }

    private static let messagesBody =
        #"{"model":"claude","max_tokens":50,"system":"Be brief.","top_k":5,"tools":["#
        + tool.replacingOccurrences(of: "PARAMETERS", with: "input_schema")
        + #"],"tool_choice":{"type":"any"},"messages":[{"role":"user","content":"Weather?"},"#
        + #"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"get_weather","input":{"city":"Rome"}}]},"#
        + #"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"sunny"},"#
        + #"{"type":"text","text":"And Paris?"}]}]}"#

    private static let chatBody =
        #"{"model":"gpt-x","max_tokens":50,"seed":7,"tools":[{"type":"function","function":"#
        + tool.replacingOccurrences(of: "PARAMETERS", with: "parameters")
        + #"}],"tool_choice":"required","messages":[{"role":"system","content":"Be brief."},"#
        + #"{"role":"user","content":"Weather?"},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","#
        + #""type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},"#
        + #"{"role":"tool","tool_call_id":"t1","content":"sunny"},{"role":"user","content":"And Paris?"}]}"#

    private func ask(
        _ path: String, _ body: String, _ fake: FakeUpstream, api: String
    ) async throws -> SocketReply {
        try await fake.run {
            try await throughDoor(local.with(upstream: $0, "--upstream-api", api), post(path, body))
        }
    }

    private func sent(_ fake: FakeUpstream) throws -> [String: Any] {
        let request = try #require(fake.last)
        return try #require(try JSONSerialization.jsonObject(with: Data(request.body.bytes ?? [])) as? [String: Any])
    }

    private func isEqual(_ value: Any?, _ json: String) throws -> Bool {
        let expected = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
        return (value as? NSObject)?.isEqual(expected) == true
    }

    @Test func `messages are answered by an upstream of chats`() async throws {
        let fake = FakeUpstream { _ in events(Self.chunks) }
        let reply = try await ask("/v1/messages", Self.messagesBody, fake, api: "openai")
        #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
        let answer = reply.answer.json
        #expect(answer["model"] as? String == "claude" && answer["stop_reason"] as? String == "tool_use")
        #expect(
            try isEqual(
                answer["content"],
                """
                [{"type":"thinking","thinking":"Hm","signature":""},{"type":"text","text":"I look."},
                 {"type":"tool_use","id":"call_123456789","name":"get_weather","input":{"city":"Paris"}}]
                """))
        let usage = try #require(answer["usage"] as? [String: Any])
        #expect(usage["input_tokens"] as? Int == 16 && usage["cache_read_input_tokens"] as? Int == 4)
        #expect(usage["output_tokens"] as? Int == 9)
        // What the API has no field for is named.
        #expect(reply.header("x-warning")?.contains("top_k") == true)
        #expect(fake.last?.target == "/v1/chat/completions")
        let body = try sent(fake)
        #expect(body["model"] as? String == "claude" && body["max_tokens"] as? Int == 50)
        #expect(body["tool_choice"] as? String == "required" && body["top_k"] == nil)
        #expect(
            try isEqual(
                body["messages"],
                """
                [{"role":"system","content":"Be brief."},{"role":"user","content":"Weather?"},
                 {"role":"assistant","content":"","tool_calls":[{"id":"t1","type":"function",
                  "function":{"name":"get_weather","arguments":"{\\"city\\":\\"Rome\\"}"}}]},
                 {"role":"tool","tool_call_id":"t1","content":"sunny"},{"role":"user","content":"And Paris?"}]
                """))
        #expect(
            try isEqual(
                body["tools"],
                #"[{"type":"function","function":"#
                    + Self.tool.replacingOccurrences(of: "PARAMETERS", with: "parameters") + "}]"))
    }

    @Test func `a stream of messages is made of a stream of chunks`() async throws {
        let fake = FakeUpstream { _ in events(Self.chunks) }
        let body = Self.messagesBody.replacingOccurrences(
            of: #""max_tokens":50"#, with: #""max_tokens":50,"stream":true"#)
        let reply = try await ask("/v1/messages", body, fake, api: "openai")
        #expect(reply.status == 200 && reply.body.contains("event: message_stop"))
        #expect(reply.body.contains(#""partial_json":"{\"city\":""#) && reply.body.contains(#""text":" look.""#))
    }

    @Test func `chats are answered by an upstream of messages`() async throws {
        let fake = FakeUpstream { _ in events(Self.messageEvents) }
        let reply = try await ask("/v1/chat/completions", Self.chatBody, fake, api: "anthropic")
        #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
        let choice = try #require((reply.answer.json["choices"] as? [[String: Any]])?.first)
        #expect(choice["finish_reason"] as? String == "tool_calls")
        #expect(
            try isEqual(
                choice["message"],
                """
                {"role":"assistant","refusal":null,"content":"I look.","reasoning_content":"Hm","tool_calls":[
                 {"id":"toolu_12345678","type":"function",
                  "function":{"name":"get_weather","arguments":"{\\"city\\":\\"Paris\\"}"}}]}
                """))
        let usage = try #require(reply.answer.json["usage"] as? [String: Any])
        #expect(usage["prompt_tokens"] as? Int == 20 && usage["completion_tokens"] as? Int == 9)
        #expect(reply.header("x-warning")?.contains("seed") == true)
        let asked = try #require(fake.last)
        #expect(asked.target == "/v1/messages" && asked.headers["anthropic-version"] == "2023-06-01")
        #expect(asked.headers["x-api-key"] == upstreamKey && asked.headers["Authorization"] == nil)
        let body = try sent(fake)
        #expect(body["system"] as? String == "Be brief." && body["seed"] == nil)
        #expect(try isEqual(body["tool_choice"], #"{"type":"any"}"#))
        #expect(
            try isEqual(
                body["messages"],
                """
                [{"role":"user","content":[{"type":"text","text":"Weather?"}]},
                 {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"get_weather","input":{"city":"Rome"}}]},
                 {"role":"user","content":[
                  {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"sunny"}]},
                  {"type":"text","text":"And Paris?"}]}]
                """))
    }

    @Test func `a message goes to an upstream of messages as it is`() async throws {
        let answer = #"{"type":"message","content":[],"usage":{}}"#
        let fake = FakeUpstream { _ in json(answer) }
        let body = #"{"model":"claude","messages":[],"metadata":{"user_id":"u"},"max_tokens":1}"#
        let request = post("/v1/messages", body).replacingOccurrences(
            of: "Host:", with: "anthropic-beta: context-1m\r\nanthropic-version: 2024-01-01\r\nHost:")
        let reply = try await fake.run {
            try await throughDoor(local.with(upstream: $0, "--upstream-api", "anthropic"), request)
        }
        #expect(reply.status == 200 && reply.body == answer)
        let asked = try #require(fake.last)
        #expect(String(decoding: asked.body.bytes ?? [], as: UTF8.self) == body)
        #expect(asked.headers["anthropic-beta"] == "context-1m" && asked.headers["anthropic-version"] == "2024-01-01")
    }

    @Test func `a stream of messages is passed on as it is`() async throws {
        let fake = FakeUpstream { _ in events(Self.messageEvents) }
        let body = #"{"model":"claude","messages":[],"max_tokens":1,"stream":true}"#
        let reply = try await ask("/v1/messages", body, fake, api: "anthropic")
        #expect(reply.status == 200 && reply.body == Self.messageEvents.joined())
        let cut = FakeUpstream { _ in events(Array(Self.messageEvents.dropLast())) }
        let broken = try await ask("/v1/messages", body, cut, api: "anthropic")
        #expect(broken.body.hasPrefix(Self.messageEvents.dropLast().joined()))
        #expect(broken.body.contains("event: error\ndata: {\"error\":"))
    }

    @Test func `tokens are counted by an upstream of messages only`() async throws {
        let fake = FakeUpstream { _ in json(#"{"input_tokens":7}"#) }
        let body = #"{"model":"claude","messages":[{"role":"user","content":"Hi"}]}"#
        let counted = try await ask("/v1/messages/count_tokens", body, fake, api: "anthropic")
        #expect(counted.status == 200 && counted.body == #"{"input_tokens":7}"#)
        for wrong in [#"{"input_tokens":[]}"#, #"{"content":[]}"#] {
            let odd = FakeUpstream { _ in json(wrong) }
            #expect(try await ask("/v1/messages/count_tokens", body, odd, api: "anthropic").status == 502)
        }
        let number = FakeUpstream { _ in json(#"{"choices":1}"#) }
        #expect(try await ask("/v1/chat/completions", Self.chatBody, number, api: "openai").status == 502)
        let refused = try await ask("/v1/messages/count_tokens", body, fake, api: "openai")
        #expect(refused.status == 501 && refused.body.contains("/messages/count_tokens"))
    }

    @Test func `responses are answered by an upstream that knows only chats`() async throws {
        let fake = FakeUpstream { request in
            request.target == "/v1/responses"
                ? json(#"{"detail":"Not Found"}"#, status: 404) : events(Self.chunks)
        }
        let body =
            #"{"model":"gpt-x","input":"Weather?","tools":[{"type":"function","name":"get_weather","#
            + #""parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}"#
        try await fake.run { port in
            let services = try local.with(upstream: port)
            for _ in 0..<2 {
                let reply = try await throughDoor(services, post("/v1/responses", body))
                #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
                let output = try #require(reply.answer.json["output"] as? [[String: Any]])
                #expect(output.map { $0["type"] as? String } == ["reasoning", "message", "function_call"])
                #expect(output.last?["arguments"] as? String == #"{"city":"Paris"}"#)
            }
            // It is asked once whether it knows responses.
            #expect(fake.requests.withLock { $0.map(\.target) }.filter { $0 == "/v1/responses" }.count == 1)
            // The answer is stored here, so that the next request can continue it.
            let first = try await throughDoor(services, post("/v1/responses", body))
            let id = try #require(first.answer.json["id"] as? String)
            let next = #"{"model":"gpt-x","input":"Thanks","previous_response_id":"\#(id)"}"#
            #expect(try await throughDoor(services, post("/v1/responses", next)).status == 200)
            let roles = (try sent(fake)["messages"] as? [[String: Any]])?.map { $0["role"] as? String }
            #expect(roles == ["user", "assistant", "user"])
        }
    }

    @Test func `a model that an upstream does not have is not another endpoint`() async throws {
        let fake = FakeUpstream { _ in
            json(#"{"error":{"message":"no such model","code":"model_not_found"}}"#, status: 404)
        }
        let reply = try await ask("/v1/responses", #"{"model":"gpt-x","input":"Hi"}"#, fake, api: "openai")
        #expect(reply.status == 404 && reply.errorCode == "model_not_found" && fake.count == 1)
    }

    @Test(arguments: ["/v1/completions", "/v1/embeddings", "/v1/images/generations"])
    func `an upstream of messages has nothing else`(_ path: String) async throws {
        let fake = FakeUpstream { _ in json("{}") }
        let reply = try await ask(path, #"{"model":"claude","prompt":"x","input":"x"}"#, fake, api: "anthropic")
        #expect(reply.status == 501 && fake.count == 0)
    }

    @Test(arguments: [
        (#""response_format":{"type":"json_object"}"#, "response_format"), (#""guided_regex":"a+""#, "guided_regex"),
        (#""n":2"#, "n"),
    ])
    func `what decides an answer and cannot be told is refused`(_ field: String, _ name: String) async throws {
        let fake = FakeUpstream { _ in events(Self.messageEvents) }
        let body = #"{"model":"claude","messages":[{"role":"user","content":"JSON"}],\#(field)}"#
        let reply = try await ask("/v1/chat/completions", body, fake, api: "anthropic")
        #expect(reply.status == 400 && fake.count == 0)
        #expect((reply.answer.error["param"] as? String)?.hasPrefix(name) == true)
    }

    @Test func `an error of the upstream is one in the client's form`() async throws {
        let refusal = FakeUpstream { _ in
            json(#"{"type":"error","error":{"type":"invalid_request_error","message":"too hot"}}"#, status: 400)
        }
        let refused = try await ask("/v1/chat/completions", Self.chatBody, refusal, api: "anthropic")
        #expect(refused.status == 400 && refused.answer.error["message"] as? String == "too hot")
        let overloaded = FakeUpstream { _ in
            events(
                Self.messageEvents.prefix(7) + [#"data: {"type":"error","error":{"message":"Overloaded"}}"# + "\n\n"])
        }
        let body = Self.chatBody.replacingOccurrences(of: #""seed":7"#, with: #""stream":true"#)
        let broken = try await ask("/v1/chat/completions", body, overloaded, api: "anthropic")
        #expect(broken.status == 200 && broken.body.contains(#""content":"I look.""#))
        #expect(broken.body.contains(#""message":"Overloaded""#) && !broken.body.contains("[DONE]"))
    }

    @Test func `a message too long for this server goes to an upstream of chats`() async throws {
        let fake = FakeUpstream { _ in events(Self.chunks) }
        let model = ScriptedLanguageModel(
            .init(texts: [], error: LocalModelError.contextSizeExceeded(contextSize: 8, tokenCount: 9)))
        let body = #"{"model":"Test-Q4","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}"#
        let reply = try await fake.run {
            let services = try router(model).with(
                upstream: $0, "--upstream-model", "big", "--upstream-when", "too-long")
            return try await throughDoor(services, post("/v1/messages", body))
        }
        #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
        #expect(try sent(fake)["model"] as? String == "big")
    }
}
