import Foundation
import Synchronization
import Template
import TestSupport
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// Chats and completions of Ollama's API.
@Suite struct OllamaTests {
    private func engine(_ texts: [String], _ change: (inout ScriptedLanguageModel.Script) -> Void = { _ in })
        -> ScriptedLanguageModel
    {
        var script = ScriptedLanguageModel.Script(texts: texts, dialect: toolDialect)
        change(&script)
        return ScriptedLanguageModel(script)
    }

    private func body(_ fields: String = "", messages: String = #"{"role":"user","content":"Hi"}"#) -> String {
        #"{"model":"Test-Q4","messages":[\#(messages)]\#(fields.isEmpty ? "" : ", " + fields)}"#
    }

    private func chat(_ engine: ScriptedLanguageModel, _ fields: String = "") async -> Answer {
        await router(engine).answer(
            "POST", "/api/chat", body(#""stream":false"# + (fields.isEmpty ? "" : ", " + fields)))
    }

    private func generate(_ engine: ScriptedLanguageModel, _ fields: String) async -> Answer {
        await router(engine).answer("POST", "/api/generate", #"{"model":"Test-Q4","stream":false,\#(fields)}"#)
    }

    private func message(_ answer: Answer) -> [String: Any] { answer.json["message"] as? [String: Any] ?? [:] }

    private func error(_ answer: Answer) -> String { answer.json["error"] as? String ?? "" }

    private func lines(_ text: String) -> [[String: Any]] {
        text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("{") }.compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }

    /// The lines with text and the last one: where the machine is slow, others have kept the stream open.
    private func pieces(_ text: String) -> [[String: Any]] {
        lines(text).filter { line in
            let content = (line["message"] as? [String: Any])?["content"] ?? line["response"]
            return content as? String != "" || line["done"] as? Bool == true
        }
    }

    // MARK: Answers

    @Test func `a chat is streamed as lines of JSON unless the request says otherwise`() async throws {
        let stream = try await router(engine(["Hello", " there"])).stream(body(), at: "/api/chat")
        #expect(stream.text.contains("Content-Type: application/x-ndjson"))
        let lines = pieces(stream.text)
        #expect(lines.map { ($0["message"] as? [String: Any])?["content"] as? String } == ["Hello", " there", ""])
        #expect(lines.map { $0["done"] as? Bool } == [false, false, true])
        #expect(lines.allSatisfy { $0["model"] as? String == "Test-Q4" && $0["created_at"] is String })
        #expect(lines.last?["done_reason"] as? String == "stop")
        #expect(lines.last?["prompt_eval_count"] as? Int == 7)
        #expect(lines.last?["eval_count"] as? Int == 2)
        for name in ["total", "load", "prompt_eval", "eval"] { #expect(lines.last?["\(name)_duration"] is Int) }
        #expect(lines.first?["total_duration"] == nil)
    }

    @Test func `a whole chat has text, thoughts and calls with their arguments as an object`() async {
        let answer = await chat(engine(["<think>Hm</think>So: ", ToolTests.call]), ToolTests.tools)
        #expect(answer.status == 200)
        #expect(message(answer)["thinking"] as? String == "Hm")
        #expect(message(answer)["content"] as? String == "So:")
        let call = (message(answer)["tool_calls"] as? [[String: Any]])?.first
        let function = call?["function"] as? [String: Any]
        #expect(function?["name"] as? String == "weather")
        #expect(function?["arguments"] as? [String: String] == ["city": "York"])
        #expect(answer.json["done_reason"] as? String == "stop")
    }

    @Test func `a streamed call is one line`() async throws {
        let stream = try await router(engine([ToolTests.call, ToolTests.second])).stream(
            body(ToolTests.tools), at: "/api/chat")
        let calls = lines(stream.text).compactMap { ($0["message"] as? [String: Any])?["tool_calls"] }
        #expect(calls.count == 2)
    }

    @Test func `a completion has its text in response`() async throws {
        let whole = await generate(engine(["Hello", " there"]), #""prompt":"Hi","system":"Be brief.""#)
        #expect(whole.json["response"] as? String == "Hello there")
        #expect(whole.json["message"] == nil && whole.json["done"] as? Bool == true)
        let stream = try await router(engine(["Hello", " there"])).stream(
            #"{"model":"Test-Q4","prompt":"Hi"}"#, at: "/api/generate")
        #expect(pieces(stream.text).map { $0["response"] as? String } == ["Hello", " there", ""])
    }

    @Test func `probabilities are listed in the form of chats`() async throws {
        let answer = await chat(engine(["a", "b"]), #""logprobs":true,"top_logprobs":2"#)
        let listed = try #require(answer.json["logprobs"] as? [[String: Any]])
        #expect(listed.first?["token"] as? String == "a")
        #expect((listed.first?["top_logprobs"] as? [Any])?.count == 2)
    }

    @Test func `an error after the first line is a line`() async throws {
        let stream = try await router(engine(["a"]) { $0.error = .shutDown }).stream(body(), at: "/api/chat")
        #expect(lines(stream.text).last?["error"] as? String == "The server is shutting down.")
    }

    @Test func `a long prefill is bridged by lines without text`() async throws {
        let services = router(engine(["a"]) { $0.prefill = .seconds(2) }, pingInterval: .milliseconds(600))
        let lines = lines(try await services.stream(body(), at: "/api/chat").text)
        #expect(lines.count > 2)
        #expect(lines.first?["done"] as? Bool == false)
        #expect((lines.first?["message"] as? [String: Any])?["content"] as? String == "")
    }

    // MARK: Requests

    @Test func `the system's text, thoughts, calls and results reach the template`() async throws {
        let engine = engine(["Hi"])
        let messages = #"""
            {"role":"system","content":"Be brief."},{"role":"user","content":"Weather?"},
            {"role":"assistant","content":"","thinking":"Hm","tool_calls":[
            {"function":{"name":"time","arguments":{}}},
            {"function":{"name":"weather","arguments":{"city":"York"}}}]},
            {"role":"tool","tool_name":"weather","content":"wet"},{"role":"tool","content":"noon"}
            """#
        let answer = await router(engine).answer(
            "POST", "/api/chat", body(#""stream":false"#, messages: messages))
        #expect(answer.status == 200)
        let seen = try #require(engine.rendered.withLock { $0.last }).messages
        #expect(seen.map(\.role.rawValue).suffix(2) == ["tool", "tool"])
        let caller = try #require(seen.first { $0.toolCalls != nil })
        #expect(caller.reasoning == "Hm")
        #expect(caller.toolCalls?.last?.arguments == #"{"city":"York"}"#)
        let results = seen.filter { $0.role == .tool }
        #expect(results.map(\.toolCallID) == [caller.toolCalls?.last?.id, caller.toolCalls?.first?.id])
        #expect(results.map(\.name) == ["weather", "time"])
    }

    @Test func `options choose the tokens, and those without effect are named`() async throws {
        let engine = engine(["Hi"])
        let services = router(engine)
        let options = """
            "options":{"num_predict":5,"temperature":0.5,"top_k":7,"top_p":0.5,"min_p":0.1,"seed":3,"stop":["x"],
            "repeat_penalty":1.5,"num_ctx":4096,"num_thread":2,"made_up":1}
            """
        let response = try await throughDoor(services, post("/api/chat", body(#""stream":false,"# + options)))
        #expect(response.head.contains("x-warning: options without effect: num_ctx, num_thread, made_up"))
        let asked = try #require(engine.asked.withLock { $0.last }).options
        #expect(asked.maximumTokens == 5 && asked.temperature == 0.5 && asked.topK == 7 && asked.seed == 3)
    }

    @Test(arguments: [("-1", nil), ("-2", nil), ("5", 5)] as [(String, Int?)])
    func `negative limits are none`(_ limit: String, _ expected: Int?) async throws {
        let engine = engine(["Hi"])
        let answer = await chat(engine, #""options":{"num_predict":\#(limit),"seed":-1}"#)
        #expect(answer.status == 200)
        let options = try #require(engine.asked.withLock { $0.last }).options
        #expect(options.seed != UInt64(bitPattern: -1))
        if let expected { #expect(options.maximumTokens == expected) }
    }

    @Test func `think switches the template's variables or sets the effort`() async throws {
        for (think, name) in [("true", "enable_thinking"), (#""high""#, "reasoning_effort")] {
            let engine = engine(["Hi"])
            #expect(await chat(engine, #""think":\#(think)"#).status == 200)
            let variables = try #require(engine.rendered.withLock { $0.last }).variables
            #expect(variables[name] == (name == "enable_thinking" ? .bool(true) : .string("high")))
        }
        let answer = await chat(engine(["<think>Hm</think>Hi"]), #""think":false"#)
        #expect(message(answer)["thinking"] == nil && message(answer)["content"] as? String == "Hi")
    }

    @Test func `a format constrains the answer`() async {
        let json = await chat(engine(["{}"]), #""format":"json""#)
        #expect(json.status == 200)
        let schema = await chat(engine(["{}"]), #""format":{"type":"object","properties":{"a":{"type":"string"}}}"#)
        #expect(schema.status == 200)
        let other = await chat(engine(["{}"]), #""format":"yaml""#)
        #expect(other.status == 400 && error(other).hasPrefix("format: "))
    }

    @Test func `a raw prompt has no template`() async throws {
        let engine = engine(["c"])
        let answer = await generate(engine, #""prompt":"ab","raw":true"#)
        #expect(answer.json["response"] as? String == "c")
        #expect(engine.rendered.withLock { $0.isEmpty })
        #expect(engine.asked.withLock { $0.last?.tokens } == ScriptedLanguageModel.tokens("ab"))
    }

    @Test(
        arguments: [
            (#""prompt":"a","template":"{{ .Prompt }}""#, "raw: true"), (#""prompt":"a","context":[1]"#, "/api/chat"),
            (#""prompt":"a","suffix":"b""#, "fill-in-the-middle"), (#""prompt":"a","think":"much""#, "think: "),
            (#""prompt":"a","images":["aGk="]"#, "--mmproj"), (#""prompt":"a","options":{"top_p":2}"#, "top_p: "),
            (#""prompt":"a","options":{"top_k":"x"}"#, "options.top_k: "),
            (#""prompt":"a","keep_alive":"5 days""#, "keep_alive: "), (#""prompt":5"#, "prompt: "),
        ])
    func `what cannot be served is a 400 that says what to do`(_ fields: String, _ text: String) async {
        let answer = await generate(engine(["c"]), fields)
        #expect(answer.status == 400)
        #expect(error(answer).contains(text), "\(answer.text)")
    }

    // MARK: Models

    @Test func `an unknown model is a 404 in Ollama's form, for each method and path`() async {
        let services = router(engine(["a"]))
        let answer = await services.answer("POST", "/api/chat", #"{"model":"other","messages":[]}"#)
        #expect(answer.status == 404)
        #expect(error(answer).hasPrefix("model 'other' not found"))
        let method = await services.answer("GET", "/api/chat")
        #expect(method.status == 405 && !error(method).isEmpty)
        let broken = await services.answer("POST", "/api/generate", "{")
        #expect(broken.status == 400 && !error(broken).isEmpty)
    }

    @Test(arguments: ["Test-Q4:latest", "test:Q4", "hf.co/someone/Test-GGUF:q4"])
    func `OpenAI's routes know names with a tag, too`(_ name: String) async {
        let services = router(ScriptedLanguageModel())
        let chat = #"{"model": "\#(name)", "messages": [{"role": "user", "content": "hi"}]}"#
        #expect(await services.answer("POST", "/v1/chat/completions", chat).status == 200)
        for unknown in ["other:latest", "hf:someone/other", ":"] {
            let other = chat.replacing(name, with: unknown)
            #expect(await services.answer("POST", "/v1/chat/completions", other).status == 404, "\(unknown)")
        }
    }

    @Test func `a model answers to its name with the tag latest, or with its quantization as the tag`() async {
        for name in ["Test-Q4", "Test-Q4:latest", "test:Q4", "hf.co/someone/Test-GGUF:q4", "Test", "test:latest"] {
            let answer = await router(engine(["a"])).answer(
                "POST", "/api/chat", #"{"model":"\#(name)","stream":false,"messages":[{"role":"user","content":"a"}]}"#)
            #expect(answer.status == 200, "\(name)")
            #expect(answer.json["model"] as? String == name)
        }
        for name in ["Test:Q8_0", "Tes", "hf.co/someone/Other-GGUF:Q4", "someone/Test:Q4"] {
            #expect(router(engine(["a"])).models.id(ofTagged: name) == nil, "\(name)")
        }
    }

    @Test func `a request without messages loads the model, or unloads it`() async throws {
        let services = router(engine(["a"]))
        let only = try #require(services.models.only)
        let load = await services.answer("POST", "/api/chat", #"{"model":"Test-Q4","messages":[]}"#)
        #expect(load.json["done_reason"] as? String == "load" && load.json["done"] as? Bool == true)
        #expect(message(load)["content"] as? String == "")
        let unload = await services.answer("POST", "/api/generate", #"{"model":"Test-Q4","keep_alive":0}"#)
        #expect(unload.json["done_reason"] as? String == "unload" && unload.json["response"] as? String == "")
        #expect(only.loaded == nil)
    }

    @Test func `the last request says how long a model stays`() async throws {
        let (machine, directory) = (FakeMachine(), try TemporaryDirectory())
        _ = try TinyModel().write(in: directory, as: "a.gguf")
        let store = ModelStore(
            ModelCatalog(directory: directory.url), idleUnload: .seconds(100), tools: machine.tools)
        func use(_ keepAlive: KeepAlive?) async throws {
            _ = try await store.lease(for: "a", patience: nil, keepAlive: keepAlive)
        }
        func isLoaded() throws -> Bool { try store.model(named: "a").loaded != nil }
        try await use(.limited(.seconds(10)))
        #expect(await eventually { machine.sleeperCount == 1 })
        machine.advance(by: .seconds(10))
        #expect(await eventually { (try? isLoaded()) == false })
        try await use(.forever)
        machine.advance(by: .seconds(1000))
        #expect(try isLoaded())
        try await use(nil)
        #expect(await eventually { machine.sleeperCount == 1 })
        machine.advance(by: .seconds(100))
        #expect(await eventually { (try? isLoaded()) == false })
        try await use(.notAtAll)
        #expect(await eventually { (try? isLoaded()) == false })
    }
}
