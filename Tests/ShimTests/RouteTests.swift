import Foundation
import HTTP
import Synchronization
import Testing

@testable import LocalLLM
@testable import Shim

@Suite struct RouteTests {
    @Test func `health says whether the model is there`() async {
        let loading = await router(nil).answer("GET", "/health")
        #expect(loading.status == 503)
        #expect(loading.json as? [String: String] == ["status": "loading"])
        let ready = await router(ScriptedLanguageModel()).answer("GET", "/health")
        #expect(ready.status == 200)
        #expect(ready.json as? [String: String] == ["status": "ok"])
        #expect(await router(nil).answer("GET", "/ready").status == 503)
        #expect(await router(ScriptedLanguageModel()).answer("GET", "/ready").status == 200)
    }

    @Test func `a server whose every place is taken is not ready, but healthy`() async {
        let full = router(ScriptedLanguageModel(.init(isFull: true)))
        let answer = await full.answer("GET", "/ready")
        #expect(answer.status == 503)
        #expect(answer.json as? [String: String] == ["status": "full"])
        #expect(await full.answer("GET", "/health").status == 200)
    }

    @Test func `the version has a route`() async {
        let answer = await router(ScriptedLanguageModel()).answer("GET", "/version")
        #expect(answer.json as? [String: String] == ["version": version])
    }

