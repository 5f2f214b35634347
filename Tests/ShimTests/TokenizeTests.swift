import Foundation
import HTTP
import Synchronization
import Template
import Testing
import Tokenizer

@testable import LocalLLM
@testable import Shim

@Suite(.timeLimit(.minutes(2))) struct TokenizeTests {
    private let engine = ScriptedLanguageModel()

    private func answer(_ path: String, _ body: String) async -> Answer {
        await router(engine).answer("POST", path, body)
    }

    @Test func `text to tokens, with their text where it is asked for`() async {
        #expect(await answer("/tokenize", #"{"content": "Aö"}"#).json["tokens"] as? [Int] == [68, 198, 185])
        let pieces =
            await answer("/tokenize", #"{"content": "Aö", "with_pieces": true}"#).json["tokens"] as? [[String: Any]]
        #expect(pieces?.map { $0["id"] as? Int } == [68, 198, 185])
        #expect(pieces?[0]["piece"] as? String == "A")
        #expect(pieces?[1]["piece"] as? [Int] == [0xc3])
        #expect(await answer("/tokenize", #"{"content": "</s>"}"#).json["tokens"] as? [Int] == [2])
        let asText = await answer("/tokenize", #"{"content": "</s>", "parse_special": false}"#)
        #expect((asText.json["tokens"] as? [Int])?.count == 4)
    }

    @Test func `tokens to text`() async {
        #expect(await answer("/detokenize", #"{"tokens": [68, 198, 185, 2]}"#).json["content"] as? String == "Aö</s>")
        let refused = await answer("/detokenize", #"{"tokens": [68, 259]}"#)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == "tokens[1]")
    }

    @Test func `messages to a prompt`() async {
        let body = #"{"messages": [{"role": "user", "content": "Hi"}], "chat_template_kwargs": {"x": 1}}"#
        #expect(await answer("/apply-template", body).json["prompt"] as? String == "user: Hi\n")
        #expect(engine.rendered.withLock { $0[0].variables } == ["x": .int(1)])
        #expect(await answer("/apply-template", #"{"messages": []}"#).error["param"] as? String == "messages")
        #expect(await answer("/tokenize", #"{"content": "x", "model": "gpt-4"}"#).status == 404)
    }

    @Test func `tools are rendered as in a chat`() async {
        let engine = ScriptedLanguageModel(.init(dialect: toolDialect))
        let tools = #""tools": [{"type": "function", "function": {"name": "f", "description": "F"}}]"#
        func variables(_ more: String) async -> TemplateObject? {
            let body = #"{"messages": [{"role": "user", "content": "Hi"}], \#(tools)\#(more)}"#
            #expect(await router(engine).answer("POST", "/apply-template", body).status == 200)
            #expect(await router(engine).answer("POST", "/v1/chat/completions", body).status == 200)
            let last = engine.rendered.withLock { $0.suffix(2).map(\.variables) }
            #expect(last.first == last.last)
            return last.first
        }
        guard case .array(let shown)? = await variables("")?["tools"] else { return #expect(Bool(false)) }
        #expect(shown.count == 1)
        #expect(await variables(#", "tool_choice": "required", "chat_template_kwargs": {"x": 1}"#)?["x"] == .int(1))
        #expect(await variables(#", "tool_choice": "none""#) == [:])
        let refused = await router(engine).answer(
            "POST", "/apply-template", #"{"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required"}"#)
        #expect(refused.error["param"] as? String == "tool_choice")
        // Without tools in the template, instructions name them.
        let body = #"{"messages": [{"role": "user", "content": "Hi"}], \#(tools)}"#
        #expect((await answer("/apply-template", body).json["prompt"] as? String)?.contains(#""name": "f""#) == true)
    }

    @Test func `metrics count requests, tokens and times, by names of a few`() async throws {
        let router = router(ScriptedLanguageModel(.init(cachedTokens: 2)))
        _ = await router.chat(#""n": 2"#)
        _ = await router.chat(#""n": 0"#)
        _ = await router.answer("GET", "/nothing\"\n here")
        _ = await router.answer("GET", "/v1/models/a")
        _ = try await router.stream(chatBody(#""stream": true"#))
        let answer = await router.answer("GET", "/metrics")
        #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        let lines = Set(answer.text.split(separator: "\n").map(String.init))
        #expect(
            lines.isSuperset(of: [
                #"shim_requests_total{route="/v1/chat/completions",status="200"} 2"#,
                #"shim_requests_total{route="/v1/chat/completions",status="400"} 1"#,
                #"shim_requests_total{route="other",status="404"} 1"#,
                #"shim_requests_total{route="/v1/models/{id}",status="404"} 1"#,
                #"shim_prompt_tokens_total{model="Test-Q4"} 14"#, #"shim_cached_tokens_total{model="Test-Q4"} 4"#,
                #"shim_remembered_tokens{model="Test-Q4"} 96"#, #"shim_generated_tokens_total{model="Test-Q4"} 42"#,
                #"shim_cache_bytes{cache="constraints",model="Test-Q4"} 0"#, #"shim_cache_bytes{cache="responses"} 0"#,
                #"shim_cache_bytes{cache="states",model="Test-Q4"} 0"#,
                #"shim_generations_running{model="Test-Q4"} 0"#, #"shim_generations_waiting{model="Test-Q4"} 0"#,
                #"shim_time_to_first_token_seconds_bucket{model="Test-Q4",le="+Inf"} 3"#,
                #"shim_time_to_first_token_seconds_count{model="Test-Q4"} 3"#,
                "shim_request_duration_seconds_count 5", "# TYPE shim_request_duration_seconds histogram",
                #"shim_build_info{version="\#(version)"} 1"#,
                // The scripted model says that it has one running and two waiting.
                #"vllm:num_requests_running{model_name="Test-Q4"} 1"#,
                #"vllm:num_requests_waiting{model_name="Test-Q4"} 2"#,
                #"vllm:kv_cache_usage_perc{model_name="Test-Q4"} 0.25"#,
                #"vllm:cache_config_info{block_size="32",model_name="Test-Q4",num_gpu_blocks="640"} 1"#,
                "# TYPE vllm:lora_requests_info gauge",
            ]))
        #expect(lines.allSatisfy { $0.hasPrefix("# ") || $0.hasPrefix("shim_") || $0.hasPrefix("vllm:") })
        #expect(!answer.text.contains("nothing"))
    }

    @Test func `tokens are counted for the model that computes them, and a model that answered nothing has zeros`() {
        let directory = ["a", "quo\"te\\"].map { URL(fileURLWithPath: "/models/\($0).gguf") }
        let services = Services(
            models: ModelStore(ModelCatalog(files: directory), tools: FakeMachine(memory: 1 << 30).tools))
        services.metrics.read(3, by: "a")
        services.metrics.read(4, by: "gone")
        var progress = services.metrics.generationBegins("a")
        services.metrics.generated(2, progress)
        let text = metricsText(services)
        for line in [
            #"shim_prompt_tokens_total{model="a"} 3"#, #"shim_prompt_tokens_total{model="gone"} 4"#,
            #"shim_prompt_tokens_total{model="quo\"te\\"} 0"#, #"shim_generations_waiting{model="a"} 1"#,
            #"shim_generated_tokens_total{model="a"} 2"#,
        ] { #expect(text.contains("\n\(line)\n"), "\(line)") }
        services.metrics.generationEnds(&progress)
        #expect(metricsText(services).contains(#"shim_generations_waiting{model="a"} 0"#))
    }

    @Test func `samples have the labels that their metric declares`() async {
        let router = router(ScriptedLanguageModel())
        _ = await router.chat()
        let scrape = MetricFamily.Scrape(router)
        for family in MetricFamily.all {
            for sample in family.samples(scrape) {
                #expect(Set(sample.labels.map(\.name)).isSubset(of: family.labels + ["le"]), "\(family.name)")
            }
        }
    }

    @Test func `a histogram counts each observation in every bound above it`() {
        var histogram = Metrics.Histogram([1, 2, 3])
        for seconds in [0.5, 1, 2.5, 9] { histogram.observe(.seconds(seconds)) }
        #expect(histogram.counts == [2, 2, 3])
        #expect(histogram.count == 4)
        #expect(abs(histogram.sum - 13) < 1e-9)
    }

    @Test(arguments: [
        ("/v1/messages/count_tokens", #"{"model": "Test-Q4", "messages": [{"role": "user", "content": "Hi"}]}"#),
        ("/v1/responses/input_tokens", #"{"model": "Test-Q4", "input": "Hi"}"#),
    ])
    func `prompts are rendered for their count on threads of their own`(path: String, body: String) async {
        #expect(await answer(path, body).status == 200)
        #expect(engine.ranApart.withLock { $0 } == [true])
    }

    @Test func `a template that was stopped is not rendered again`() async {
        for (error, count) in [
            (LocalModelError.templateStopped("10 seconds are over"), 1), (.templateFailed("no system message"), 3),
        ] {
            var script = ScriptedLanguageModel.Script()
            script.renderingError = error
            let engine = ScriptedLanguageModel(script)
            let chat = await router(engine).answer(
                "POST", "/v1/chat/completions",
                #"{"model": "Test-Q4", "messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}], "tools": [{"type": "function", "function": {"name": "f"}}]}"#
            )
            #expect(chat.status == 400)
            #expect(chat.error["code"] as? String == "template_failed")
            #expect(engine.endings.withLock { $0 }.count == count)
        }
    }
}
