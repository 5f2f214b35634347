import Foundation
import LocalLLM
import Synchronization
import TestSupport
import Testing

@testable import Shim

/// Embeddings of many inputs, and reranking.
@Suite struct RerankTests {
    private func rerank(_ fields: String, at path: String = "/v1/rerank") async -> Answer {
        var script = ScriptedLanguageModel.Script()
        script.isReranker = true
        return await router(ScriptedLanguageModel(script)).answer("POST", path, #"{"model": "Test-Q4", \#(fields)}"#)
    }

    private static let three = #""query": "q", "documents": ["abc", {"text": "a"}, "ab"]"#

    private func results(_ answer: Answer) -> [[String: Any]] { answer.json["results"] as? [[String: Any]] ?? [] }

    @Test(arguments: ["/v1/rerank", "/rerank", "/v1/reranking", "/reranking"])
    func `the most relevant document comes first, under each path`(path: String) async {
        let answer = await rerank(Self.three, at: path)
        #expect(answer.status == 200)
        #expect(results(answer).map { $0["index"] as? Int } == [1, 2, 0])
        let scores = results(answer).compactMap { $0["relevance_score"] as? Double }
        #expect(scores.count == 3 && scores == scores.sorted(by: >))
        #expect(results(answer).allSatisfy { $0["document"] == nil })
        #expect(answer.json["model"] as? String == "Test-Q4")
        #expect(answer.json["object"] as? String == "list")
        #expect((answer.json["id"] as? String)?.hasPrefix("rerank-") == true)
        // Each pair is the query, a stroke and the document.
        #expect(answer.usage as? [String: Int] == ["prompt_tokens": 12, "total_tokens": 12])
    }

    @Test func `top_n keeps the first ones, return_documents adds their texts`() async {
        let answer = await rerank(Self.three + #", "top_n": 2, "return_documents": true"#)
        #expect(results(answer).map { $0["index"] as? Int } == [1, 2])
        #expect(results(answer).map { ($0["document"] as? [String: Any])?["text"] as? String } == ["a", "ab"])
        #expect(await results(rerank(Self.three + #", "top_n": 99"#)).count == 3)
    }

    @Test func `equally relevant documents keep their order`() async {
        let answer = await rerank(#""query": "q", "documents": ["bb", "aa", "cc"]"#)
        #expect(results(answer).map { $0["index"] as? Int } == [0, 1, 2])
    }

    @Test func `texts are answered with a bare list`() async throws {
        let answer = await rerank(#""query": "q", "texts": ["abc", "a"], "return_text": true"#)
        let list = try #require(try JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [[String: Any]])
        #expect(list.map { $0["index"] as? Int } == [1, 0])
        #expect(list.map { $0["text"] as? String } == ["a", "abc"])
        #expect(list.allSatisfy { $0["score"] is Double && $0.count == 3 })
    }

    @Test(arguments: [
        (#""query": "q""#, "documents"), (#""documents": ["a"]"#, "query"),
        (#""query": "", "documents": ["a"]"#, "query"),
        (#""query": "q", "documents": []"#, "documents"), (#""query": ["q"], "documents": ["a"]"#, "query"),
        (#""query": "q", "documents": [{"title": "a"}]"#, "documents[0].text"),
        (#""query": "q", "documents": ["a", 5]"#, "documents[1]"),
        (#""query": "q", "documents": "a""#, "documents"),
        (#""query": "q", "documents": ["a"], "texts": ["a"]"#, "texts"),
        (#""query": "q", "documents": ["a"], "top_n": 0"#, "top_n"),
        (#""query": "q", "documents": ["a"], "top_n": 1.5"#, "top_n"),
        (#""query": "q", "documents": ["a"], "rank_fields": ["title"]"#, "rank_fields"),
        (#""query": "q", "documents": ["a"], "max_tokens_per_doc": 0"#, "max_tokens_per_doc"),
        (#""query": "q", "texts": ["a"], "raw_scores": 1"#, "raw_scores"),
    ])
    func `a request that cannot be served names the field`(fields: String, field: String) async {
        let answer = await rerank(fields)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == field)
    }

    @Test func `a pair longer than the context is refused with the numbers`() async {
        let answer = await rerank(
            #""query": "q", "documents": ["a", "\#(String(repeating: "x", count: 200))"]"#)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == "documents[1]")
        let message = answer.error["message"] as? String ?? ""
        #expect(message.contains("128") && message.contains("202"))
    }

    @Test func `a model that is no reranker says so, and a reranker makes no embeddings`() async {
        let answer = await router(ScriptedLanguageModel()).answer(
            "POST", "/v1/rerank", #"{"model": "Test-Q4", \#(Self.three)}"#)
        #expect(answer.status == 400)
        #expect(answer.error["code"] as? String == "unsupported_model")
        let other = await rerank(#""input": "a""#, at: "/v1/embeddings")
        #expect(other.status == 400)
        #expect((other.error["message"] as? String)?.contains("/v1/rerank") == true)
    }

    // MARK: Embeddings

    @Test func `all inputs of a request are computed together`() async {
        let engine = ScriptedLanguageModel()
        let inputs = (1...50).map { "\"\(String(repeating: "x", count: $0))\"" }.joined(separator: ",")
        let answer = await router(engine).answer(
            "POST", "/v1/embeddings", #"{"model": "Test-Q4", "input": [\#(inputs)]}"#)
        #expect((answer.json["data"] as? [Any])?.count == 50)
        #expect(engine.embedded.withLock { $0 } == [50])
    }

    @Test(arguments: [
        ("[]", "input"), (#""""#, "input"), ("[[]]", "input"), (#"["a", ""]"#, "input[1]"), ("[[1], []]", "input[1]"),
        (#"["a", 1]"#, "input[1]"), (#"[1, "a"]"#, "input[1]"), (#"[[1], "a"]"#, "input[1]"),
        (#"[["a"]]"#, "input[0][0]"),
        (#"["a", ["b"]]"#, "input[1]"), ("[[1, 2.5]]", "input[0][1]"), ("[1, 259]", "input[1]"),
        ("[[[1]]]", "input[0][0]"),
        ("null", "input"), ("5", "input"), (#"{"text": "a"}"#, "input"), ("[null]", "input[0]"),
    ])
    func `an input that OpenAI refuses is refused, and its place named`(input: String, field: String) async {
        let answer = await router(ScriptedLanguageModel()).answer(
            "POST", "/v1/embeddings", #"{"model": "Test-Q4", "input": \#(input)}"#)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == field)
    }

    @Test func `an encoder serves embeddings and scores, and refuses to chat`() async throws {
        let directory = try TemporaryDirectory()
        var tiny = TinyEncoder()
        (tiny.labels, tiny.pooling) = (1, 4)
        let model = try await LocalModel.load(from: try tiny.write(in: directory))
        let server = router(model)
        let answer = await server.answer(
            "POST", "/v1/rerank", #"{"model": "Test-Q4", "query": "abc", "documents": ["abc", "xyz", "a b c"]}"#)
        #expect(results(answer).count == 3)
        // [CLS] abc [SEP] xyz [SEP], a token for each letter.
        let pairs = try ["abc", "xyz", "a b c"].map { try model.rerankTokens(query: "abc", document: $0) }
        #expect(pairs[0] == [2, 4, 31, 32, 3, 4, 31, 32, 3])
        let scores = try await model.relevance(of: pairs)
        for result in results(answer) {
            let index = try #require(result["index"] as? Int)
            let score = try #require(result["relevance_score"] as? Double)
            #expect(abs(score - Double(scores[index])) < 1e-5)
        }
        let embedding = await server.answer(
            "POST", "/v1/embeddings", #"{"model": "Test-Q4", "input": ["abc", "b"], "pooling": "cls"}"#)
        #expect((embedding.json["data"] as? [Any])?.count == 2)
        let chat = await server.answer(
            "POST", "/v1/chat/completions",
            #"{"model": "Test-Q4", "messages": [{"role": "user", "content": "abc"}]}"#)
        #expect(chat.status == 400)
        #expect((chat.error["message"] as? String)?.contains("encoder") == true)
    }

    @Test(.timeLimit(.minutes(2))) func `a query is not repeated for more tokens than a body can have`() async throws {
        var script = ScriptedLanguageModel.Script()
        (script.isReranker, script.contextSize) = (true, 1 << 16)
        let engine = ScriptedLanguageModel(script)
        func rerank(query: Int) async -> Answer {
            let documents = Array(repeating: #""d""#, count: 2048).joined(separator: ",")
            let text = String(repeating: "q", count: query)
            return await router(engine).answer(
                "POST", "/v1/rerank", #"{"model": "Test-Q4", "query": "\#(text)", "documents": [\#(documents)]}"#)
        }
        let refused = await rerank(query: 30_000)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == "documents")
        #expect(await rerank(query: 10).status == 200)
        // Not on the threads that serve other requests too.
        #expect(engine.ranApart.withLock { $0 } == [true])
    }
}
