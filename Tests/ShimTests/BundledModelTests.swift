import Foundation
import LocalLLM
import Testing
import Tokenizer

@testable import Shim

/// The routes over the model in models/: what no scripted engine can show.
@Suite(.timeLimit(.minutes(5))) struct BundledModelTests {
    private func bundled() async throws -> Services { router(try await bundledModel()) }

    /// The strings of a JSON object in a text, which the model may write with spaces or without.
    private func object(_ text: Any?) -> [String: String]? {
        (text as? String).flatMap { try? JSONDecoder().decode([String: String].self, from: Data($0.utf8)) }
    }

    private func logprobs(_ answer: Answer) -> [String: Any] { answer.choice["logprobs"] as? [String: Any] ?? [:] }

    @Test func `11, 14: the probabilities listed are those of the text, and greedy text is the likeliest`() async throws
    {
        let answer = try await bundled().chat(
            #""temperature": 0, "logprobs": true, "top_logprobs": 3, "max_tokens": 12"#)
        let tokens = logprobs(answer)["content"] as? [[String: Any]] ?? []
        #expect(!tokens.isEmpty)
        let bytes = tokens.flatMap { $0["bytes"] as? [UInt8] ?? [] }
        #expect(String(decoding: bytes, as: UTF8.self) == answer.message["content"] as? String)
        for token in tokens {
            let top = token["top_logprobs"] as? [[String: Any]] ?? []
            #expect(top.count == 3)
            #expect(top[0]["token"] as? String == token["token"] as? String)
            #expect((token["logprob"] as? Double ?? 1) <= 0)
        }
    }

    @Test func `the forced beginning of a call ends where the model's own tokens may differ`() async throws {
        let model = try await bundledModel()
        let tokenizer = try model.tokenizer
        func tokens(_ text: String) -> [Int32] { tokenizer.encode(text, addSpecial: false, parseSpecial: true) }
        let whole = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\":"
        let kept = try model.healed(whole, after: "", model.markup)
        #expect(whole.hasPrefix(kept) && kept.hasPrefix("<tool_call>\n{\"name\": \"get_weather\", \"arg"))
        for rest in [" {\"city\": \"Paris\"}", "{\"city\":\"Paris\"}", "{}"] {
            #expect(tokens(whole + rest).starts(with: tokens(kept)), "\(rest)")
        }
        #expect(try model.healed("", after: "", model.markup) == "")
    }

    @Test func `the requests that a server shows when it starts are answered right`() async throws {
        let router = try await bundled()
        var answers: [Answer] = []
        for request in Demonstration.all {
            answers.append(await router.answer("POST", "/v1/chat/completions", request.body(model: "Test-Q4")))
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect((answers[0].message["content"] as? String)?.contains("Hello") == true)
        #expect(object(answers[1].message["content"]) == ["answer": "The capital of France is Paris."])
        let calls = answers[2].message["tool_calls"] as? [[String: Any]]
        let call = calls?.first?["function"] as? [String: String]
        #expect(call?["name"] == "get_weather" && object(call?["arguments"]) == ["city": "Paris"])
        #expect(calls?.count == 1)
    }

    @Test func `12, 14: choices of one seed repeat, and the first is the plain answer`() async throws {
        let router = try await bundled()
        let fields = #""temperature": 1.5, "seed": 11, "max_tokens": 12"#
        let texts = { (answer: Answer) in
            answer.choices.map { ($0["message"] as? [String: Any])?["content"] as? String }
        }
        let plain = texts(await router.chat(fields))
        let several = texts(await router.chat(fields + #", "n": 3"#))
        #expect(several.first == plain.first)
        #expect(Set(several).count > 1)
        #expect(texts(await router.chat(fields + #", "n": 3"#)) == several)
    }

    @Test func `11, 29: an echoed prompt's probabilities are those that generating it listed`() async throws {
        let router = try await bundled()
        let made = await router.complete(
            #""prompt": "Hello", "temperature": 0, "max_tokens": 6, "logprobs": 1, "echo": true"#)
        let text = made.choice["text"] as? String ?? ""
        #expect(text.hasPrefix("Hello"))
        let read = await router.answer(
            "POST", "/v1/completions",
            String(
                decoding: try JSONSerialization.data(withJSONObject: [
                    "model": "Test-Q4", "prompt": text, "max_tokens": 0, "logprobs": 1, "echo": true,
                ]), as: UTF8.self))
        #expect(read.choice["text"] as? String == text)
        let (first, second) = (logprobs(made), logprobs(read))
        try #require(first["tokens"] as? [String] == second["tokens"] as? [String])
        #expect(first["text_offset"] as? [Int] == second["text_offset"] as? [Int])
        let values = zip(first["token_logprobs"] as? [Any] ?? [], second["token_logprobs"] as? [Any] ?? [])
        for (one, other) in values.dropFirst() {
            // Prompts are rounded more coarsely than answers.
            #expect(abs((one as? Double ?? 1) - (other as? Double ?? -1)) < 0.1)
        }
    }

    @Test func `26: tokens and their text have the same embedding`() async throws {
        let router = try await bundled()
        let tokens = await router.answer(
            "POST", "/tokenize", #"{"content": "Hello there", "add_special": true, "parse_special": false}"#)
        let ids = try #require(tokens.json["tokens"] as? [Int])
        let vectors = await router.answer(
            "POST", "/v1/embeddings", #"{"model": "Test-Q4", "input": "Hello there"}"#)
        let same = await router.answer("POST", "/v1/embeddings", #"{"model": "Test-Q4", "input": \#(ids)}"#)
        #expect(vectors.status == 200)
        #expect(vectors.bytes == same.bytes)
        let vector = (vectors.json["data"] as? [[String: Any]])?.first?["embedding"] as? [Double] ?? []
        #expect(abs(vector.reduce(0) { $0 + $1 * $1 } - 1) < 1e-4)
        #expect(vectors.usage["prompt_tokens"] as? Int == ids.count)
        let text = await router.answer("POST", "/detokenize", #"{"tokens": \#(ids)}"#)
        #expect((text.json["content"] as? String)?.contains("Hello there") == true)
    }
}
