import Foundation
import Testing
import Tokenizer

@testable import Engine
@testable import LocalLLM
@testable import Shim
@testable import Wire

/// Line 11 of what clients depend on: log probabilities, in both shapes.
@Suite(.timeLimit(.minutes(2))) struct LogprobTests {
    private func content(_ choice: [String: Any]) -> [[String: Any]] {
        (choice["logprobs"] as? [String: Any])?["content"] as? [[String: Any]] ?? []
    }

    @Test func `11: a chat's tokens with bytes and alternatives, without the one that ends it`() async {
        let answer = await router(ScriptedLanguageModel(.init(texts: ["A", "ö"]))).chat(
            #""logprobs": true, "top_logprobs": 2"#)
        let tokens = content(answer.choice)
        #expect(tokens.map { $0["token"] as? String } == ["A", #"\xc3"#, #"\xb6"#])
        #expect(tokens.map { $0["bytes"] as? [Int] } == [[65], [0xc3], [0xb6]])
        let top = tokens[0]["top_logprobs"] as? [[String: Any]] ?? []
        #expect(top.map { $0["token"] as? String } == ["B", "A"])
        #expect(top[1]["logprob"] as? Double == tokens[0]["logprob"] as? Double)
        #expect(tokens.allSatisfy { ($0["logprob"] as? Double ?? 1) < 0 })
        #expect((answer.choice["logprobs"] as? [String: Any])?["refusal"] is NSNull)
    }

    @Test func `11: streamed, each chunk has the tokens of its text`() async throws {
        let router = router(ScriptedLanguageModel(.init(texts: ["A", "BC"])))
        let stream = try await router.stream(chatBody(#""stream": true, "logprobs": true"#))
        let chunks = stream.choices.filter { ($0["delta"] as? [String: String])?["content"]?.isEmpty == false }
        #expect(chunks.map { content($0).map { $0["token"] as? String } } == [["A"], ["B", "C"]])
        #expect(chunks.allSatisfy { content($0).allSatisfy { ($0["top_logprobs"] as? [Any])?.isEmpty == true } })
        let others = stream.choices.filter { ($0["delta"] as? [String: String])?["content"]?.isEmpty != false }
        #expect(others.allSatisfy { $0["logprobs"] is NSNull })
        #expect(await router.chat().choice["logprobs"] is NSNull)
    }

    @Test func `11: tokens of a stop string and of thoughts are not listed`() async {
        let stopped = ScriptedLanguageModel(.init(texts: ["A"], lastTokens: ScriptedLanguageModel.tokens("STOP")))
        #expect(
            content(await router(stopped).chat(#""logprobs": true"#).choice).map { $0["token"] as? String } == ["A"])
        let thinking = ScriptedLanguageModel(.init(texts: ["<think>x</think>", "\nY", "es"]))
        let tokens = content(await router(thinking).chat(#""logprobs": true"#).choice)
        #expect(tokens.map { $0["token"] as? String } == ["Y", "e", "s"])
    }

    @Test func `11: the older shape, with offsets in code points`() async {
        let answer = await router(ScriptedLanguageModel(.init(texts: ["ö", "A"]))).complete(
            #""prompt": "x", "logprobs": 1"#)
        let logprobs = answer.choice["logprobs"] as? [String: Any] ?? [:]
        #expect(logprobs["tokens"] as? [String] == [#"\xc3"#, #"\xb6"#, "A"])
        #expect(logprobs["text_offset"] as? [Int] == [0, 0, 1])
        #expect((logprobs["token_logprobs"] as? [Double])?.count == 3)
        let top = logprobs["top_logprobs"] as? [[String: Double]] ?? []
        #expect(top.map { Set($0.keys) } == [[#"\xc3"#, #"\xc4"#], [#"\xb6"#, #"\xb7"#], ["A", "B"]])
    }

    @Test func `11: an echoed prompt has probabilities from its second token on`() async {
        let router = router(ScriptedLanguageModel(.init(texts: ["C"])))
        let answer = await router.complete(#""prompt": "ÖAB", "logprobs": 0, "echo": true"#)
        #expect(answer.choice["text"] as? String == "ÖABC")
        let logprobs = answer.choice["logprobs"] as? [String: Any] ?? [:]
        #expect(logprobs["tokens"] as? [String] == [#"\xc3"#, #"\x96"#, "A", "B", "C"])
        #expect(logprobs["text_offset"] as? [Int] == [0, 0, 1, 2, 3])
        let values = logprobs["token_logprobs"] as? [Any] ?? []
        #expect(values.map { $0 is NSNull } == [true, false, false, false, false])
        #expect((logprobs["top_logprobs"] as? [Any])?.map { $0 is NSNull } == [true, false, false, false, false])
    }

    @Test func `offsets in a given text, with a token in front that it does not have`() {
        let tokenizer = ScriptedLanguageModel().tokenizer
        let ids = [1] + ScriptedLanguageModel.tokens("ÖA") + [2]
        let logprobs = ids.dropFirst().map { id in
            [Float](repeating: 0, count: 259).withUnsafeBufferPointer { TokenLogprob(of: id, in: $0, top: 0) }
        }
        let listed = TokenList.tokens(of: ids, logprobs, in: "ÖA</s>", tokenizer)
        #expect(listed.map(\.offset) == [0, 0, 0, 1, 2])
    }

    @Test(arguments: [-Double.infinity, .nan, -1e9])
    func `what JSON cannot hold is written as OpenAI writes it`(_ value: Double) throws {
        let tokenizer = ScriptedLanguageModel().tokenizer
        let token = ListedToken(id: 70, logprob: value, top: [.init(token: 71, logprob: value)], offset: 0)
        let chat = ChatLogprobs([token], tokenizer).content[0]
        #expect(chat.logprob == -9999 && chat.topLogprobs[0].logprob == -9999)
        #expect(CompletionLogprobs([token], tokenizer).tokenLogprobs == [-9999])
    }

    @Test func `text with broken characters in the middle keeps what is whole`() throws {
        var description = TokenizerDescription(
            model: "llama", tokens: [Array("<unk>".utf8), [0x61, 0xff, 0xc3, 0xb6, 0xf0, 0x9f], Array("<s>".utf8)])
        description.types = [2, 1, 3]
        description.scores = [0, 0, 0]
        let tokenizer = try TextTokenizer(description)
        #expect(tokenizer.label(of: 1) == #"a\xffö\xf0\x9f"#)
        #expect(tokenizer.label(of: 2) == "<s>")
    }
}
