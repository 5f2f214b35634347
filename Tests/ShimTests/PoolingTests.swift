import Foundation
import LocalLLM
import TestSupport
import Testing
import Tokenizer

@testable import Shim

/// vLLM's routes for models that generate no text, and Cohere's.
@Suite struct PoolingTests {
    private func ask(
        _ path: String, _ fields: String, _ change: (inout ScriptedLanguageModel.Script) -> Void = { _ in }
    ) async -> Answer {
        var script = ScriptedLanguageModel.Script()
        change(&script)
        return await router(ScriptedLanguageModel(script)).answer("POST", path, #"{"model": "Test-Q4", \#(fields)}"#)
    }

    private func scores(_ answer: Answer) -> [Double] {
        (answer.json["data"] as? [[String: Any]] ?? []).compactMap { $0["score"] as? Double }
    }

    private func isNear(_ found: [Double], _ expected: [Double]) -> Bool {
        found.count == expected.count && zip(found, expected).allSatisfy { abs($0 - $1) < 1e-6 }
    }

    private static func sigmoid(_ value: Double) -> Double { 1 / (1 + exp(-value)) }

    @Test(
        arguments: [
            ("/score", "text_1", "text_2"), ("/v1/score", "queries", "documents"), ("/score", "queries", "items"),
            ("/v1/score", "data_1", "data_2"),
        ])
    func `a reranker scores one text with many, or as many with as many`(
        _ path: String, _ first: String, _ second: String
    ) async {
        let answer = await ask(path, #""\#(first)": "q", "\#(second)": ["abc", "a"]"#) { $0.isReranker = true }
        #expect(answer.status == 200, "\(answer.text)")
        // The scripted relevance is one by the number of tokens of query, stroke and document.
        #expect(isNear(scores(answer), [Self.sigmoid(1.0 / 5), Self.sigmoid(1.0 / 3)]))
        let data = answer.json["data"] as? [[String: Any]] ?? []
        #expect(data.map { $0["index"] as? Int } == [0, 1] && data.allSatisfy { $0["object"] as? String == "score" })
        #expect((answer.json["id"] as? String)?.hasPrefix("score-") == true && answer.json["created"] is Int)
        #expect(answer.json["object"] as? String == "list" && answer.json["model"] as? String == "Test-Q4")
        #expect(answer.usage as? [String: Int] == ["prompt_tokens": 8, "total_tokens": 8])
        let pairs = await ask(path, #""\#(first)": ["q", "qq"], "\#(second)": ["abc", "a"]"#) { $0.isReranker = true }
        #expect(isNear(scores(pairs), [Self.sigmoid(1.0 / 5), Self.sigmoid(1.0 / 4)]))
        let raw = await ask(path, #""\#(first)": "q", "\#(second)": "abc", "use_activation": false"#) {
            $0.isReranker = true
        }
        #expect(isNear(scores(raw), [0.2]))
    }

    @Test func `other models score by the angle between embeddings`() async {
        let answer = await ask("/score", #""text_1": "abc", "text_2": ["abc", "abcdefghijkl"]"#)
        // The scripted vector is 3, 4, number of tokens, 0.
        func cosine(_ one: Double, _ two: Double) -> Double {
            (25 + one * two) / ((25 + one * one) * (25 + two * two)).squareRoot()
        }
        #expect(isNear(scores(answer), [1, cosine(3, 12)]))
        #expect(answer.usage["prompt_tokens"] as? Int == 18)
    }

    @Test func `probabilities stay what they are`() async {
        let change = { (script: inout ScriptedLanguageModel.Script) in
            (script.isReranker, script.scoresAreProbabilities, script.scores) = (true, true, [0.25, 0.75])
        }
        #expect(isNear(scores(await ask("/score", #""text_1": "q", "text_2": "abc""#, change)), [0.2]))
        let classes = await ask("/classify", #""input": "abc""#, change)
        #expect((classes.json["data"] as? [[String: Any]])?.first?["probs"] as? [Double] == [0.25, 0.75])
        let raw = await ask("/score", #""text_1": "q", "text_2": "abc", "use_activation": false"#, change)
        #expect(raw.status == 400 && raw.error["param"] as? String == "use_activation")
    }

    @Test func `a classifier's classes have labels and probabilities`() async throws {
        let answer = await ask("/classify", #""input": ["abc", "a"]"#) {
            ($0.isReranker, $0.scores, $0.labels) = (true, [1, 3, 2], ["bad", "good", "so so"])
        }
        #expect(answer.status == 200, "\(answer.text)")
        let data = try #require(answer.json["data"] as? [[String: Any]])
        #expect(data.count == 2 && data.map { $0["index"] as? Int } == [0, 1])
        #expect(data[1]["label"] as? String == "good" && data[1]["num_classes"] as? Int == 3)
        let sum = exp(1.0) + exp(3.0) + exp(2.0)
        #expect(isNear(data[1]["probs"] as? [Double] ?? [], [exp(1.0) / sum, exp(3.0) / sum, exp(2.0) / sum]))
        #expect((answer.json["id"] as? String)?.hasPrefix("classify-") == true)
        #expect(answer.usage["prompt_tokens"] as? Int == 4)
        let one = await ask("/classify", #""input": "abc""#) { ($0.isReranker, $0.scores) = (true, [2]) }
        let only = (one.json["data"] as? [[String: Any]])?.first
        #expect(only?["label"] is NSNull && isNear(only?["probs"] as? [Double] ?? [], [Self.sigmoid(2)]))
        let raw = await ask("/classify", #""input": "abc", "use_activation": false"#) { $0.isReranker = true }
        #expect((raw.json["data"] as? [[String: Any]])?.first?["probs"] as? [Double] == [1, 3])
    }

    @Test func `pooling gives what the model is for, or what is asked for`() async throws {
        func first(_ answer: Answer) -> Any? { (answer.json["data"] as? [[String: Any]])?.first?["data"] }
        let plain = await ask("/pooling", #""input": ["abc"]"#)
        #expect(plain.status == 200, "\(plain.text)")
        let length = 34.0.squareRoot()
        #expect(isNear(first(plain) as? [Double] ?? [], [3 / length, 4 / length, 3 / length, 0]))
        #expect((plain.json["data"] as? [[String: Any]])?.first?["object"] as? String == "pooling")
        #expect((plain.json["id"] as? String)?.hasPrefix("pool-") == true)
        let raw = await ask("/pooling", #""input": "abc", "use_activation": false, "dimensions": 3"#)
        #expect(first(raw) as? [Double] == [3, 4, 3])
        let tokens = await ask("/pooling", #""input": "a", "task": "token_embed""#)
        let vectors = try #require(first(tokens) as? [[Double]])
        let token = Double(UInt8(ascii: "a")) + 3
        let size = (token * token + 25).squareRoot()
        #expect(vectors.count == 1 && isNear(vectors[0], [token / size, 0, 3 / size, 4 / size]))
        let classes = await ask("/pooling", #""input": "abc""#) { ($0.isReranker, $0.scores) = (true, [2]) }
        #expect(isNear(first(classes) as? [Double] ?? [], [Self.sigmoid(2)]))
        let base64 = await ask("/pooling", #""input": "abc", "encoding_format": "base64", "use_activation": false"#)
        let bytes = try #require(Data(base64Encoded: first(base64) as? String ?? ""))
        #expect(bytes.count == 16 && bytes.prefix(4) == Data([0, 0, 0x40, 0x40]))
    }

    @Test(
        arguments: [
            ("/score", #""text_1": "a""#, "text_2"), ("/score", #""queries": "a""#, "documents"),
            ("/score", #""text_1": ["a", "b"], "text_2": ["a", "b", "c"]"#, "text_2"),
            ("/score", #""text_1": [], "text_2": "a""#, "text_1"),
            ("/score", #""text_1": "", "text_2": "a""#, "text_1[0]"),
            ("/score", #""text_1": "a", "text_2": "b", "truncate_prompt_tokens": 5"#, "truncate_prompt_tokens"),
            ("/score", #""text_1": 5, "text_2": "b""#, "text_1"),
            ("/classify", #""input": "a""#, "model"), ("/classify", #""messages": []"#, "messages"),
            ("/pooling", #""messages": [{"role": "user", "content": "a"}], "input": "a""#, "messages"),
            ("/classify", #""input": "a", "task": "embed""#, "task"),
            ("/pooling", #""input": "a", "task": "token_classify""#, "task"),
            ("/pooling", #""input": "a", "task": "classify""#, "model"),
            ("/pooling", #""input": "a", "task": "token_embed", "dimensions": 2"#, "dimensions"),
            ("/pooling", #""input": [""]"#, "input"), ("/v2/rerank", #""query": "q", "documents": ["a"]"#, "model"),
        ])
    func `a request that cannot be served names the field`(_ path: String, _ fields: String, _ param: String) async {
        let answer = await ask(path, fields)
        #expect(answer.status == 400 && answer.error["param"] as? String == param, "\(answer.text)")
    }

    @Test(arguments: [(nil, false), (true, true)] as [(Bool?, Bool)])
    func `a chat is read as its template renders it`(_ asked: Bool?, _ begins: Bool) async throws {
        let model = ScriptedLanguageModel()
        let services = router(model)
        let messages = #""messages": [{"role": "user", "content": "abc"}]"#
        let rendered = await services.answer(
            "POST", "/apply-template", #"{\#(messages), "add_generation_prompt": \#(begins)}"#)
        let prompt = try #require(rendered.json["prompt"] as? String)
        let count = model.tokenizer.encode(prompt, addSpecial: false, parseSpecial: true).count
        let fields = asked.map { #", "add_generation_prompt": \#($0)"# } ?? ""
        for path in ["/pooling", "/v1/embeddings"] {
            let answer = await services.answer("POST", path, #"{"model": "Test-Q4", \#(messages)\#(fields)}"#)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.usage["prompt_tokens"] as? Int == count, "\(path)")
        }
        let cut = await services.answer(
            "POST", "/pooling", #"{"model": "Test-Q4", \#(messages), "truncate_prompt_tokens": 2}"#)
        #expect(cut.status == 400 && cut.error["param"] as? String == "truncate_prompt_tokens")
    }

    @Test func `vectors of all tokens have a limit`() async {
        let many =
            #""input": [\#((0..<1100).map { _ in #""\#(String(repeating: "x", count: 100))""# }.joined(separator: ","))]"#
        #expect(await ask("/pooling", many + #", "task": "token_embed""#).status == 200)
        let list = "[" + Array(repeating: "5", count: 128).joined(separator: ",") + "]"
        let more = Array(repeating: list, count: 2040).joined(separator: ",")
        #expect(await ask("/pooling", #""input": [\#(more)], "task": "token_embed""#).status == 200)
    }

    @Test func `Cohere's form has its own fields, and the same scores`() async {
        let body = #""query": "q", "documents": ["abc", "a"], "top_n": 1"#
        let answer = await ask("/v2/rerank", body) { $0.isReranker = true }
        #expect(answer.status == 200)
        let meta = answer.json["meta"] as? [String: Any]
        #expect(meta?["api_version"] as? [String: String] == ["version": "2"])
        #expect(meta?["tokens"] as? [String: Int] == ["input_tokens": 8, "output_tokens": 0])
        let plain = await ask("/v1/rerank", body) { $0.isReranker = true }
        #expect(answer.json["results"] as? NSArray == plain.json["results"] as? NSArray && plain.json["meta"] == nil)
        let probable = await ask("/v1/rerank", body + #", "use_activation": true"#) { $0.isReranker = true }
        let result = (probable.json["results"] as? [[String: Any]])?.first
        #expect(isNear([result?["relevance_score"] as? Double ?? 0], [Self.sigmoid(1.0 / 3)]))
        // The shorter, the more relevant: of two tokens each, both are as relevant.
        let short = await ask("/v2/rerank", #""query": "q", "documents": ["abc", "a"], "max_tokens_per_doc": 1"#) {
            $0.isReranker = true
        }
        let cut = (short.json["meta"] as? [String: Any])?["tokens"] as? [String: Int]
        #expect(cut == ["input_tokens": 6, "output_tokens": 0])
        let bare = await ask("/rerank", #""query": "q", "texts": ["a"], "raw_scores": false"#) { $0.isReranker = true }
        #expect(bare.text.contains(#""score":0.58"#), "\(bare.text)")
    }

    @Test(
        .enabled(if: Fixtures.exist("more/bert-rerank.gguf"), "reference data is not here"),
        arguments: ["bert-rerank", "qwen3-rerank"])
    func `scores, classes and ranks of a model agree`(_ name: String) async throws {
        let model = try await LocalModel.load(from: Fixtures.url("more/\(name).gguf"), configuration: .init(threads: 1))
        let services = router(model)
        func post(_ path: String, _ body: String) async -> Answer { await services.answer("POST", path, body) }
        let score = await post("/score", #"{"text_1": "what is it", "text_2": ["a panda", "hi"]}"#)
        let rank = await post(
            "/v1/rerank", #"{"query": "what is it", "documents": ["a panda", "hi"], "use_activation": true}"#)
        let ranked = (rank.json["results"] as? [[String: Any]] ?? []).sorted {
            ($0["index"] as? Int ?? 0) < ($1["index"] as? Int ?? 0)
        }.compactMap { $0["relevance_score"] as? Double }
        #expect(scores(score).count == 2 && isNear(scores(score), ranked), "\(score.text) \(rank.text)")
        #expect(scores(score).allSatisfy { (0...1).contains($0) })
        // The classes of the same tokens have the same score first.
        let tokens = try model.rerankTokens(query: "what is it", document: "a panda")
        let classes = await post("/classify", #"{"input": [\#(tokens.map { "\($0)" }.joined(separator: ","))]}"#)
        let probs = try #require((classes.json["data"] as? [[String: Any]])?.first?["probs"] as? [Double])
        #expect(isNear([probs[0]], [ranked[0]]), "\(classes.text)")
        let pooled = await post("/pooling", #"{"input": [\#(tokens.map { "\($0)" }.joined(separator: ","))]}"#)
        #expect(isNear((pooled.json["data"] as? [[String: Any]])?.first?["data"] as? [Double] ?? [], probs))
    }
}
