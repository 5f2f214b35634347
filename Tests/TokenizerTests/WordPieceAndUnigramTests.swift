import Testing

@testable import Tokenizer

@Suite struct WordPieceTests {
    private func tokenizer(_ change: (inout TokenizerDescription) -> Void = { _ in }) throws -> TextTokenizer {
        let texts = ["[CLS]", "[SEP]", "[UNK]", "▁hello", "▁hell", "ing", "▁un", "▁!", "▁你", "▁好", "▁Hello", "▁é"]
        var description = TokenizerDescription(model: "bert", tokens: texts.map { Array($0.utf8) })
        description.types = [3, 3, 3] + Array(repeating: 1, count: texts.count - 3)
        (description.beginningOfSequence, description.separator, description.unknown) = (0, 1, 2)
        change(&description)
        return try TextTokenizer(description)
    }

    @Test func `words are cut into the longest tokens`() throws {
        let tokenizer = try tokenizer()
        #expect(tokenizer.encode("helloing hello!", addSpecial: true, parseSpecial: false) == [0, 3, 5, 3, 7, 1])
    }

    @Test func `a word that cannot be cut is unknown`() throws {
        #expect(try tokenizer().encode("hellox un", addSpecial: false, parseSpecial: false) == [2, 6])
    }

    @Test func `case and accents are dropped, ideographs stand alone`() throws {
        #expect(try tokenizer().encode("HéLLO 你好", addSpecial: false, parseSpecial: false) == [3, 8, 9])
        let cased = try tokenizer { $0.normalizerLowercase = false }
        #expect(cased.encode("Hello é", addSpecial: false, parseSpecial: false) == [10, 11])
    }

    @Test func `decoding parts words by spaces`() throws {
        #expect(try tokenizer().decode([0, 3, 5, 6, 1]) == "helloing un")
    }
}

@Suite struct UnigramTests {
    private func description(map: [UInt8]? = nil) -> TokenizerDescription {
        let texts: [(String, Float, Int32)] = [
            ("<pad>", 0, 3), ("</s>", 0, 3), ("<unk>", 0, 2), ("▁", -2, 1), ("a", -3, 1), ("b", -3, 1), ("ab", -4, 1),
            ("▁ab", -7, 1), ("ba", -3.5, 1), ("<u>", -50, 4), ("A", -3, 1),
        ]
        var description = TokenizerDescription(model: "t5", tokens: texts.map { Array($0.0.utf8) })
        description.scores = texts.map(\.1)
        description.types = texts.map(\.2)
        description.addSpacePrefix = true
        description.precompiledCharsmap = map
        return description
    }

    @Test func `the way with the greatest sum wins`() throws {
        let tokenizer = try TextTokenizer(description())
        // ▁ + ab is −6, better than ▁ab with −7; ab + a is −7, ▁ + a + ba −8.5.
        #expect(tokenizer.encode("ab", addSpecial: false, parseSpecial: false) == [3, 6])
        #expect(tokenizer.encode("aba", addSpecial: true, parseSpecial: false) == [3, 4, 8, 1])
    }

    @Test func `unknown characters that follow each other are one token`() throws {
        let tokenizer = try TextTokenizer(description())
        #expect(tokenizer.encode("axyza", addSpecial: false, parseSpecial: false) == [3, 4, 2, 4])
        #expect(tokenizer.encode("a<u>a", addSpecial: false, parseSpecial: false).contains(9))
    }

    /// A map from "a" to `replacement`.
    private func map(to replacement: [UInt8]) -> [UInt8] {
        // A double array with the one string "a" → "A": the root's children begin at 0x100, and "a" ends at 0x161,
        // whose value, 0, lies at 0x161 ⊕ 1.
        var units = [UInt32](repeating: 0, count: 0x200)
        units[0] = 0x100 << 10
        units[0x161] = 1 << 10 | 1 << 8 | 0x61
        units[0x160] = 0x8000_0000
        var map = withUnsafeBytes(of: UInt32(4 * units.count).littleEndian) { Array($0) }
        for unit in units { map += withUnsafeBytes(of: unit.littleEndian) { Array($0) } }
        return map + replacement + [0]
    }

    @Test func `the compiled map replaces the longest prefix`() throws {
        let map = map(to: Array("A".utf8))
        let tokenizer = try TextTokenizer(description(map: map))
        #expect(tokenizer.encode("ab", addSpecial: false, parseSpecial: false) == [3, 10, 5])
    }

    @Test func `a map by which text grows without bound is refused`() throws {
        let error = #expect(throws: TokenizerError.self) {
            try TextTokenizer(description(map: map(to: Array(repeating: 65, count: 1 << 20))))
        }
        #expect("\(error!)".contains("precompiled_charsmap"))
        #expect("\(error!)".contains("replaces 1 bytes by 1048576"))
        _ = try TextTokenizer(description(map: map(to: Array(repeating: 65, count: 16))))
    }

    @Test func `a text of many tokens is cut as its parts are`() throws {
        let tokenizer = try TextTokenizer(description())
        let one = tokenizer.encode("aba bab é", addSpecial: false, parseSpecial: false)
        let many = tokenizer.encode(
            Array(repeating: "aba bab é", count: 500).joined(separator: " "), addSpecial: false, parseSpecial: false)
        #expect(many.count > 500 * 5)
        #expect(many.starts(with: one))
    }

    @Test func `a map that is cut short is refused`() {
        #expect(throws: TokenizerError.self) { try TextTokenizer(description(map: [0, 1, 0, 0, 1])) }
    }
}
