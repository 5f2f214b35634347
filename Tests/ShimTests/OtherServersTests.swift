import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// What llama.cpp and vLLM accept beyond OpenAI's API.
@Suite(.timeLimit(.minutes(2))) struct OtherServersTests {
    @Test(arguments: ["max_tokens", "max_completion_tokens", "n_predict"])
    func `a limit of -1 is the end of the context, and 0 only computes the prompt`(_ field: String) async throws {
        let engine = ScriptedLanguageModel()
        let router = router(engine)
        #expect(await router.chat("\"\(field)\": -1").status == 200)
        #expect(engine.asked.withLock { $0.last?.options.maximumTokens } == nil)
        let answer = await router.chat("\"\(field)\": 0, \"logprobs\": true, \"n\": 2")
        #expect(answer.status == 200)
        #expect(answer.choices.map { ($0["message"] as? [String: Any])?["content"] as? String } == ["", ""])
        #expect(answer.choices.map { $0["finish_reason"] as? String } == ["length", "length"])
        #expect(answer.usage["prompt_tokens"] as? Int == 7 && answer.usage["completion_tokens"] as? Int == 0)
        // The engine computes the prompt, so that the next request finds it in the prefix cache.
        #expect(engine.asked.withLock { $0.count } == 3)
        let stream = try await router.stream(chatBody("\"\(field)\": 0, \"stream\": true"))
        #expect(stream.content() == "" && stream.choices.last?["finish_reason"] as? String == "length")
        let metrics = await router.answer("GET", "/metrics").text
        #expect(metrics.contains("shim_generated_tokens_total 14\n"))
    }

    @Test func `a response of 0 tokens is empty`() async {
        let answer = await router(ScriptedLanguageModel())
            .answer("POST", "/v1/responses", #"{"model": "Test-Q4", "input": "x", "n_predict": 0}"#)
        #expect(answer.status == 200 && answer.json["status"] as? String == "incomplete", "\(answer.text)")
        #expect(answer.usage["output_tokens"] as? Int == 0)
    }

    @Test func `completions have the same limits`() async {
        let engine = ScriptedLanguageModel()
        let router = router(engine)
        #expect(await router.complete(#""prompt": "x", "max_tokens": -1"#).choice["text"] as? String == "Hello, wörld")
        #expect(engine.asked.withLock { $0.last?.options.maximumTokens } == nil)
        let empty = await router.complete(#""prompt": ["x", "y"], "max_tokens": 0, "logprobs": 1"#)
        #expect(empty.choices.map { $0["text"] as? String } == ["", ""])
        #expect(empty.choices.map { $0["finish_reason"] as? String } == ["length", "length"])
        #expect(empty.usage["completion_tokens"] as? Int == 0)
        #expect(engine.asked.withLock { $0.count } == 3)
        let llama = await router.answer("POST", "/completion", #"{"prompt": "x", "n_predict": 0}"#)
        #expect(llama.json["content"] as? String == "" && llama.json["stop_type"] as? String == "limit")
        #expect((llama.json["generation_settings"] as? [String: Any])?["n_predict"] as? Int == 0)
        #expect(engine.asked.withLock { $0.count } == 4)
    }

    @Test func `a prompt that was only computed is in the prefix cache`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(from: TinyModel().write(in: directory))
        let router = router(model)
        let prompt = String(repeating: "ab", count: 40)
        let computed = await router.answer("POST", "/completion", #"{"prompt": "\#(prompt)", "n_predict": 0}"#)
        #expect(computed.json["tokens_predicted"] as? Int == 0)
        let next = await router.answer("POST", "/completion", #"{"prompt": "\#(prompt)", "n_predict": 1}"#)
        #expect((next.json["tokens_cached"] as? Int ?? 0) >= 32)
    }

    @Test func `calls without arguments and results without content are read`() async throws {
        let router = router(ScriptedLanguageModel())
        let call = #"{"id":"c","type":"function","function":{"name":"f","arguments":null}}"#
        let answer = await router.chat(
            messages:
                #"{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[\#(call)]},{"role":"tool","tool_call_id":"c","content":null}"#
        )
        #expect(answer.status == 200)
        let message = #"{"role":"assistant","tool_calls":[\#(call)]}"#
        let read = ChatMessage(try JSON.decode(RequestMessage.self, from: Array(message.utf8)))
        #expect(read.toolCalls == [.init(id: "c", name: "f", arguments: "{}")])
    }
}
