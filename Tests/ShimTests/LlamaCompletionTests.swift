import CommandLineParsing
import Foundation
import HTTP
import TestSupport
import Testing
import Synchronization
import Template
import Wire

@testable import LocalLLM
@testable import Shim

/// What clients of llama.cpp's server send and expect.
@Suite(.timeLimit(.minutes(2))) struct LlamaCompletionTests {
    private func complete(_ engine: ScriptedLanguageModel, _ fields: String, at path: String = "/completion") async
        -> Answer
    {
        await router(engine).answer("POST", path, "{\(fields)}")
    }

    @Test func `a completion has the text, how it ended, what it cost and what it was sampled with`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["a\n", "b"], cachedTokens: 3))
        let answer = await complete(engine, #""prompt": "Once", "n_predict": 5, "seed": -1, "return_tokens": true"#)
        #expect(answer.status == 200)
        let json = answer.json
        #expect(json["content"] as? String == "a\nb")
        #expect(json["stop"] as? Bool == true && json["stop_type"] as? String == "eos")
        #expect(json["has_new_line"] as? Bool == true && json["truncated"] as? Bool == false)
        #expect(json["prompt"] as? String == "Once" && json["model"] as? String == "Test-Q4")
        #expect(json["tokens"] as? [Int] == ScriptedLanguageModel.tokens("a\nb").map(Int.init) + [2])
        #expect(json["tokens_evaluated"] as? Int == 7 && json["tokens_cached"] as? Int == 3)
        let timings = try #require(json["timings"] as? [String: Any])
        #expect(timings["prompt_n"] as? Int == 4 && timings["cache_n"] as? Int == 3)
        let settings = try #require(json["generation_settings"] as? [String: Any])
        #expect(settings["temperature"] as? Double == 0.8 && settings["n_predict"] as? Int == 5)
        let options = engine.asked.withLock { $0[0].options }
        #expect(options.seed == nil && options.maximumTokens == 5)
        #expect(engine.asked.withLock { $0[0].tokens } == ScriptedLanguageModel.tokens("Once"))
    }

    @Test func `several prompts give a list, and a limit is told from an end`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["x"], reason: .length))
        let answer = await complete(engine, #""prompt": ["A", "B"], "n_predict": 1"#)
        let list = try #require(try JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [[String: Any]])
        #expect(list.map { $0["index"] as? Int } == [0, 1])
        #expect(list.map { $0["stop_type"] as? String } == ["limit", "limit"])
    }

    @Test func `a stream has an event for each piece, and a last one that says how it ended`() async throws {
        let stream = try await router(ScriptedLanguageModel(.init(texts: ["a", "b"])))
            .stream(#"{"prompt": "Once", "stream": true, "timings_per_token": true}"#, at: "/completion")
        #expect(!stream.text.contains("[DONE]"))
        let events = stream.chunks
        #expect(events.map { $0["content"] as? String } == ["a", "b", ""])
        #expect(events.map { $0["stop"] as? Bool } == [false, false, true])
        #expect(events.map { $0["tokens_predicted"] as? Int } == [1, 2, 2])
        #expect(events.allSatisfy { $0["timings"] is [String: Any] })
        #expect(events[0]["prompt"] == nil && events[2]["prompt"] as? String == "Once")
    }

    @Test func `probabilities are listed with the ids of their tokens`() async throws {
        let answer = await complete(ScriptedLanguageModel(.init(texts: ["A"])), #""prompt": "x", "n_probs": 2"#)
        let listed = try #require(answer.json["completion_probabilities"] as? [[String: Any]])
        #expect(listed.count == 1 && listed[0]["id"] as? Int == 68 && listed[0]["token"] as? String == "A")
        #expect((listed[0]["top_logprobs"] as? [[String: Any]])?.map { $0["id"] as? Int } == [69, 68])
    }

    @Test func `probabilities after sampling have names of their own`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(from: TinyModel().write(in: directory))
        let fields = #""prompt": "x", "n_probs": 5, "n_predict": 3, "ignore_eos": true, "top_k": 2, "seed": 1"#
        let body = #"{\#(fields), "post_sampling_probs": true}"#
        let answer = await router(model).answer("POST", "/completion", body)
        let listed = try #require(answer.json["completion_probabilities"] as? [[String: Any]])
        #expect(!listed.isEmpty)
        for token in listed {
            #expect(token["logprob"] == nil && token["top_logprobs"] == nil)
            let top = try #require(token["top_probs"] as? [[String: Any]])
            let values = top.compactMap { $0["prob"] as? Double }
            #expect(values.count == 2 && abs(values.reduce(0, +) - 1) < 1e-6)
            #expect(values.contains { $0 == token["prob"] as? Double })
        }
        let refused = await router(ScriptedLanguageModel()).chat(#""post_sampling_probs": true"#)
        #expect(refused.error["param"] as? String == "post_sampling_probs")
    }

    @Test(arguments: [
        ("/completion", "", "prompt"),
        ("/completion", #""prompt": "x", "lora": [{"id": 0, "scale": 1}]"#, "lora[0].id"),
        ("/completion", #""prompt": "x", "n": 2"#, "n"), ("/completion", #""prompt": ["x", 999]"#, "prompt[1]"),
        ("/infill", #""input_suffix": "x""#, "input_prefix"), ("/infill", #""input_prefix": "x""#, "input_suffix"),
    ])
    func `what is missing or not served is named`(_ path: String, _ fields: String, _ param: String) async {
        let answer = await complete(ScriptedLanguageModel(), fields, at: path)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == param)
    }

    @Test
    func `a gap is filled with the tokens that the model was trained on, or refused`() async {
        let fields = #""input_prefix": "def ", "input_suffix": "return", "prompt": "f(", "n_predict": 3"#
        #expect(await complete(ScriptedLanguageModel(), fields, at: "/infill").status == 501)
        let engine = ScriptedLanguageModel(extraTokens: ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"])
        #expect(await complete(engine, fields, at: "/infill").status == 200)
        // A space is the character that SentencePiece writes for it.
        let (before, after) = (ScriptedLanguageModel.tokens("def\u{2581}f("), ScriptedLanguageModel.tokens("return"))
        #expect(engine.asked.withLock { $0[0].tokens } == around(before, after))
        #expect(engine.asked.withLock { $0[0].options.penaltiesCountPrompt && $0[0].options.continuesText })
    }

    /// Qwen's tokens around a gap, whose ids are 259 to 261, and those for files, 262 and 263.
    private let repository: [Int32] = [262]
    private let file: [Int32] = [263]
    private let qwen = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"]

    private func around(_ before: [Int32], _ after: [Int32]) -> [Int32] {
        let (start, gap, end): ([Int32], [Int32], [Int32]) = ([259], [260], [261])
        return start + before + gap + after + end
    }

    private func ids(_ text: String) -> [Int32] {
        ScriptedLanguageModel.tokens(text.replacing(" ", with: "\u{2581}"))
    }

    @Test func `other files come before the gap, behind the tokens that the vocabulary has for them`() async {
        let fields =
            #""input_prefix": "a", "input_suffix": "z", "prompt": "b", "n_predict": 3, "input_extra": [{"filename": "x.h", "text": "<|file_sep|>"}, {"text": "two"}]"#
        let engine = ScriptedLanguageModel(.init(contextSize: 500), extraTokens: qwen)
        #expect(await complete(engine, fields, at: "/infill").status == 200)
        let header = repository + ids("myproject\n") + file + ids("x.h\n<|file_sep|>")
        let whole = header + file + ids("tmp\ntwo") + file + ids("filename\n") + around(ids("ab"), ids("z"))
        #expect(engine.asked.withLock { $0[0].tokens } == whole)
        // Without these tokens, a line separates the files.
        let plain = ScriptedLanguageModel(.init(contextSize: 500), extraTokens: Array(qwen.prefix(3)))
        #expect(await complete(plain, fields, at: "/infill").status == 200)
        let line = ids("\n\n--- snippet ---\n\n")
        let separated = line + ids("<|file_sep|>") + line + ids("two") + around(ids("ab"), ids("z"))
        #expect(plain.asked.withLock { $0[0].tokens } == separated)
        // Where the context is too small, the texts around the gap come first.
        let small = ScriptedLanguageModel(.init(contextSize: 20), extraTokens: qwen)
        #expect(await complete(small, fields, at: "/infill").status == 200)
        let cut = Array(whole.suffix(17))
        #expect(small.asked.withLock { $0[0].tokens } == cut)
    }

    @Test func `a completion with a suffix fills the gap before it`() async {
        let engine = ScriptedLanguageModel(extraTokens: qwen)
        let answer = await router(engine).complete(#""prompt": "a", "suffix": "z""#)
        #expect(answer.status == 200 && answer.choice["text"] as? String == "Hello, wörld")
        let header = repository + ids("myproject\n") + file + ids("filename\n")
        #expect(engine.asked.withLock { $0[0].tokens } == header + around(ids("a"), ids("z")))
        let fromIDs = await router(engine).complete(#""prompt": [68], "suffix": "z""#)
        #expect(fromIDs.status == 200)
        #expect(engine.asked.withLock { $0[1].tokens } == header + around(ids("A"), ids("z")))
        let echo = await router(engine).complete(#""prompt": "a", "suffix": "z", "echo": true"#)
        #expect(echo.error["param"] as? String == "echo")
    }

    @Test func `DRY reads the whole context unless told otherwise`() async {
        let engine = ScriptedLanguageModel()
        _ = await complete(engine, #""prompt": "x", "dry_multiplier": 0.8"#)
        #expect(engine.asked.withLock { $0[0].options.dry } == .init(multiplier: 0.8, window: -1))
    }

    @Test func `slots say how many generations run`() async throws {
        let answer = await router(ScriptedLanguageModel()).answer("GET", "/slots")
        let slots = try #require(try JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [[String: Any]])
        #expect(slots.count == LocalModel.maximumRunning)
        #expect(slots.count { $0["is_processing"] as? Bool == true } == 1)
        #expect(slots[0]["n_ctx"] as? Int == 128)
    }

    @Test(arguments: ["/chat/completions", "/completions", "/embeddings", "/responses"])
    func `routes without v1 are the same, and a server of one model needs no name for it`(_ path: String) async {
        let fields =
            switch path {
            case "/chat/completions": #""messages": [{"role": "user", "content": "Hi"}]"#
            case "/completions": #""prompt": "Hi""#
            default: #""input": "Hi""#
            }
        let short = await router(ScriptedLanguageModel()).answer("POST", path, "{\(fields)}")
        let long = await router(ScriptedLanguageModel()).answer(
            "POST", "/v1" + path, #"{"model": "Test-Q4", \#(fields)}"#)
        #expect(short.status == 200 && long.status == 200)
        #expect(short.json["object"] as? String == long.json["object"] as? String)
        #expect(short.json["model"] as? String == "Test-Q4")
    }

    @Test func `the list of models is at models too`() async {
        let list = await router(ScriptedLanguageModel()).answer("GET", "/models")
        #expect(list.json["object"] as? String == "list")
    }

    @Test func `fields of samplers reach the engine`() async {
        let engine = ScriptedLanguageModel()
        let answer = await router(engine).chat(
            """
            "top_n_sigma": 1.5, "xtc_probability": 0.5, "xtc_threshold": 0.2, "dynatemp_range": 0.3, "mirostat": 2,
            "mirostat_tau": 4, "dry_multiplier": 0.8, "dry_base": 2, "dry_allowed_length": 3, "dry_penalty_last_n": -1,
            "dry_sequence_breakers": ["\\n"], "stop_token_ids": [7], "min_tokens": 2, "ignore_eos": true,
            "n_predict": 9, "repeat_last_n": -1
            """)
        #expect(answer.status == 200)
        let options = engine.asked.withLock { $0[0].options }
        #expect(
            options
                == SamplingOptions(
                    penaltyWindow: Int(Int32.max), maximumTokens: 9, topNSigma: 1.5,
                    xtc: .init(probability: 0.5, threshold: 0.2),
                    dry: .init(multiplier: 0.8, base: 2, allowedLength: 3, window: -1, breakers: ["\n"]),
                    dynamicTemperature: .init(range: 0.3), mirostat: .init(.two, tau: 4), stopTokens: [7],
                    minimumTokens: 2, ignoresEndOfSequence: true))
    }

    @Test(arguments: [
        (#""stop_token_ids": [9999]"#, "stop_token_ids[0]"), (#""min_tokens": 9, "max_tokens": 3"#, "min_tokens"),
        (#""chat_template": "{% if %}""#, "chat_template"),
        (#""continue_final_message": true, "add_generation_prompt": true"#, "continue_final_message"),
    ])
    func `values that cannot be are named`(_ field: String, _ param: String) async {
        let answer = await router(ScriptedLanguageModel()).chat(field)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == param)
    }

    @Test func `a request may say how its prompt ends, and bring a template`() async {
        let engine = ScriptedLanguageModel()
        _ = await router(engine).chat(#""continue_final_message": true"#)
        _ = await router(engine).chat(#""add_generation_prompt": false"#)
        _ = await router(engine).chat(#""chat_template": "T{{ x }}", "chat_template_kwargs": {"x": 5}"#)
        #expect(engine.endings.withLock { $0 } == [.continuation, .message, .answer])
        #expect(engine.asked.withLock { $0[2].tokens } == ScriptedLanguageModel.tokens("T5"))
    }

    @Test func `a template that keeps the message is cut after its text, and the model goes on with it`() async throws {
        let directory = try TemporaryDirectory()
        let url = try TinyModel().write(in: directory)
        let model = try await LocalModel.load(from: url)
        let messages: [ChatMessage] = [.user("Hi"), .assistant("a: b ")]
        #expect(try model.render(messages) == "u:Hi;a:a: b ;a:")
        #expect(try model.render(messages, ending: .message) == "u:Hi;a:a: b ;a:")
        #expect(try model.render(messages, ending: .continuation) == "u:Hi;a:a: b ")
        // A search that compares anew at each place would take 10¹² steps.
        let many = ChatMessage.user(String(repeating: "a", count: 2 << 20))
        for text in [String(repeating: "a", count: 1 << 20) + "b", "b" + String(repeating: "a", count: 1 << 20)] {
            #expect(throws: LocalModelError.self) {
                try model.render(
                    [many, .assistant(text)], ending: .continuation, template: ChatTemplate("{{ messages[0].content }}")
                )
            }
        }
        #expect(throws: LocalModelError.self) {
            try model.render(messages, ending: .continuation, template: ChatTemplate("nothing"))
        }
    }

    @Test func `timings and the prompt's progress come on request`() async throws {
        let whole = await router(ScriptedLanguageModel(.init(cachedTokens: 2))).chat(#""timings_per_token": true"#)
        #expect((whole.json["timings"] as? [String: Any])?["prompt_n"] as? Int == 5)
        #expect(await router(ScriptedLanguageModel()).chat().json["timings"] == nil)
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(from: TinyModel().write(in: directory))
        let stream = try await router(model).stream(
            chatBody(
                #""stream": true, "return_progress": true, "timings_per_token": true, "max_tokens": 3, "#
                    + #""ignore_eos": true"#))
        let progress = stream.chunks.compactMap { $0["prompt_progress"] as? [String: Any] }
        #expect(progress.last.map { $0["processed"] as? Int == $0["total"] as? Int } ?? false)
        #expect((stream.chunks.last?["timings"] as? [String: Any])?["predicted_n"] as? Int == 3)
    }

    @Test func `any page may use a server that asks for keys, where its owner says so`() async throws {
        #expect(throws: UsageError.self) { try accessOptions("--cors-origin", "*") }
        let options = try accessOptions("--cors-origin", "*", environment: ["LOCALLLM_API_KEY": "sk-one"])
        #expect(options.origins.allows("https://anything.example"))
        let door = FrontDoor(keys: options.keys, origins: options.origins)
        let answer = try await door.answer(
            "GET", "/v1/models", ["Origin": "https://a.example", "Authorization": "Bearer sk-one"])
        #expect(answer.status == 200)
        #expect(answer.headers["Access-Control-Allow-Origin"] == "https://a.example")
    }

    @Test func `props of a model that is not in memory are those of its file`() async throws {
        let directory = try TemporaryDirectory()
        _ = try TinyModel().write(in: directory, as: "a.gguf")
        let services = Services(
            models: ModelStore(ModelCatalog(directory: directory.url), tools: FakeMachine(memory: 1 << 30).tools))
        let props = await services.answer("GET", "/props?model=a")
        #expect(props.status == 200)
        #expect(props.json["state"] as? String == "unloaded" && props.json["architecture"] as? String == "llama")
        #expect((props.json["default_generation_settings"] as? [String: Any])?["n_ctx"] as? Int == 128)
        let card = try #require((await services.answer("GET", "/v1/models").json["data"] as? [[String: Any]])?.first)
        #expect(card["capabilities"] as? [String] == ["completion"])
        let meta = try #require(card["meta"] as? [String: Any])
        #expect(meta["n_ctx_train"] as? Int == 128 && meta["n_vocab"] as? Int == TinyModel.vocabularySize)
    }
}
