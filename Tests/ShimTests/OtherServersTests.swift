import Foundation
import JSON
import Providers
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
        #expect(metrics.contains("shim_generated_tokens_total{model=\"Test-Q4\"} 14\n"))
    }

    @Test func `every field of the table that is served has a binding, and its value comes back`() throws {
        let served = SamplingField.all.filter(\.isServed).map(\.name)
        let bound = SamplingBinding.all.map(\.field.name)
        #expect(Set(bound).count == bound.count)
        #expect(Set(bound + SamplingBinding.unbound) == Set(served))
        let body = """
            {"temperature": 0.5, "top_p": 0.25, "top_k": 3, "min_p": 0.5, "typical_p": 0.5, "top_n_sigma": 1.5,
             "presence_penalty": 1, "frequency_penalty": -1, "repetition_penalty": 1.5, "repeat_last_n": 7,
             "logit_bias": [[5, -1]], "seed": -3, "xtc_probability": 0.5, "xtc_threshold": 0.25, "dry_multiplier": 2,
             "dry_base": 3, "dry_allowed_length": 4, "dry_penalty_last_n": 5, "dry_sequence_breakers": ["x"],
             "dynatemp_range": 0.5, "dynatemp_exponent": 2, "mirostat": 2, "mirostat_tau": 4, "mirostat_eta": 0.5,
             "lora": [{"id": 1, "scale": 0.5}], "max_completion_tokens": 9, "min_tokens": 2, "ignore_eos": true,
             "stop": ["a"], "stop_token_ids": [1, 2], "return_progress": true, "cache_salt": "s", "id_slot": 2}
            """
        let json = try JSON(body: Array(body.utf8))
        var options = SamplingOptions()
        options.apply(try json.decoded(SamplingFields.self))
        for binding in SamplingBinding.all {
            let expected = binding.field.name == "cache_salt" ? .string(" s") : json[binding.field.name]
            #expect(binding.get(options) == expected, "\(binding.field.name)")
            #expect(binding.get(SamplingOptions()) == nil, "\(binding.field.name)")
        }
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

    @Test func `prompts may mix texts and ids, and a bias may name a text`() async throws {
        let engine = ScriptedLanguageModel()
        let router = router(engine)
        let body =
            #"{"prompt": [68, "AB", 69], "n_predict": 3, "logit_bias": [["AB", -2], [68, 1], ["\u00e9", false]]}"#
        let answer = await router.answer("POST", "/completion", body)
        #expect(answer.status == 200 && answer.json["prompt"] as? String == "AABB")
        let asked = engine.asked.withLock { $0[0] }
        #expect(asked.tokens == [68, 68, 69, 69])
        #expect(asked.options.logitBias == [68: -1, 69: -2, 198: -100, 172: -100])
        let several = await router.answer("POST", "/completion", #"{"prompt": [{"prompt_string": "A"}, [68, "B"]]}"#)
        #expect(several.status == 200)
        #expect(engine.asked.withLock { Set($0.dropFirst().map(\.tokens)) } == [[68], [68, 69]])
        #expect(await router.complete(#""prompt": ["A", 69], "logit_bias": {"A": 5}"#).status == 200)
        #expect(engine.asked.withLock { $0.last?.options.logitBias } == [68: 5])
    }

    @Test func `an empty prompt has an empty answer`() async {
        let engine = ScriptedLanguageModel()
        let answer = await router(engine).answer("POST", "/completion", #"{"prompt": ""}"#)
        #expect(answer.status == 200 && answer.json["content"] as? String == "")
        #expect(answer.json["stop_type"] as? String == "none" && answer.json["tokens_predicted"] as? Int == 0)
        #expect(engine.asked.withLock { $0.isEmpty })
    }

    @Test func `a completion has only the fields that were asked for`() async throws {
        let router = router(ScriptedLanguageModel(.init(texts: ["A"])))
        let fields =
            #""n_probs": 1, "n_predict": 3, "response_fields": ["content", "generation_settings/n_predict", "x/y", "completion_probabilities"]"#
        let answer = await router.answer("POST", "/completion", #"{"prompt": "Once", \#(fields)}"#)
        let names: Set = ["content", "generation_settings/n_predict", "completion_probabilities"]
        #expect(Set(answer.json.keys) == names)
        #expect(answer.json["generation_settings/n_predict"] as? Int == 3)
        #expect((answer.json["completion_probabilities"] as? [Any])?.count == 1)
        let stream = try await router.stream(#"{"prompt": "Once", "stream": true, \#(fields)}"#, at: "/completion")
        #expect(stream.chunks.first?["stop"] as? Bool == false)
        #expect(Set((stream.chunks.last ?? [:]).keys).isSubset(of: names))
    }

    @Test func `reasoning is left out, or left in the content, on request`() async {
        let router = router(ScriptedLanguageModel(.init(texts: ["<think>\nHm\n</think>\n\nYes"])))
        let separate = await router.chat(#""reasoning_format": "deepseek""#).message
        #expect(separate["content"] as? String == "Yes" && separate["reasoning_content"] as? String == "Hm")
        let omitted = await router.chat(#""include_reasoning": false"#).message
        #expect(omitted["content"] as? String == "Yes" && omitted["reasoning_content"] == nil)
        let whole = await router.chat(#""reasoning_format": "none""#).message
        #expect((whole["content"] as? String)?.contains("<think>\nHm\n</think>") == true)
        #expect(whole["reasoning_content"] == nil)
    }

    @Test func `outlines' regex constrains the answer`() async {
        let engine = ScriptedLanguageModel()
        #expect(await router(engine).chat(#""regex": "a+""#).status == 200)
        #expect(engine.asked.withLock { $0[0].options.constraint } != nil)
        let both = await router(engine).chat(#""regex": "a+", "guided_regex": "b""#)
        #expect(both.error["param"] as? String == "regex")
    }

    @Test func `inputs of embeddings are cut on request`() async {
        func tokens(_ fields: String) async -> Int? {
            let body = #"{"model": "Test-Q4", \#(fields)}"#
            let answer = await router(ScriptedLanguageModel()).answer("POST", "/v1/embeddings", body)
            return answer.usage["prompt_tokens"] as? Int
        }
        #expect(await tokens(#""input": "abcdef", "truncate_prompt_tokens": 4"#) == 4)
        #expect(await tokens(#""input": ["abcdef", "a"], "truncate_prompt_tokens": 4"#) == 5)
        let long = String(repeating: "a", count: 300)
        #expect(await tokens(#""input": "\#(long)", "truncate_prompt_tokens": -1"#) == 128)
        #expect(await tokens(#""input": "\#(long)""#) == nil)
    }
}
