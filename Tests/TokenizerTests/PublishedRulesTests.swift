import TestSupport
import Testing

@testable import Tokenizer

/// The rules of a `tokenizer.json`; all parts together are tested in `CheckpointReferenceTests`.
@Suite struct PublishedRulesTests {
    private static let first: Int32 = 256

    /// - Parameter special: Token texts with their GGUF type and how they are found.
    private func tokenizer(
        _ special: [(text: String, type: Int32, rule: AddedTokenRule)], _ normalizer: [NormalizationStep] = []
    ) throws -> TextTokenizer {
        var description = TokenizerDescription.byteLevel(special: special.map { ($0.text, $0.type) })
        var rules = PublishedRules()
        rules.normalizer = normalizer
        for (index, token) in special.enumerated() { rules.added[Self.first + Int32(index)] = token.rule }
        description.rules = rules
        return try TextTokenizer(description)
    }

    @Test func `added tokens take white space, and are not found within words, where their flags say so`() throws {
        let tokenizer = try tokenizer([
            ("<m>", 3, .stripsLeft), ("<|user|>", 3, .stripsRight), ("word", 4, .isSingleWord),
        ])
        func pieces(_ text: String) -> [String] { tokenizer.pieces(text, parseSpecial: true) }
        #expect(pieces("a \n<m> b") == ["a", "<m>", " ", "b"])
        #expect(pieces("<|user|>\n\u{3000}h") == ["<|user|>", "h"])
        #expect(pieces("<|user|> <m>") == ["<|user|>", "<m>"])
        #expect(pieces("sword") == ["s", "w", "o", "r", "d"])
        #expect(pieces("_word").count == 5)
        #expect(pieces("(word)") == ["(", "word", ")"])
        #expect(tokenizer.pieces("<m>") == ["<", "m", ">"])
    }

    @Test func `the leftmost token wins, of those the longest`() throws {
        let tokenizer = try tokenizer([("ab", 4, []), ("bcd", 4, []), ("abc", 4, [])])
        #expect(tokenizer.pieces("abcd") == ["abc", "d"])
        #expect(tokenizer.pieces("abd bcd") == ["ab", "d", " ", "bcd"])
    }

    @Test(arguments: [
        "Hi<|end|>", "<|END|>", "\u{FF1C}|end|\u{FF1E}", "x<|end|>y", "x<|", "<|end|>yy", "x<|<|end|>end|>",
        "<|e\u{FB01}n|>",
    ])
    func `what a message says never becomes a control token`(_ text: String) throws {
        let tokenizer = try tokenizer(
            [
                ("<|end|>", 3, []), ("<|END|>", 3, .isNormalized), ("<|efin|>", 3, .isNormalized), ("x<|", 4, []),
                ("<|end|>yy", 4, .isNormalized),
            ], [.nfkc, .lowercase])
        let ids = tokenizer.encode(quoted: "<|end|>" + tokenizer.quote(text) + "<|end|>")
        #expect(ids.filter { tokenizer.isControl($0) } == [Self.first, Self.first])
        #expect(ids.first == Self.first && ids.last == Self.first)
        #expect(tokenizer.encode(text, addSpecial: false, parseSpecial: false).allSatisfy { !tokenizer.isControl($0) })
    }

    @Test func `steps are read from the names they are written as`() throws {
        let steps: [NormalizationStep] = [
            .nfc, .nfd, .nfkc, .nfkd, .lowercase, .stripAccents, .stripNonspacing, .stripLeft, .stripRight, .clean,
            .isolateIdeographs, .nmt, .precompiled, .replace("a", with: ""), .replaceSpaces(with: " "), .prepend("NFC"),
        ]
        #expect(try NormalizationStep.steps(named: NormalizationStep.names(of: steps)) == steps)
        for names in [["NFC", "Rot13"], ["Replace", "a"], ["Prepend"]] {
            #expect(throws: TokenizerError.self) { try NormalizationStep.steps(named: names) }
        }
    }

    @Test func `a file cannot make a short text a long one`() {
        let doubling = NormalizationStep.replace("a", with: "aa")
        for steps in [
            Array(repeating: doubling, count: 7), [.replace("a", with: String(repeating: "b", count: 65))],
            [.replace("", with: "b")], [.prepend(String(repeating: "b", count: 5000))],
            Array(repeating: .lowercase, count: 65),
        ] { #expect(throws: TokenizerError.self) { try tokenizer([], steps) } }
        #expect(throws: Never.self) { try tokenizer([], Array(repeating: doubling, count: 6)) }
    }

    @Test func `a row of a hundred thousand accents is normalized, and bytes that are not UTF-8 are left`() throws {
        let tokenizer = try tokenizer([], [.nfc])
        let row = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(tokenizer.encode(row, addSpecial: false, parseSpecial: false).count > 100_000)
        #expect(tokenizer.encode(bytes: [0x65, 0xFF], addSpecial: false, parseSpecial: false) == [0x65, 0xFF])
        #expect(tokenizer.pieces("cafe\u{301}").count == 5)
    }
}
