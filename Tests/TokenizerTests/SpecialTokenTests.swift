import Testing

@testable import Tokenizer

@Suite struct SpecialTokenTests {
    private func pieces(
        _ text: String, _ special: [(text: String, type: Int32)], parse: Bool = true, name: String? = nil
    ) throws -> [String] {
        var description = TokenizerDescription.byteLevel(["a b", "b c", "c d"], special: special)
        description.modelName = name
        return try TextTokenizer(description).pieces(text, parseSpecial: parse)
    }

    @Test func `control tokens are parsed only where asked for`() throws {
        #expect(try pieces("ab<|c|>", [("<|c|>", 3)]) == ["ab", "<|c|>"])
        #expect(try pieces("ab<|c|>", [("<|c|>", 3)], parse: false) == ["ab", "<", "|", "c", "|", ">"])
    }

    @Test func `user-defined tokens are parsed in any case`() throws {
        for parse in [true, false] {
            #expect(try pieces("ab<u>ab", [("<u>", 4)], parse: parse) == ["ab", "<u>", "ab"])
        }
    }

    @Test func `the longest token wins wherever it begins`() throws {
        // "ab" comes first in the text, but "bcd" is longer.
        #expect(try pieces("abcd", [("ab", 4), ("bcd", 4)]) == ["a", "bcd"])
        #expect(try pieces("<u><u>>", [("<u>", 4), ("<u>>", 4)]) == ["<u>", "<u>>"])
        // The shorter one makes room: what is left of it still matches.
        #expect(try pieces("xyzzy", [("xyz", 4), ("zzy!", 4), ("xy", 4), ("zzy", 4)]) == ["xyz", "z", "y"])
        #expect(try pieces("xyzzzy", [("xyz", 4), ("zzzy", 4), ("xy", 4)]) == ["xy", "zzzy"])
    }

    @Test func `equal tokens are taken from the left`() throws {
        #expect(try pieces("zzz", [("zz", 4)]) == ["zz", "z"])
    }

    @Test func `runs of one token's letter are cut greedily`() throws {
        let special = (2...8).map { (String(repeating: "z", count: $0), Int32(4)) }
        #expect(try pieces(String(repeating: "z", count: 19), special) == ["zzzzzzzz", "zzzzzzzz", "zzz"])
    }

    @Test func `tokens of Phi-3 swallow the white space after them`() throws {
        #expect(try pieces("<|c|> \n ab", [("<|c|>", 3)], name: "Phi-3 mini") == ["<|c|>", "ab"])
        #expect(try pieces("<|c|> ab", [("<|c|>", 3)]) == ["<|c|>", " ", "ab"])
    }

    @Test func `well-known texts are control tokens and end generation, whatever the file says`() throws {
        let tokenizer = try TextTokenizer(.byteLevel(special: [("<|im_end|>", 1), ("<|x|>", 3), ("<|eot_id|>", 3)]))
        #expect(tokenizer.endOfGeneration.isSuperset(of: [256, 258]))
        #expect(!tokenizer.isEndOfGeneration(257))
        #expect(tokenizer.isControl(256))
        #expect(tokenizer.pieces("<|im_end|>").count == 10)
        #expect(tokenizer.decode([256, 257, 97]) == "a")
        #expect(tokenizer.decode([256, 97], includingControl: true) == "<|im_end|>a")
    }

    @Test func `the end of a message is no end where another token returns`() throws {
        let tokenizer = try TextTokenizer(
            .byteLevel(special: [("<|end|>", 3), ("<|return|>", 3), ("<|call|>", 3), ("<|channel|>", 3)]))
        #expect(tokenizer.endOfGeneration.isSuperset(of: [257, 258]))
        #expect(!tokenizer.isEndOfGeneration(256))
        #expect(tokenizer.decode([256, 257, 259]) == "<|end|><|channel|>")
    }
}
