import Constraint
import TestSupport

/// Tokens of one byte each, some of several that span parts of JSON, and one that ends the text.
enum TestVocabulary {
    static let words = [
        "\":", "\": ", "\", ", "{\"", "[1", ",\"", "\"]", "\"}", "}}", "ab", "abc", "foo", "foo\":", "bar\"", " \"",
        "  ",
        "1, ", "\\n\"", "é", "oo\"", "12", "123", "true", "null", "name", "name\":\"", "日本", "\u{1F600}", "\\u00",
        "a\":1}",
        ",\n", "}\n", "\n  \"", "e5", "-1", ".5", "\\\"",
    ]

    static let vocabulary: TokenVocabulary = {
        var bytes = (UInt8.min...UInt8.max).map { [$0] }
        bytes += words.map { Array($0.utf8) }
        bytes += [Array("日".utf8.prefix(2)), [], []]
        return TokenVocabulary(bytes: bytes, endOfGeneration: [end])
    }()

    /// Single bytes, and pieces of JSON and of characters put together at random, many of them twice.
    static let odd: TokenVocabulary = {
        var random = SeededGenerator(seed: 42)
        let pieces: [[UInt8]] =
            [
                "\"", "\\", "\\n", "\\u", "00", "6", "1", "a", "b", "ab", "x", "foo", "n", "é", "日", " ", ":", ",", "{",
                "}", "]",
            ]
            .map { Array($0.utf8) } + [[0xc3], [0xa9], [0xe6, 0x97], [0xa5]]
        var bytes = (UInt8.min...UInt8.max).reversed().map { [$0] }
        for _ in 0..<700 {
            let count = Int.random(in: 2...5, using: &random)
            bytes.append((0..<count).flatMap { _ in pieces.randomElement(using: &random) ?? [] })
        }
        return TokenVocabulary(bytes: bytes + [[]], endOfGeneration: [Int32(bytes.count)])
    }()

    static var end: Int32 { Int32(256 + words.count + 2) }
}

extension Constraint {
    static func schema(_ text: String, free: Bool = false, _ whitespace: JSONStyle.Whitespace? = nil) throws
        -> Constraint
    {
        let style = JSONStyle(whitespace: whitespace ?? (free ? .free : .compact), anySpelling: free)
        return try compile(.jsonSchema(text, style), vocabulary: TestVocabulary.vocabulary)
    }

    func accepts(_ text: String) throws -> Bool {
        var matcher = matcher()
        return try matcher.accept(bytes: Array(text.utf8)) == text.utf8.count && matcher.isComplete()
    }
}
