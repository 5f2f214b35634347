import TestSupport
import Testing

@testable import Tokenizer

/// Files and texts that are made to hurt.
@Suite struct HostileInputTests {
    @Test func `unknown families and algorithms are refused by name`() {
        var description = TokenizerDescription.byteLevel(pre: "gpt-9000")
        #expect(throws: TokenizerError.unknownPreTokenizer("gpt-9000", model: "gpt2")) {
            try TextTokenizer(description)
        }
        description.model = "tiktoken"
        #expect(throws: TokenizerError.unknownModel("tiktoken")) { try TextTokenizer(description) }
        #expect("\(TokenizerError.unknownPreTokenizer("gpt-9000", model: "gpt2"))".contains("gpt-9000"))
    }

    @Test func `a BPE file without a family is of the default one`() throws {
        #expect(try TextTokenizer(.byteLevel(pre: nil)).pieces("ab").count == 2)
    }

    @Test func `fields that contradict each other are refused`() {
        var description = TokenizerDescription.byteLevel()
        description.types = [1]
        #expect(throws: TokenizerError.self) { try TextTokenizer(description) }
        description = .byteLevel()
        description.scores = [1]
        #expect(throws: TokenizerError.self) { try TextTokenizer(description) }
        description = .byteLevel()
        description.merges = nil
        #expect(throws: TokenizerError.self) { try TextTokenizer(description) }
        #expect(throws: TokenizerError.self) { try TextTokenizer(TokenizerDescription(model: "llama", tokens: [])) }
    }

    @Test func `nonsense in a file does not crash`() throws {
        var description = TokenizerDescription.byteLevel([" ", "", "a", "a ", " a", "a  b", "ÿÿ \u{1}", "zz yy"])
        description.tokens += [[0xFF, 0xFE], [], Array("a".utf8), Array("a".utf8)]
        description.types? += [1, 3, 99, -1]
        (description.beginningOfSequence, description.endOfSequence, description.unknown) = (-7, .max, 1 << 20)
        (description.addBeginningOfSequence, description.addEndOfSequence) = (true, true)
        let tokenizer = try TextTokenizer(description)
        #expect(!tokenizer.encode("abzzyy", addSpecial: true, parseSpecial: true).isEmpty)

        description = .sentencePiece([("a", .nan), ("b", .infinity), ("ab", -.infinity), ("", 0)])
        #expect(try TextTokenizer(description).pieces("abab").joined().contains("a"))
        description.model = "t5"
        #expect(try !TextTokenizer(description).encode("ab", addSpecial: true, parseSpecial: true).isEmpty)
        description.model = "bert"
        #expect(try !TextTokenizer(description).encode("ab", addSpecial: true, parseSpecial: true).isEmpty)
    }

    /// Were any of these quadratic, a megabyte would take hours.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: ["a", " ", "\n", "🚀", "!", "'", "7", "A", "ab", "aB", "\u{301}", "\u{A0}", "Ä", "<|", "你", " \n"])
    func `a megabyte of anything takes its time in proportion`(unit: String) throws {
        let text = String(repeating: unit, count: (1 << 20) / unit.utf8.count)
        let merges = ["a a", "aa aa", "aaaa aaaa", "Ġ Ġ", "ĠĠ ĠĠ", "! !", "Ċ Ċ", "A A", "ð Ł", "Ì ģ", "< |"]
        let special: [(text: String, type: Int32)] =
            (2...30).map { (String(repeating: "\u{A0}", count: $0), 4) } + [("<|end|>", 3), ("<|en", 4)]
        for pre in ["llama-bpe", "jais-2", "granite-embed-multi-97m"] {
            let tokenizer = try TextTokenizer(.byteLevel(merges, pre: pre, special: special))
            let ids = tokenizer.encode(text, addSpecial: false, parseSpecial: true)
            #expect(ids.reduce(0) { $0 + tokenizer.bytes(of: $1).count } == text.utf8.count)
        }
        let pieces: [(text: String, score: Float)] = [
            ("aa", -1), ("aaaa", -2), ("▁▁", -1), ("▁▁▁▁", -1), ("a", -9), ("▁", -9), ("!!", -1), ("!", -9),
        ]
        let tokenizer = try TextTokenizer(.sentencePiece(pieces))
        #expect(tokenizer.decode(tokenizer.encode(text, addSpecial: false, parseSpecial: false)) == text)
        for model in ["t5", "bert"] {
            var description = TokenizerDescription.sentencePiece(pieces)
            description.model = model
            _ = try TextTokenizer(description).encode(text, addSpecial: false, parseSpecial: false)
        }
    }
}
