import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// Lines 26 and 29 of what clients depend on: the older completions, and embeddings.
@Suite(.timeLimit(.minutes(2))) struct CompletionTests {
    @Test func `29: a completion in its own shape`() async {
        let engine = ScriptedLanguageModel()
        let answer = await router(engine).complete(#""prompt": "Once""#)
        #expect(answer.status == 200)
        #expect(answer.json["object"] as? String == "text_completion")
        #expect((answer.json["id"] as? String)?.hasPrefix("cmpl-") == true)
        #expect(Set(answer.choice.keys) == ["text", "index", "logprobs", "finish_reason"])
        #expect(answer.choice["text"] as? String == "Hello, wörld")
        #expect(answer.choice["logprobs"] is NSNull)
        #expect(answer.usage["total_tokens"] as? Int == 10)
        let asked = engine.asked.withLock { $0[0] }
        #expect(asked.tokens == ScriptedLanguageModel.tokens("Once"))
        #expect(asked.options.maximumTokens == 16)
        #expect(asked.options.topLogprobs == nil)
    }

    @Test(arguments: [
        (#"["ab", "c"]"#, ["ab", "c"]), ("[68, 69]", ["AB"]), ("[[68], [69, 70]]", ["A", "BC"]),
    ])
    func `29: every form of prompt, each with n choices in order`(_ prompt: String, _ texts: [String]) async {
        let speak: @Sendable ([Int32], SamplingOptions) -> [String] = { tokens, options in
            ["+\(tokens.count)/\(options.seed ?? 0)"]
        }
        let engine = ScriptedLanguageModel(.init(speak: speak))
        let answer = await router(engine).complete(#""prompt": \#(prompt), "n": 2, "echo": true, "seed": 5"#)
        #expect(answer.choices.map { $0["index"] as? Int } == Array(0..<texts.count * 2))
        #expect(
            answer.choices.map { $0["text"] as? String }
                == texts.flatMap { ["\($0)+\($0.utf8.count)/5", "\($0)+\($0.utf8.count)/6"] })
        #expect(answer.usage["prompt_tokens"] as? Int == 7 * texts.count)
        #expect(answer.usage["completion_tokens"] as? Int == 2 * texts.count)
    }

    /// A model of a vocabulary that puts a space before a text, which here says nothing but spaces.
    private func spaces() async throws -> LocalModel {
        let directory = try TemporaryDirectory()
        var builder = TinyModel().builder()
        builder.metadata.removeAll { $0.key == "tokenizer.ggml.add_space_prefix" }
        builder.metadata.append(("tokenizer.ggml.add_space_prefix", .bool(true)))
        return try await LocalModel.load(from: URL(filePath: try directory.write(builder.bytes(), as: "Test-Q4.gguf")))
    }

    @Test func `a continuation keeps the space that it begins with`()
        async throws
    {
        let router = router(try await spaces())
        let fields = #""max_tokens": 3, "logit_bias": {"35": 100}, "temperature": 0"#
        let answer = await router.complete(#""prompt": "Once", \#(fields)"#)
        #expect(answer.choice["text"] as? String == "   ")
        let echo = await router.complete(#""prompt": "Once", "echo": true, "logprobs": 1, \#(fields)"#)
        #expect(echo.choice["text"] as? String == "Once   ")
        let offsets = (echo.choice["logprobs"] as? [String: Any])?["text_offset"] as? [Int]
        #expect(offsets?.suffix(3) == [4, 5, 6])
        // A message is a text by itself: the space that the model writes before its first word is left out.
        let chat = await router.chat(fields)
        #expect((chat.choice["message"] as? [String: Any])?["content"] as? String == "  ")
    }

    @Test func `a stop string beyond the limit is refused`() async {
        let stop = String(repeating: "a", count: SamplingOptions.maximumStopBytes + 1)
        let answer = await router(ScriptedLanguageModel()).complete(#""prompt": "x", "stop": "\#(stop)""#)
        #expect(answer.status == 400 && answer.error["param"] as? String == "stop")
    }

    @Test func `29: a stream of completions`() async throws {
        let body =
            #"{"model": "Test-Q4", "prompt": "x", "echo": true, "stream": true, "stream_options": {"include_usage": true}}"#
        let stream = try await router(ScriptedLanguageModel()).stream(body, at: "/v1/completions")
        #expect(stream.choices.map { $0["text"] as? String } == ["xHello", ", ", "wörld", ""])
        #expect(stream.choices.map { $0["finish_reason"] as? String } == [nil, nil, nil, "stop"])
        #expect(stream.chunks.dropLast().allSatisfy { $0["usage"] is NSNull })
        #expect((stream.chunks.last?["usage"] as? [String: Any])?["total_tokens"] as? Int == 10)
        #expect(stream.events.last == "data: [DONE]")
    }

    @Test func `29: a prompt alone comes back without any generation`() async throws {
        let engine = ScriptedLanguageModel()
        let answer = await router(engine).complete(
            #""prompt": ["ab", "c"], "echo": true, "max_tokens": 0, "logprobs": 1"#)
        #expect(answer.choices.map { $0["text"] as? String } == ["ab", "c"])
        #expect(answer.choices.map { $0["finish_reason"] as? String } == ["length", "length"])
        #expect(answer.usage["prompt_tokens"] as? Int == 3)
        #expect(answer.usage["completion_tokens"] as? Int == 0)
        let logprobs = answer.choice["logprobs"] as? [String: Any]
        #expect(logprobs?["tokens"] as? [String] == ["a", "b"])
        let body = #"{"model": "Test-Q4", "prompt": "x", "echo": true, "max_tokens": 0, "stream": true}"#
        let stream = try await router(engine).stream(body, at: "/v1/completions")
        #expect(stream.choices.map { $0["text"] as? String } == ["x", ""])
        #expect(engine.asked.withLock { $0.isEmpty })
    }

    @Test func `29: what cannot be served is refused`() async {
        let router = router(ScriptedLanguageModel())
        let long = String(repeating: "x", count: (1 << 17) / 16 + 1)
        for (fields, param) in [
            (#""prompt": "\#(long)", "n": 16, "echo": true, "logprobs": 0"#, "echo"),
            (#""prompt": "x", "suffix": "y""#, "suffix"), (#""prompt": "x", "best_of": 2"#, "best_of"),
            (#""prompt": [[1, 300]]"#, "prompt[1]"), (#""prompt": [[1], [2, -1]]"#, "prompt[1][1]"),
            (#""prompt": """#, "prompt"),
            (#""prompt": ["a", ""]"#, "prompt[1]"),
        ] {
            let answer = await router.complete(fields)
            #expect(answer.status == 400)
            #expect(answer.error["param"] as? String == param)
        }
    }

    private func embed(_ fields: String) async -> Answer {
        await router(ScriptedLanguageModel()).answer("POST", "/v1/embeddings", #"{"model": "Test-Q4", \#(fields)}"#)
    }

    private func vectors(_ answer: Answer) -> [[Double]] {
        (answer.json["data"] as? [[String: Any]] ?? []).compactMap { $0["embedding"] as? [Double] }
    }

    @Test(arguments: [#"["a", "bcd"]"#, "[[68], [69, 70, 71]]"])
    func `26: embeddings of every form of input`(_ input: String) async {
        let answer = await embed(#""input": \#(input)"#)
        #expect(answer.json["object"] as? String == "list")
        let data = answer.json["data"] as? [[String: Any]] ?? []
        #expect(data.map { $0["index"] as? Int } == [0, 1])
        #expect(data.allSatisfy { $0["object"] as? String == "embedding" })
        let vectors = vectors(answer)
        #expect(zip(vectors, [1.0, 3]).allSatisfy { abs($0[2] / $0[0] * 3 - $1) < 1e-5 })
        #expect(answer.usage as? [String: Int] == ["prompt_tokens": 4, "total_tokens": 4])
        #expect(self.vectors(await embed(#""input": "a""#)).first == vectors[0])
    }

    @Test func `26: base64 is the floats, four bytes each, the lowest first`() async throws {
        let floats = try #require(vectors(await embed(#""input": "abc""#)).first)
        let answer = await embed(#""input": "abc", "encoding_format": "base64""#)
        let text = (answer.json["data"] as? [[String: Any]])?.first?["embedding"] as? String
        let data = [UInt8](try #require(Data(base64Encoded: text ?? "")))
        let decoded = stride(from: 0, to: data.count, by: 4).map { start in
            Float(bitPattern: (0..<4).reduce(0) { $0 | UInt32(data[start + $1]) << UInt32(8 * $1) })
        }
        #expect(decoded == floats.map { Float($0) })
    }

    @Test func `26: fewer dimensions are scaled to length 1, more are refused`() async throws {
        let short = try #require(vectors(await embed(#""input": "a", "dimensions": 2"#)).first)
        #expect(short.count == 2)
        #expect(abs(short[0] - 0.6) < 1e-6 && abs(short[1] - 0.8) < 1e-6)
        let refused = await embed(#""input": "a", "dimensions": 5"#)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == "dimensions")
        #expect((refused.error["message"] as? String)?.contains("4 dimensions") == true)
    }

    @Test func `26: pooling is the mean unless told otherwise`() async throws {
        #expect(vectors(await embed(#""input": "a""#)).first?[3] == 0)
        #expect(vectors(await embed(#""input": "a", "pooling": "mean""#)).first?[3] == 0)
        #expect((vectors(await embed(#""input": "a", "pooling": "last""#)).first?[3] ?? 0) > 0)
        #expect(await embed(#""input": "a", "pooling": "rank""#).error["param"] as? String == "pooling")
        #expect(await embed(#""input": """#).error["param"] as? String == "input")
    }
}
