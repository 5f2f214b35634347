import Foundation
import JSON
import Synchronization
import TestSupport
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// OpenAI's stored conversations, responses in the background, and compaction.
@Suite(.timeLimit(.minutes(2))) struct StoredConversationTests {
    private let specification = OpenAPI()

    private func check(_ name: String, _ answer: Answer) {
        #expect(answer.status == 200, "\(answer.text)")
        if let specification { #expect(specification.problems(name, answer.json) == [], "\(answer.text)") }
    }

    private func create(_ services: Services, _ fields: String = "") async -> String {
        let answer = await services.answer("POST", "/v1/conversations", "{\(fields)}")
        check("ConversationResource", answer)
        return answer.json["id"] as? String ?? ""
    }

    private func respond(_ services: Services, _ fields: String) async -> Answer {
        await services.answer("POST", "/v1/responses", #"{"model": "Test-Q4", \#(fields)}"#)
    }

    private func texts(_ list: Answer) -> [String] {
        (list.json["data"] as? [[String: Any]] ?? []).map { item in
            ((item["content"] as? [[String: Any]])?.first?["text"] ?? item["arguments"] ?? item["output"]) as? String
                ?? ""
        }
    }

    // MARK: Conversations

    @Test func `a conversation is made, shown, changed and deleted`() async {
        let services = router(ScriptedLanguageModel())
        let id = await create(services, #""metadata": {"a": "b"}"#)
        #expect(id.hasPrefix("conv_"))
        let shown = await services.answer("GET", "/v1/conversations/\(id)")
        check("ConversationResource", shown)
        #expect(shown.json["metadata"] as? [String: String] == ["a": "b"])
        let changed = await services.answer("POST", "/v1/conversations/\(id)", #"{"metadata": {"c": "d"}}"#)
        check("ConversationResource", changed)
        #expect(changed.json["metadata"] as? [String: String] == ["c": "d"])
        #expect(changed.json["created_at"] as? Int == shown.json["created_at"] as? Int)
        let deleted = await services.answer("DELETE", "/v1/conversations/\(id)")
        check("DeletedConversationResource", deleted)
        #expect(await services.answer("GET", "/v1/conversations/\(id)").status == 404)
        #expect(await services.answer("DELETE", "/v1/conversations/\(id)").status == 404)
        #expect(await services.answer("POST", "/v1/conversations", "").status == 200)
    }

    @Test func `items are added, listed in pages, shown and deleted`() async throws {
        let services = router(ScriptedLanguageModel())
        let id = await create(services, #""items": [{"role": "user", "content": "A"}]"#)
        let path = "/v1/conversations/\(id)/items"
        let added = await services.answer(
            "POST", path,
            #"""
            {"items": [{"role": "assistant", "content": [{"type": "output_text", "text": "B"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "R"}]}
            """#)
        check("ConversationItemList", added)
        let all = await services.answer("GET", path + "?order=asc")
        check("ConversationItemList", all)
        #expect(texts(all) == ["A", "B", "{}", "R"] && all.json["has_more"] as? Bool == false)
        let page = await services.answer("GET", path + "?limit=1")
        #expect(texts(page) == ["R"] && page.json["has_more"] as? Bool == true)
        let next = await services.answer("GET", path + "?limit=2&after=\(page.json["last_id"] as? String ?? "")")
        #expect(texts(next) == ["{}", "B"])
        let item = try #require((all.json["data"] as? [[String: Any]])?[1]["id"] as? String)
        check("ConversationItem", await services.answer("GET", path + "/\(item)"))
        check("ConversationResource", await services.answer("DELETE", path + "/\(item)"))
        #expect(await services.answer("GET", path + "/\(item)").status == 404)
        #expect(texts(await services.answer("GET", path + "?order=asc")) == ["A", "{}", "R"])
    }

    @Test func `a response reads its conversation and adds to it`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["Yes."]))
        let services = router(engine)
        let id = await create(services, #""items": [{"role": "developer", "content": "Be brief."}]"#)
        let first = await respond(services, #""input": "A", "conversation": "\#(id)""#)
        check("Response", first)
        #expect(first.json["conversation"] as? [String: String] == ["id": id])
        let second = await respond(
            services, #""input": [{"role": "user", "content": "B"}], "conversation": {"id": "\#(id)"}"#)
        check("Response", second)
        let asked = engine.rendered.withLock { $0.last?.messages ?? [] }
        #expect(asked.map(\.content) == ["Be brief.", "A", "Yes.", "B"])
        let items = await services.answer("GET", "/v1/conversations/\(id)/items?order=asc")
        check("ConversationItemList", items)
        #expect(texts(items) == ["Be brief.", "A", "Yes.", "B", "Yes."])
        let count = await services.answer(
            "POST", "/v1/responses/input_tokens", #"{"input": "C", "conversation": "\#(id)"}"#)
        #expect(count.json["input_tokens"] as? Int ?? 0 > 50)
        // Also where the response itself is not stored, and streamed.
        let hidden = await respond(services, #""input": "C", "conversation": "\#(id)", "store": false"#)
        #expect(await services.answer("GET", "/v1/responses/\(hidden.json["id"] as? String ?? "")").status == 404)
        _ = try await services.stream(#"{"input": "D", "stream": true, "conversation": "\#(id)"}"#, at: "/v1/responses")
        #expect(
            texts(await services.answer("GET", "/v1/conversations/\(id)/items?limit=4")) == ["Yes.", "D", "Yes.", "C"])
    }

    @Test func `calls and their outputs go through a conversation`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["Done."]))
        let services = router(engine)
        let id = await create(
            services,
            #"""
            "items": [{"role": "user", "content": "A"},
                {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"x\":1}"}]
            """#)
        _ = await respond(
            services,
            #""input": [{"type": "function_call_output", "call_id": "c", "output": "R"}], "conversation": "\#(id)""#)
        let asked = engine.rendered.withLock { $0.last?.messages ?? [] }
        // As in one request.
        _ = await respond(
            services,
            #"""
            "input": [{"role": "user", "content": "A"},
                {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"x\":1}"},
                {"type": "function_call_output", "call_id": "c", "output": "R"}]
            """#)
        #expect(asked == engine.rendered.withLock { $0.last?.messages })
        let text = asked.map(\.content).joined()
        #expect(asked.count == 3 && asked[1].reasoning == "Hm" && text.contains("R") && text.contains("x"))
    }

    @Test(
        arguments: [
            ("/v1/responses", #"{"input": "A", "conversation": "conv_x"}"#, 404, nil),
            (
                "/v1/responses", #"{"input": "A", "conversation": "CONV", "previous_response_id": "r"}"#, 400,
                "previous_response_id"
            ),
            ("/v1/responses", #"{"input": "A", "conversation": 5}"#, 400, "conversation"),
            (
                "/v1/responses", #"{"input": [{"role": "wizard", "content": "x"}], "conversation": "CONV"}"#, 400,
                "input[0].role"
            ),
            ("/v1/conversations", #"{"items": [{"role": "user"}]}"#, 400, "items[0].content"),
            ("/v1/conversations", #"{"metadata": {"a": 5}}"#, 400, "metadata.a"),
            ("/v1/conversations/CONV", "{}", 400, "metadata"), ("/v1/conversations/CONV/items", "{}", 400, "items"),
            ("/v1/conversations/CONV/items", #"{"items": []}"#, 400, "items"),
            ("/v1/conversations/conv_x/items", #"{"items": [{"role": "user", "content": "A"}]}"#, 404, nil),
        ] as [(String, String, Int, String?)])
    func `what cannot be done names the field`(_ path: String, _ body: String, _ status: Int, _ param: String?) async {
        let services = router(ScriptedLanguageModel())
        let id = await create(services)
        let answer = await services.answer(
            "POST", path.replacing("CONV", with: id), body.replacing("CONV", with: id))
        #expect(answer.status == status && answer.error["param"] as? String == param, "\(answer.text)")
        let items = await services.answer("GET", "/v1/conversations/\(id)/items")
        #expect((items.json["data"] as? [Any])?.isEmpty == true)
    }

    @Test func `limits are those of the specification`() async {
        let services = router(ScriptedLanguageModel())
        let many = (0..<21).map { _ in #"{"role": "user", "content": "A"}"# }.joined(separator: ",")
        #expect(
            await services.answer("POST", "/v1/conversations", #"{"items": [\#(many)]}"#).error["param"] as? String
                == "items")
        let pairs = (0..<17).map { #""k\#($0)": "v""# }.joined(separator: ",")
        #expect(await services.answer("POST", "/v1/conversations", #"{"metadata": {\#(pairs)}}"#).status == 400)
        let long = String(repeating: "x", count: 513)
        #expect(await services.answer("POST", "/v1/conversations", #"{"metadata": {"a": "\#(long)"}}"#).status == 400)
    }

    @Test func `conversations survive a restart, with what was added and removed`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("state.conversations").path
        var services = router(ScriptedLanguageModel(.init(texts: ["Yes."])))
        services.conversations = try ConversationStore(file: file)
        let (kept, gone) = (await create(services, #""metadata": {"a": "b"}"#), await create(services))
        _ = await respond(services, #""input": "A", "conversation": "\#(kept)""#)
        let items = await services.answer("GET", "/v1/conversations/\(kept)/items?order=asc")
        let first = (items.json["data"] as? [[String: Any]])?.first?["id"] as? String ?? ""
        _ = await services.answer("DELETE", "/v1/conversations/\(kept)/items/\(first)")
        _ = await services.answer("DELETE", "/v1/conversations/\(gone)")
        _ = await services.answer("POST", "/v1/conversations/\(kept)", #"{"metadata": {"c": "d"}}"#)
        var restarted = router(ScriptedLanguageModel())
        restarted.conversations = try ConversationStore(file: file)
        let again = await restarted.answer("GET", "/v1/conversations/\(kept)")
        #expect(again.json["metadata"] as? [String: String] == ["c": "d"])
        #expect(texts(await restarted.answer("GET", "/v1/conversations/\(kept)/items")) == ["Yes."])
        #expect(await restarted.answer("GET", "/v1/conversations/\(gone)").status == 404)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `whoever has the most loses the oldest conversation`() throws {
        let store = ConversationStore(maximumCount: 3)
        func create(_ id: String, _ client: String) throws {
            try store.create(.init(id: id, createdAt: 0, metadata: [:]), [], client: client)
        }
        try create("a", "one")
        for number in 0..<5 { try create("b\(number)", "two") }
        #expect(store["a"] != nil && store["b2"] == nil && store["b4"] != nil)
        let text = String(repeating: "x", count: 9 << 20)
        let item = try ConversationItem(["role": "user", "content": text]) { $0 + "1" }
        #expect(throws: APIError.self) { try store.append([item], to: "a") }
        #expect(store["a"]?.items.isEmpty == true)
    }

    // MARK: In the background

    private func wait(_ services: Services, _ id: String, until isOver: (String) -> Bool) async throws -> Answer {
        var last: Answer?
        for _ in 0..<3000 {
            let answer = await services.answer("GET", "/v1/responses/\(id)")
            if isOver(answer.json["status"] as? String ?? "") { return answer }
            last = answer
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("it stayed as it was: \(last?.text ?? "")")
        throw CancellationError()
    }

    @Test func `a response in the background is queued, computed and fetched`() async throws {
        let services = router(ScriptedLanguageModel(.init(texts: ["Hello", ", ", "world"], pause: .milliseconds(50))))
        let queued = await respond(services, #""input": "A", "background": true"#)
        check("Response", queued)
        #expect(queued.json["status"] as? String == "queued" && queued.json["background"] as? Bool == true)
        let id = try #require(queued.json["id"] as? String)
        let early = await respond(services, #""input": "B", "previous_response_id": "\#(id)""#)
        #expect(early.error["code"] as? String == "previous_response_not_complete")
        let running = try await wait(services, id) { $0 == "in_progress" }
        check("Response", running)
        let done = try await wait(services, id) { $0 == "completed" }
        check("Response", done)
        #expect(
            done.json["id"] as? String == id && done.json["created_at"] as? Int == queued.json["created_at"] as? Int)
        let output = try #require((done.json["output"] as? [[String: Any]])?.first)
        #expect((output["content"] as? [[String: Any]])?.first?["text"] as? String == "Hello, world")
        #expect(await respond(services, #""input": "B", "previous_response_id": "\#(id)""#).status == 200)
        // One that has ended stays as it is.
        #expect(await services.answer("POST", "/v1/responses/\(id)/cancel").json["status"] as? String == "completed")
        #expect(await services.answer("DELETE", "/v1/responses/\(id)").status == 200)
        #expect(await services.answer("GET", "/v1/responses/\(id)").status == 404)
    }

    @Test func `its events are the same however often and from where they are read`() async throws {
        let services = router(ScriptedLanguageModel(.init(texts: ["Hello", ", ", "world"], pause: .milliseconds(100))))
        let begun = try await services.stream(
            #"{"input": "A", "background": true, "stream": true}"#, at: "/v1/responses")
        let numbers = begun.chunks.map { $0["sequence_number"] as? Int }
        #expect(numbers == Array(0..<begun.chunks.count))
        #expect(
            begun.chunks.prefix(3).map { $0["type"] as? String }
                == ["response.created", "response.queued", "response.in_progress"])
        #expect(begun.chunks.last?["type"] as? String == "response.completed")
        if let specification { for event in begun.chunks { #expect(specification.problems(ofEvent: event) == []) } }
        let id = try #require((begun.chunks.last?["response"] as? [String: Any])?["id"] as? String)
        let path = "/v1/responses/\(id)?stream=true"
        func read(_ path: String) async throws -> EventStream {
            EventStream(try await withShim(services) { try await exchange($0, get(path)) })
        }
        #expect(try await read(path).chunks as NSArray == begun.chunks as NSArray)
        #expect(try await read(path + "&starting_after=4").chunks as NSArray == Array(begun.chunks[5...]) as NSArray)
        // While it is computed, too.
        let queued = await respond(services, #""input": "A", "background": true"#)
        let other = try #require(queued.json["id"] as? String)
        let live = try await read("/v1/responses/\(other)?stream=true&starting_after=1")
        #expect(live.chunks.first?["type"] as? String == "response.in_progress")
        #expect(live.chunks.last?["type"] as? String == "response.completed")
        #expect(live.chunks.map { $0["type"] as? String } == begun.chunks.dropFirst(2).map { $0["type"] as? String })
    }

    @Test func `a cancelled one keeps what it had, and stops the model`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["Hello", ", ", "world"], pause: .seconds(20)))
        let services = router(engine)
        let queued = await respond(services, #""input": "A", "background": true"#)
        let id = try #require(queued.json["id"] as? String)
        _ = try await wait(services, id) { $0 == "in_progress" }
        let cancelled = await services.answer("POST", "/v1/responses/\(id)/cancel")
        check("Response", cancelled)
        #expect(cancelled.json["status"] as? String == "cancelled")
        #expect(await services.answer("POST", "/v1/responses/\(id)/cancel").json["status"] as? String == "cancelled")
        #expect(await services.answer("GET", "/v1/responses/\(id)").json["status"] as? String == "cancelled")
        for _ in 0..<500 where engine.cancellations.withLock({ $0 }) == 0 {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(engine.cancellations.withLock { $0 } == 1)
        let events = EventStream(
            try await withShim(services) { try await exchange($0, get("/v1/responses/\(id)?stream=true")) })
        #expect(events.chunks.first?["type"] as? String == "response.created")
        // The client of one that is not in the background closes its connection.
        let others = router(ScriptedLanguageModel())
        let foreground = await respond(others, #""input": "A""#)
        let other = foreground.json["id"] as? String ?? ""
        #expect(await others.answer("POST", "/v1/responses/\(other)/cancel").status == 400)
    }

    @Test func `one that fails says why`() async throws {
        let services = router(ScriptedLanguageModel(.init(texts: ["Hello"], error: .queueFull(limit: 3))))
        let queued = await respond(services, #""input": "A", "background": true"#)
        let failed = try await wait(services, queued.json["id"] as? String ?? "") { $0 == "failed" }
        check("Response", failed)
        #expect((failed.json["error"] as? [String: Any])?["message"] is String)
        // Before anything was computed, too.
        let long = router(ScriptedLanguageModel(.init(renderingError: .templateFailed("no such role"))))
        let never = await respond(long, #""input": "A", "background": true"#)
        let why = try await wait(long, never.json["id"] as? String ?? "") { $0 == "failed" }
        check("Response", why)
        #expect(((why.json["error"] as? [String: Any])?["message"] as? String)?.contains("no such role") == true)
        let unknown = await long.answer("POST", "/v1/responses", #"{"model": "x", "input": "A", "background": true}"#)
        #expect(unknown.status == 404)
        let unstored = await respond(long, #""input": "A", "background": true, "store": false"#)
        #expect(unstored.status == 400 && unstored.error["param"] as? String == "background")
    }

    @Test func `a client has a limited number of them at once`() async throws {
        let services = router(ScriptedLanguageModel(.init(pause: .seconds(20))))
        var statuses: [Int] = []
        for _ in 0..<17 { statuses.append(await respond(services, #""input": "A", "background": true"#).status) }
        #expect(statuses == Array(repeating: 200, count: 16) + [429])
    }

    @Test func `one that was not complete when the server stopped has failed`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("state").path
        var services = router(ScriptedLanguageModel(.init(pause: .seconds(20))))
        services.responses = try ResponseStore(file: file)
        let queued = await respond(services, #""input": "A", "background": true"#)
        var restarted = router(ScriptedLanguageModel())
        restarted.responses = try ResponseStore(file: file)
        let answer = await restarted.answer("GET", "/v1/responses/\(queued.json["id"] as? String ?? "")")
        check("Response", answer)
        #expect(answer.json["status"] as? String == "failed")
    }

    @Test func `one adds to its conversation when it is complete`() async throws {
        let services = router(ScriptedLanguageModel(.init(texts: ["Yes."])))
        let id = await create(services)
        let queued = await respond(services, #""input": "A", "background": true, "conversation": "\#(id)""#)
        _ = try await wait(services, queued.json["id"] as? String ?? "") { $0 == "completed" }
        #expect(texts(await services.answer("GET", "/v1/conversations/\(id)/items?order=asc")) == ["A", "Yes."])
    }

    // MARK: Compaction

    @Test func `a compacted conversation is the user's messages and a summary, which goes on`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["They ", "agreed."], contextSize: 2048))
        let services = router(engine)
        let compacted = await services.answer(
            "POST", "/v1/responses/compact",
            #"""
            {"model": "Test-Q4", "instructions": "Be brief.", "input": [{"role": "user", "content": "A"},
                {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}]}
            """#)
        check("CompactResource", compacted)
        let asked = engine.rendered.withLock { $0.last?.messages ?? [] }
        #expect(asked.dropLast().map(\.content) == ["Be brief.", "A", "B", "C"] && asked.last?.role == .user)
        let output = try #require(compacted.json["output"] as? [[String: Any]])
        #expect(output.map { $0["type"] as? String } == ["message", "message", "compaction"])
        #expect(compacted.usage["output_tokens"] as? Int ?? 0 > 0)
        let input = String(decoding: try JSONSerialization.data(withJSONObject: output), as: UTF8.self)
        let next = await respond(services, #""input": \#(input.dropLast()), {"role": "user", "content": "D"}]"#)
        #expect(next.status == 200, "\(next.text)")
        let messages = engine.rendered.withLock { $0.last?.messages ?? [] }.map(\.content)
        #expect(messages.joined(separator: "\n").contains("They agreed.") && messages.joined().hasSuffix("D"))
        #expect((next.json["metadata"] as? [String: String]) == [:])
        #expect(
            await services.answer("POST", "/v1/responses/compact", #"{"model": "Test-Q4"}"#).error["param"] as? String
                == "input")
        let id = next.json["id"] as? String ?? ""
        #expect(
            await services.answer(
                "POST", "/v1/responses/compact", #"{"model": "Test-Q4", "previous_response_id": "\#(id)"}"#
            ).status == 200)
    }
}

private func get(_ path: String) -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
}
