import TestSupport
import Testing

@testable import Tokenizer

@Suite struct SentencePieceTests {
    private static let description = TokenizerDescription.sentencePiece(
        [
            ("▁", -9), ("h", -9), ("e", -9), ("l", -9), ("o", -9), ("ll", -1), ("he", -2), ("hell", -3), ("▁hell", -4),
            ("▁hello", -5), ("lo", -1.5), ("▁▁", -3),
        ], special: [("<x>", 4), ("<c>", 3)])

    @Test func `neighbours of the best score are joined first`() throws {
        let tokenizer = try TextTokenizer(Self.description)
        #expect(tokenizer.pieces("hello") == [" hello"])
        #expect(tokenizer.pieces("hel lo") == [" ", "he", "l", " ", "lo"])
    }

    @Test func `what is no token becomes bytes`() throws {
        let tokenizer = try TextTokenizer(Self.description)
        let ids = tokenizer.encode("é", addSpecial: false, parseSpecial: false)
        #expect(Array(ids.suffix(2)) == [198, 172])  // <0xC3> <0xA9>
        #expect(tokenizer.decode(ids) == "é")
    }

    @Test func `a space stands before the text and after each special token`() throws {
        let tokenizer = try TextTokenizer(Self.description)
        #expect(tokenizer.pieces("hello<x>hello") == [" hello", "<x>", " hello"])
        #expect(tokenizer.pieces("hello", addSpecial: true) == ["<s>", " hello"])
        var description = Self.description
        description.addSpacePrefix = false
        #expect(try TextTokenizer(description).pieces("hello") == ["hell", "o"])
    }

    @Test func `decoding gives back any text`() throws {
        var random = SeededGenerator(seed: 5)
        let tokenizer = try TextTokenizer(Self.description)
        for _ in 0..<200 {
            // "▁" itself is taken for a space.
            let text = random.text(scalars: 30).filter { $0 != "▁" }
            let decoded = tokenizer.decode(tokenizer.encode(text, addSpecial: true, parseSpecial: false))
            #expect(decoded.unicodeScalars.elementsEqual(text.unicodeScalars))
        }
    }

    @Test func `tokens that join words are found`() throws {
        let tokenizer = try TextTokenizer(
            .sentencePiece([("▁", -9), ("a", -9), ("b", -9), ("▁a", -1), ("▁b", -2), ("▁a▁b", -3)]))
        #expect(tokenizer.pieces("a b") == [" a b"])
    }
}
