import Foundation
import HTTP
import TestSupport
import Testing
import Synchronization
import Wire
import Tokenizer
import CommandLineParsing

@testable import LocalLLM
@testable import Shim

/// What this server answers, against OpenAI's published specification.
@Suite(.timeLimit(.minutes(5)), .enabled(if: OpenAPI() != nil, "needs ../shared/fixtures"))
struct SpecificationTests {
    private let specification: OpenAPI
    private let thinking = ScriptedLanguageModel.Script(
        texts: ["<think>", "Hm", "</think>", "Yes", "."], cachedTokens: 2)

    init() throws { specification = try #require(OpenAPI()) }

    private func respond(_ services: Services, _ fields: String) async -> Answer {
        await services.answer("POST", "/v1/responses", "{\(fields)}")
    }

    @Test(arguments: [
        #""input": "Hi""#, #""input": "Hi", "instructions": "Be brief.", "metadata": {"a": "b"}, "temperature": 0.5"#,
        #""input": "Hi", "top_logprobs": 2, "reasoning": {"effort": "low", "summary": "auto"}, "max_tool_calls": 3, "top_p": 0.9"#,
        #""input": [{"role": "user", "content": [{"type": "input_text", "text": "b"}]}], "store": false"#,
    ])
    func `responses`(_ fields: String) async {
        for script in [thinking, .init(), .init(reason: .length), .init(texts: [])] {
            let answer = await respond(router(ScriptedLanguageModel(script)), fields)
            #expect(answer.status == 200)
            #expect(specification.problems("Response", answer.json) == [])
        }
    }

    @Test func `a response tells what it was sampled with, when it was completed and what it wrote to the cache`() async
    {
        let answer = await respond(router(ScriptedLanguageModel(thinking)), #""input": "Hi", "presence_penalty": 1"#)
        #expect(answer.json["temperature"] as? Double == 0.8 && answer.json["top_p"] as? Double == 1)
        #expect(answer.json["presence_penalty"] as? Double == 1 && answer.json["frequency_penalty"] as? Double == 0)
        #expect(answer.json["completed_at"] is Int && answer.json["background"] as? Bool == false)
        let cut = await respond(router(ScriptedLanguageModel(.init(reason: .length))), #""input": "Hi""#)
        #expect(cut.json["completed_at"] is NSNull)
    }

    @Test
    func `thoughts that were cut off have no empty message beside them`() async {
        let script = ScriptedLanguageModel.Script(texts: ["<think>", "Hm"], reason: .length)
        let answer = await respond(router(ScriptedLanguageModel(script)), #""input": "Hi""#)
        let output = answer.json["output"] as? [[String: Any]] ?? []
        #expect(output.map { $0["type"] as? String } == ["reasoning"])
        #expect(output.first?["status"] as? String == "incomplete")
    }

    @Test(
        arguments: [
            #""input": "Hi""#, #""input": "Hi", "top_logprobs": 1"#,
            #""input": "Hi", "reasoning": {"summary": "detailed"}"#,
            #""input": "Hi", "reasoning": {"summary": "concise"}, "text": {"verbosity": "low"}"#,
            #""input": "Hi", "tools": [{"type": "web_search"}, {"type": "namespace", "name": "a", "description": "", "tools": [{"type": "function", "name": "f"}]}]"#,
        ])
    func `each event of a stream of responses`(_ fields: String) async throws {
        for script in [thinking, .init(reason: .length), .init(error: .shutDown), .init(texts: [])] {
            let stream = try await router(ScriptedLanguageModel(script))
                .stream(#"{\#(fields), "stream": true}"#, at: "/v1/responses")
            #expect(stream.chunks.count > 3)
            for event in stream.chunks { #expect(specification.problems(ofEvent: event) == []) }
        }
    }

    @Test
    func `a stored response comes again as the events that it came in`() async throws {
        let services = router(ScriptedLanguageModel(thinking))
        let first = try await services.stream(#"{"input": "Hi", "stream": true}"#, at: "/v1/responses")
        let id = try #require((first.chunks.last?["response"] as? [String: Any])?["id"] as? String)
        let again = await services.answer("GET", "/v1/responses/\(id)?stream=true")
        #expect(again.headers["Content-Type"] == "text/event-stream")
        let events = EventStream(again.text).chunks
        for event in events { #expect(specification.problems(ofEvent: event) == []) }
        #expect(events.last?["response"] as? NSDictionary == first.chunks.last?["response"] as? NSDictionary)
        let rest = await services.answer("GET", "/v1/responses/\(id)?stream=true&starting_after=3")
        #expect(EventStream(rest.text).chunks.first?["sequence_number"] as? Int == 4)
    }

    @Test
    func `input items are listed in pages, and input tokens counted`() async throws {
        let services = router(ScriptedLanguageModel(thinking))
        let first = await respond(services, #""input": "A""#)
        let second = await respond(
            services, #""input": "B", "previous_response_id": "\#(first.json["id"] as? String ?? "")""#)
        let path = "/v1/responses/\(second.json["id"] as? String ?? "")/input_items"
        let all = await services.answer("GET", path + "?order=asc")
        #expect(specification.problems("ResponseItemList", all.json) == [])
        let data = try #require(all.json["data"] as? [[String: Any]])
        #expect(data.map { $0["type"] as? String } == ["message", "reasoning", "message", "message"])
        let texts = data.map { (($0["content"] as? [[String: Any]])?.first?["text"] as? String) ?? "" }
        #expect(texts == ["A", "Hm", "Yes.", "B"])
        let page = await services.answer("GET", path + "?limit=1")
        #expect(page.json["has_more"] as? Bool == true && page.json["last_id"] as? String == data[3]["id"] as? String)
        let next = await services.answer("GET", path + "?limit=5&after=\(data[3]["id"] as? String ?? "")")
        #expect(next.json["has_more"] as? Bool == false && (next.json["data"] as? [Any])?.count == 3)
        #expect(await services.answer("GET", path + "?after=x").status == 400)
        #expect(await services.answer("GET", path + "?limit=0").status == 400)

        let count = await services.answer("POST", "/v1/responses/input_tokens", #"{"input": "Hi"}"#)
        #expect(specification.problems("TokenCountsResource", count.json) == [])
        let tokens = ScriptedLanguageModel().tokenizer.encode("user: Hi\n", addSpecial: false, parseSpecial: false)
        #expect(count.json["input_tokens"] as? Int == tokens.count)
    }

    @Test func `what is not served says so honestly`() async {
        let services = router(ScriptedLanguageModel())
        let made = await respond(services, #""input": "A""#)
        let id = made.json["id"] as? String ?? ""
        #expect(await services.answer("POST", "/v1/responses/\(id)/cancel").status == 400)
        #expect(await services.answer("POST", "/v1/responses/resp_x/cancel").status == 404)
        #expect(
            await respond(services, #""input": "A", "truncation": "auto""#).error["param"] as? String == "truncation")
    }

    @Test func `stored responses survive a restart, deleted ones stay deleted`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("state").path
        var services = router(ScriptedLanguageModel(thinking))
        services.responses = try ResponseStore(file: file)
        let kept = await respond(services, #""input": "A", "instructions": "Be brief.""#)
        let gone = await respond(services, #""input": "B""#)
        let (keptID, goneID) = (kept.json["id"] as? String ?? "", gone.json["id"] as? String ?? "")
        #expect(await services.answer("DELETE", "/v1/responses/\(goneID)").status == 200)

        let engine = ScriptedLanguageModel(thinking)
        var restarted = router(engine)
        restarted.responses = try ResponseStore(file: file)
        #expect(await restarted.answer("GET", "/v1/responses/\(keptID)").bytes == kept.bytes)
        #expect(await restarted.answer("GET", "/v1/responses/\(goneID)").status == 404)
        _ = await respond(restarted, #""input": "C", "previous_response_id": "\#(keptID)""#)
        #expect(
            engine.rendered.withLock { $0.last?.messages } == [
                .user("A"), ChatMessage(role: .assistant, content: "Yes.", reasoning: "Hm"), .user("C"),
            ])
        try Data("rubbish\n".utf8).write(to: URL(fileURLWithPath: file))
        #expect(throws: JournalError.self) { try ResponseStore(file: file) }
    }

    @Test func `chats, completions, embeddings and models`()
        async throws
    {
        let services = router(ScriptedLanguageModel(thinking))
        let chat = await services.chat(#""logprobs": true, "top_logprobs": 1, "n": 2"#)
        #expect(specification.problems("CreateChatCompletionResponse", chat.json) == [])
        let stream = try await services.stream(
            chatBody(#""stream": true, "stream_options": {"include_usage": true}, "logprobs": true"#))
        for chunk in stream.chunks {
            #expect(specification.problems("CreateChatCompletionStreamResponse", chunk) == [])
        }
        let completion = await services.complete(#""prompt": "x", "logprobs": 1"#)
        #expect(specification.problems("CreateCompletionResponse", completion.json) == [])
        let vectors = await services.answer("POST", "/v1/embeddings", #"{"input": ["a", "b"]}"#)
        #expect(specification.problems("CreateEmbeddingResponse", vectors.json) == [])
        let models = await services.answer("GET", "/v1/models")
        #expect(specification.problems("ListModelsResponse", models.json) == [])
        let error = await services.chat(#""temperature": 9"#)
        #expect(specification.problems("ErrorResponse", error.json) == [])
    }

    @Test
    func `the check finds what is missing, of a wrong type or out of its range`() async {
        var response = await respond(router(ScriptedLanguageModel(thinking)), #""input": "Hi""#).json
        response["id"] = nil
        response["temperature"] = 7
        response["status"] = "sleepy"
        response["output"] = [["type": "message"]]
        #expect(specification.problems("Response", response).count >= 4)
    }
}
