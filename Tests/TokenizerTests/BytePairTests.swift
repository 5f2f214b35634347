import TestSupport
import Testing

@testable import Tokenizer

@Suite struct BytePairTests {
    @Test func `merges go by rank, not from left to right`() throws {
        let tokenizer = try TextTokenizer(.byteLevel(["b c", "a b", "a bc"]))
        #expect(tokenizer.pieces("abc") == ["abc"])
        #expect(tokenizer.pieces("abab") == ["ab", "ab"])
        let other = try TextTokenizer(.byteLevel(["a b", "b c"]))
        #expect(other.pieces("abc") == ["ab", "c"])
    }

    @Test func `equal merges are done from the left`() throws {
        let tokenizer = try TextTokenizer(.byteLevel(["a a"]))
        #expect(tokenizer.pieces("aaa") == ["aa", "a"])
        // Long pieces are merged in another way, with the same result.
        #expect(tokenizer.pieces(String(repeating: "a", count: 101)) == Array(repeating: "aa", count: 50) + ["a"])
    }

    @Test func `short and long pieces are merged alike`() throws {
        var random = SeededGenerator(seed: 3)
        let letters = ["a", "b", "c"]
        var made = letters
        var merges: [String] = []
        while merges.count < 60 {
            let merge = [made.randomElement(using: &random) ?? "a", made.randomElement(using: &random) ?? "a"]
            guard !made.contains(merge.joined()) else { continue }
            merges.append(merge.joined(separator: " "))
            made.append(merge.joined())
        }
        let rules = try BytePairRules(
            merges.map { Array($0.utf8) }, tokens: TokenizerDescription.byteLevel(merges).tokens, isByteLevel: true)
        for count in [2, 10, 48, 49, 50, 200, 1000] {
            let text = (0..<count).map { _ in UInt8(ascii: "a") + UInt8.random(in: 0..<3, using: &random) }
            #expect(merged(text, rules) == mergedPlainly(text, rules), "\(count) letters")
        }
    }

    private func merged(_ text: [UInt8], _ rules: BytePairRules) -> [Int32] {
        text.withUnsafeBufferPointer { text in
            var merger = Merger(rules)
            merger.symbols = text.indices.map { TextSymbol(id: Int32(text[$0]), start: $0) }
            merger.run(text, end: text.count)
            return merger.symbols.map(\.id)
        }
    }

    /// The definition of BPE, word for word.
    private func mergedPlainly(_ text: [UInt8], _ rules: BytePairRules) -> [Int32] {
        text.withUnsafeBufferPointer { text in
            var ids = text.map { Int32($0) }
            while true {
                var best: (rank: UInt32, index: Int, symbol: Int32)?
                for i in ids.indices.dropLast() {
                    guard let merge = rules.merge(ids[i], ids[i + 1], bytes: 0..<0, of: text) else { continue }
                    if merge.rank < best?.rank ?? .max { best = (merge.rank, i, merge.symbol) }
                }
                guard let best else { return ids }
                ids.replaceSubrange(best.index...best.index + 1, with: [best.symbol])
            }
        }
    }

    @Test func `a piece that is a token is taken whole only where the family says so`() throws {
        // "abc" is a token, but no merge makes it.
        let merges = ["a b"]
        for (pre, expected) in [("llama-bpe", ["abc"]), ("qwen2", ["ab", "c"])] {
            var description = TokenizerDescription.byteLevel(merges, pre: pre)
            description.tokens.append(Array("abc".utf8))
            description.types?.append(1)
            #expect(try TextTokenizer(description).pieces("abc") == expected)
        }
    }

    @Test func `the default end of sequence is one only where it is a special token`() throws {
        #expect(try TextTokenizer(.byteLevel()).endOfGeneration.isEmpty)
        var description = TokenizerDescription.byteLevel()
        description.types?[11] = 3
        #expect(try TextTokenizer(description).endOfGeneration == [11])
    }

    @Test func `what merges make and no token has falls apart into bytes`() throws {
        var description = TokenizerDescription.byteLevel(["a b"])
        description.tokens.removeLast()
        description.types?.removeLast()
        #expect(try TextTokenizer(description).pieces("ab") == ["a", "b"])
    }

    @Test func `merges stay within pieces`() throws {
        let tokenizer = try TextTokenizer(.byteLevel(["a Ġ", "Ġ b"]))
        #expect(tokenizer.pieces("a b") == ["a", " b"])
    }

    private static let byteLevel = PreTokenizerFamily.names.filter {
        PreTokenizerFamily.named($0)?.isCharacterLevel == false
    }

    @Test(arguments: byteLevel)
    func `decoding gives back any text`(pre: String) throws {
        let tokenizer = try TextTokenizer(.byteLevel(["h e", "l l", "Ġ Ġ", "he ll", "Ã ©", "Ċ Ċ"], pre: pre))
        var random = SeededGenerator(seed: 11)
        for _ in 0..<40 {
            let text = random.text(scalars: Int.random(in: 0...60, using: &random)) + "hello  hé\n\n"
            let decoded = tokenizer.decode(tokenizer.encode(text, addSpecial: false, parseSpecial: false))
            #expect(decoded.unicodeScalars.elementsEqual(text.unicodeScalars))
        }
    }

    @Test func `bytes that are no UTF-8 are kept`() throws {
        let tokenizer = try TextTokenizer(.byteLevel())
        let bytes: [UInt8] = [0x61, 0xFF, 0xE2, 0x82, 0x20, 0xC0, 0x80, 0xF0, 0x9F]
        let ids = tokenizer.encode(bytes: bytes, addSpecial: false, parseSpecial: false)
        #expect(ids.flatMap { tokenizer.bytes(of: $0) } == bytes)
        #expect(tokenizer.decode(ids) == String(decoding: bytes, as: UTF8.self))
    }

    @Test func `character-level merges take ▁ for the space and bytes for what is no token`() throws {
        let texts = ["▁", "a", "b", "▁a", "<0xC3>", "<0xA9>", "\n", "\n\n", "▁▁"]
        var description = TokenizerDescription(model: "gemma4", tokens: texts.map { Array($0.utf8) })
        description.types = [1, 1, 1, 1, 6, 6, 1, 1, 1]
        description.merges = ["▁ a", "▁ ▁"].map { Array($0.utf8) }
        let tokenizer = try TextTokenizer(description)
        #expect(tokenizer.encode("b a\n\né  ", addSpecial: false, parseSpecial: false) == [2, 3, 7, 4, 5, 8])
        #expect(tokenizer.decode([2, 3, 7, 4, 5, 8]) == "b a\n\né  ")
    }
}
