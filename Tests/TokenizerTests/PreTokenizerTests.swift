import TestSupport
import Testing

@testable import Tokenizer

/// What families make of one text. Checked against llama.cpp, whose ids with real vocabularies show the cuts.
@Suite struct PreTokenizerTests {
    private func split(_ family: String, _ text: String) throws -> [String] {
        let family = try #require(PreTokenizerFamily.named(family))
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBufferPointer { buffer in
            let ends = ClassifiedText.withClasses(of: buffer) { PreTokenizer(passes: family.passes).split($0) }
            return zip([0] + ends, ends).map { String(decoding: bytes[$0..<$1], as: UTF8.self) }
        }
    }

    @Test(arguments: [
        ("gpt-2", "I'll pay 1234.5  now\n\n", ["I", "'ll", " pay", " 1234", ".", "5", " ", " now", "\n\n"]),
        ("gpt-2", "DON'T", ["DON", "'", "T"]),
        ("llama-bpe", "DON'T pay 12345", ["DON", "'T", " pay", " ", "123", "45"]),
        ("llama-bpe", "a!\n\n b\n \n  c", ["a", "!\n\n", " b", "\n \n", " ", " c"]),
        ("llama-bpe", "(x)\t\ty", ["(x", ")", "\t", "\ty"]),
        ("qwen2", "x12 y", ["x", "1", "2", " y"]),
        ("qwen35", "हिन्दी!", ["हिन्दी", "!"]),
        ("qwen2", "हि!", ["ह", "ि!"]),
        ("starcoder", "a1234 b", ["a", "1", "2", "3", "4", " b"]),
        ("falcon", "a+b 12345", ["a", "+", "b", " ", "123", "45"]),
        ("default", "a+b `12345`", ["a", "+", "b", " `", "123", "45", "`"]),
        ("gpt-4o", "HelloWORLDs it's a/b//\n", ["Hello", "WORLDs", " it's", " a", "/b", "//\n"]),
        ("gpt-4o", "ABCd ÄBC", ["ABCd", " Ä", "BC"]),
        ("tekken", "HelloWorld it's 12", ["Hello", "World", " it", "'s", " ", "1", "2"]),
        ("deepseek-v3", "a 1234,x你好 b!", ["a", " ", "123", "4", ",x", "你好", " b", "!"]),
        ("deepseek-llm", "Hi, 你好 123\n", ["Hi", ",", " ", "你好", " ", "123", "\n"]),
        ("deepseek-coder", "a_b 12", ["a", "_", "b", " ", "1", "2"]),
        ("kimi-k2", "say你好it's", ["say", "你好", "it's"]),
        ("jais-2", "a        b", ["a", "    ", "  ", " ", " b"]),
        ("superbpe", "x1234567y", ["x", "1", "234", "567", "y"]),
        ("afmoe", "n 1234567", ["n", " ", "1", "234", "567"]),
        ("bloom", "Hello, my (own) world", ["Hello", ",", " my", " (", "own", ")", " world"]),
        ("exaone-moe", "two words, 12", ["two words", ",", " ", "1", "2"]),
        ("minicpm5", "a12345", ["a", "123", "45"]),
        ("seed-coder", "a!\nb", ["a", "!", "\n", "b"]),
        ("ufakzeka", "it's", ["it", "'s"]),
        ("laguna", "a \n b", ["a", " ", "\n", " b"]),
        ("chameleon", "x\t    IMGIMGABZ.", ["x", "\t", "    ", "IMGIMGABZ", "."]),
        ("gemma4", "a b\n\nc", ["a b", "\n\n", "c"]),
    ])
    func `cuts as the family does`(family: String, text: String, pieces: [String]) throws {
        #expect(try split(family, text) == pieces)
    }

    @Test(arguments: PreTokenizerFamily.names)
    func `cuts lose nothing, whatever the text`(family: String) throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<50 {
            let text = random.text(scalars: Int.random(in: 0...40, using: &random))
            let pieces = try split(family, text)
            #expect(pieces.joined().unicodeScalars.elementsEqual(text.unicodeScalars))
            #expect(!pieces.contains(""))
        }
    }

    @Test func `classes are those of Unicode`() {
        let table = CharacterTable.unicode
        #expect(table[0x41] == [.letter, .upper])
        #expect(table[0x4E00] == [.letter, .han])
        #expect(table[0x0301] == .mark)
        #expect(table[0xBD] == .number)  // ½
        #expect(table[0x20AC] == .symbol)  // €
        #expect(table[0x3002] == .punctuation)  // 。
        #expect(table[0xA0] == .blank)
        #expect(table[0x200B] == .other)  // zero-width space, a format character
        #expect(table[0x110000] == .other)
    }
}