    @Test func `props say what computes`() async {
        #expect(await router(nil).answer("GET", "/props").status == 500)  // its file is not there
        let props = await router(ScriptedLanguageModel()).answer("GET", "/props").json
        #expect(props["tier"] as? String == "portable")
        #expect(props["kernels"] as? String == "scripted")
        #expect((props["memory_available"] as? Int ?? 0) > 0)
        #expect(
            (props["default_generation_settings"] as? [String: Any])?["n_ctx"] as? Int
                == ScriptedLanguageModel().contextSize)
    }

    @Test func `23: the model is listed under its file's name, or its alias`() async {
        for (alias, id) in [(nil, "Test-Q4"), ("my/model", "my/model")] {
            let router = router(ScriptedLanguageModel(), alias: alias)
            let list = await router.answer("GET", "/v1/models")
            #expect(list.json["object"] as? String == "list")
            #expect((list.json["data"] as? [[String: Any]])?.map { $0["id"] as? String } == [id])
            for name in [id, "Test-Q4", "Test-Q4.gguf"] {
                #expect(await router.answer("GET", "/v1/models/\(name)").json["id"] as? String == id)
                #expect(await router.chat(model: name).status == 200)
            }
        }
    }

    @Test func `23: another model is not found`() async {
        let router = router(ScriptedLanguageModel())
        for answer in [await router.answer("GET", "/v1/models/gpt-4o"), await router.chat(model: "gpt-4o")] {
            #expect(answer.status == 404)
            #expect(answer.error["code"] as? String == "model_not_found")
            #expect((answer.error["message"] as? String)?.contains("gpt-4o") == true)
        }
        #expect(await router.answer("POST", "/v1/chat/completions", #"{"messages":[]}"#).status == 400)
    }

    @Test func `an unknown path is a 404, a wrong method a 405 that names the right ones`() async {
        let router = router(ScriptedLanguageModel())
        for path in ["/page", "/page/", "/v1", "/v1/models/", "/v1/chat/completions/", "/V1/models"] {
            let answer = await router.answer("GET", path)
            #expect(answer.status == 404)
            #expect(Set(answer.error.keys) == ["message", "type", "param", "code"])
        }
        for (method, path, allow) in [
            ("POST", "/health", "GET, HEAD"), ("DELETE", "/v1/models", "GET, HEAD"),
            ("PUT", "/v1/models/x", "GET, HEAD"), ("GET", "/v1/chat/completions", "POST"), ("GET", "/tokenize", "POST"),
            ("POST", "/metrics", "GET, HEAD"),
            ("OPTIONS", "/v1/chat/completions", "POST"),
        ] {
            let answer = await router.answer(method, path)
            #expect(answer.status == 405)
            #expect(answer.headers["Allow"] == allow)
            #expect(answer.error["type"] as? String == "invalid_request_error")
        }
    }

    @Test func `a whole answer`() async {
        let engine = ScriptedLanguageModel()
        let answer = await router(engine).chat()
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "application/json")
        #expect(answer.json["object"] as? String == "chat.completion")
        #expect((answer.json["id"] as? String)?.hasPrefix("chatcmpl-") == true)
        #expect((answer.json["system_fingerprint"] as? String)?.hasPrefix("fp_") == true)
        #expect(answer.json["model"] as? String == "Test-Q4")
        #expect((answer.choice["message"] as? [String: Any])?["content"] as? String == "Hello, wörld")
        #expect(answer.choice["finish_reason"] as? String == "stop")
        #expect(answer.usage["total_tokens"] as? Int == 10)
        let cut = await router(ScriptedLanguageModel(.init(reason: .length))).chat()
        #expect(cut.choice["finish_reason"] as? String == "length")
    }

    @Test func `ids differ, fingerprints do not`() async {
        let router = router(ScriptedLanguageModel())
        let (one, two) = (await router.chat().json, await router.chat().json)
        #expect(one["id"] as? String != two["id"] as? String)
        #expect(one["system_fingerprint"] as? String == two["system_fingerprint"] as? String)
    }

    @Test func `what is asked reaches the engine`() async {
        let engine = ScriptedLanguageModel()
        _ = await router(engine).answer(
            "POST", "/v1/chat/completions",
            """
            {"model": "Test-Q4", "messages": [
              {"role": "developer", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
              {"role": "assistant", "content": "Yes?"}],
             "temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "typical_p": 0.8, "repeat_penalty": 1.1,
             "repetition_penalty": 1.3, "presence_penalty": 1, "frequency_penalty": -1, "logit_bias": {"5": -100},
             "seed": -1, "max_tokens": 10, "max_completion_tokens": 20, "stop": "x"}
            """)
        let options = engine.asked.withLock { $0[0].options }
        #expect(engine.rendered.withLock { $0[0].messages } == [.system("Be brief."), .user("Hi"), .assistant("Yes?")])
        #expect(
            options
                == SamplingOptions(
                    temperature: 0.5, topK: 0, topP: 0.9, minP: 0.1, typicalP: 0.8, repetitionPenalty: 1.3,
                    presencePenalty: 1, frequencyPenalty: -1, logitBias: [5: -100], seed: .max, maximumTokens: 20,
                    stop: ["x"]))
    }

    @Test func `nothing asked leaves the choice to the model`() async {
        let engine = ScriptedLanguageModel()
        _ = await router(engine).chat()
        #expect(engine.asked.withLock { $0[0].options } == SamplingOptions())
        _ = await router(engine).chat(#""max_tokens": 9223372036854775807"#)
        #expect(engine.asked.withLock { $0[1].options.maximumTokens } == 1 << 30)
    }

    @Test(arguments: ["false", "true"])
    func `a prompt that does not fit is a 400 with both numbers, streamed or not`(_ stream: String) async {
        let error = LocalModelError.contextSizeExceeded(contextSize: 128, tokenCount: 500)
        let answer = await router(ScriptedLanguageModel(.init(texts: [], error: error))).chat(#""stream": \#(stream)"#)
        #expect(answer.status == 400)
        #expect(answer.error["code"] as? String == "context_length_exceeded")
        #expect(answer.error["param"] as? String == "messages")
        let message = answer.error["message"] as? String ?? ""
        #expect(message.hasPrefix("This model's maximum context length is 128 tokens."))
        #expect(message.contains("500 tokens"))
    }

    @Test(arguments: [
        (LocalModelError.templateFailed("no system role"), 400), (.invalidOption("topK: too large"), 400),
        (.noTokenizer("none in the file"), 501), (.shutDown, 503),
    ])
    func `the engine's other errors`(_ error: LocalModelError, _ status: Int) async {
        let answer = await router(ScriptedLanguageModel(.init(texts: [], error: error))).chat()
        #expect(answer.status == status)
        #expect(answer.error["message"] as? String != "")
    }

    @Test func `a body that is no chat request never reaches the engine`() async {
        let engine = ScriptedLanguageModel()
        let router = router(engine)
        for body in ["", "{", "[]", chatBody(#""n": 0"#), chatBody(#""tools": [{}]"#), chatBody() + "x"] {
            let answer = await router.answer("POST", "/v1/chat/completions", body)
            #expect(answer.status == 400)
            #expect(answer.error["type"] as? String == "invalid_request_error")
        }
        #expect(engine.asked.withLock { $0.isEmpty })
    }
}
