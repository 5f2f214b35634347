import Synchronization
import TestSupport
import Testing

@testable import Constraint

@Suite struct MatcherTests {
    static let sources: [Constraint.Source] = [
        .jsonSchema("{}"), .jsonSchema("{}", .init(whitespace: .free, anySpelling: true)), .jsonObject(),
        .jsonSchema("{}", .init(whitespace: .compact)),
        .jsonSchema(
            #"{"properties":{"foo":{"type":"string","maxLength":4},"fo":{"minimum":3},"name":{"pattern":"^[ab]+$"},"é":{"type":"array","uniqueItems":true,"items":{"type":["string","integer"]}}}}"#
        ),
        .jsonSchema(
            #"{"properties":{"foo":{"type":"string","minLength":2},"fo":{"minimum":3},"a\"b":{"enum":["ab","abc",12]}},"patternProperties":{"^x":{"type":"null"}}}"#,
            .init(whitespace: .free, anySpelling: true)),
        .jsonSchema(#"{"type":"array","uniqueItems":true}"#, .init(whitespace: .free, anySpelling: true)),
        .jsonSchema(
            #"{"oneOf":[{"properties":{"name":{"const":"abc"}},"required":["name"]},{"properties":{"name":{"const":"ab"},"foo":{"type":"number","exclusiveMaximum":12.5}},"required":["name","foo"]}]}"#
        ),
        // Names by patterns, beside those that are known; the same with every spelling.
        .jsonSchema(namesByPattern), .jsonSchema(namesByPattern, .init(whitespace: .free, anySpelling: true)),
        .jsonSchema(
            #"{"patternProperties":{"a":{"type":"integer"}},"properties":{"foo":{"type":"null"},"ab":false}}"#,
            .init(whitespace: .free, anySpelling: true)),
        .jsonSchema(#"{"propertyNames":{"maxLength":3,"pattern":"^[^x]+$"},"properties":{"foo":{},"name":{}}}"#),
        .jsonSchema(
            #"{"required":["abc"],"patternProperties":{"^ab":{"type":"boolean"}},"additionalProperties":false}"#),
        // Strings in which a pattern is searched, all of which patterns match, and of which the length counts.
        .jsonSchema(#"{"type":"string","pattern":"[ab]{3}"}"#),
        .jsonSchema(
            #"{"type":"string","allOf":[{"pattern":"ab"},{"pattern":"é|1"}],"maxLength":20}"#,
            .init(whitespace: .free, anySpelling: true)),
        .jsonSchema(#"{"type":"array","items":{"type":"string","pattern":"^[a-z0-9_-]{2,7}$"}}"#),
        .jsonSchema(#"{"type":"string","pattern":"^[^\"b]*$","minLength":2}"#),
        .jsonSchema(#"{"type":"string","pattern":"^(a|[^ -~])*$"}"#),
        .jsonSchema(#"{"items":{"minLength":3,"maxLength":40,"type":"string"},"uniqueItems":true}"#),
        .jsonSchema(
            #"{"properties":{"a":{"type":"array","uniqueItems":true},"b":{"type":"string"}},"required":["a","b"]}"#),
        .regex("(ab|é|日)+[0-9]{2,3}"), .choice(["ab", "abc", "true"]),
        .grammar(
            """
            root ::= "[" (item ("," item)*)? "]"
            item ::= [0-9]+ | "\\"" [^"]* "\\"" | root
            """),
    ]

    static let namesByPattern =
        #"{"properties":{"foo":{"type":"string","minLength":2},"ab":{"minimum":3},"name":false,"é":{"type":"null"}},"patternProperties":{"^x":{"type":"null"},"b$":{"type":["integer","string"]}},"additionalProperties":false}"#

    /// Goes on by allowed tokens at random, and compares the mask with each token tried alone.
    @Test(arguments: sources.indices, [TestVocabulary.vocabulary, TestVocabulary.odd])
    func `the mask is what each token tried alone would be`(_ index: Int, _ vocabulary: TokenVocabulary) throws {
        let constraint = try Constraint.compile(Self.sources[index], vocabulary: vocabulary)
        var random = SeededGenerator(seed: UInt64(index))
        var mask = TokenMask(count: vocabulary.count)
        for _ in 0..<8 {
            var matcher = constraint.matcher()
            for _ in 0..<20 where !matcher.isEnded {
                try matcher.mask(into: &mask)
                var allowed: [Int32] = []
                for token in Int32(0)..<Int32(vocabulary.count) {
                    let isAllowed = try matcher.allows(token)
                    #expect(
                        mask.contains(token) == isAllowed,
                        "token \(token) after \(String(decoding: matcher.text, as: UTF8.self))")
                    if isAllowed { allowed.append(token) }
                }
                guard let token = allowed.randomElement(using: &random) else { break }
                try matcher.accept(token)
            }
        }
    }

    @Test func `a copy is a fork and an old copy a checkpoint`() throws {
        var matcher = try Constraint.schema(#"{"enum":["ab","ac"]}"#).matcher()
        #expect(try matcher.accept(bytes: Array("\"a".utf8)) == 2)
        var fork = matcher
        #expect(try fork.accept(bytes: Array("b\"".utf8)) == 2)
        #expect(try fork.isComplete() && !matcher.isComplete())
        #expect(try matcher.accept(bytes: Array("c\"".utf8)) == 2)
    }

    @Test func `a refused token changes nothing, and the end only comes where the text is complete`() throws {
        var matcher = try Constraint.compile(.choice(["ab"]), vocabulary: TestVocabulary.vocabulary).matcher()
        #expect(throws: ConstraintError.self) { try matcher.accept(Int32(UInt8(ascii: "b"))) }
        #expect(throws: ConstraintError.self) { try matcher.accept(TestVocabulary.end) }
        try matcher.accept(Int32(UInt8(ascii: "a")))
        try matcher.accept(Int32(UInt8(ascii: "b")))
        var mask = TokenMask(count: 0)
        try matcher.mask(into: &mask)
        #expect(mask.allowedCount == 1 && mask.contains(TestVocabulary.end))
        try matcher.accept(TestVocabulary.end)
        try matcher.mask(into: &mask)
        #expect(matcher.isEnded && mask.isEmpty)
    }

    @Test func `bytes without a choice are known beforehand`() throws {
        let schema =
            #"{"type":"object","properties":{"temperature":{"type":"integer"},"unit":{"enum":["celsius"]}},"required":["temperature","unit"],"additionalProperties":false}"#
        var matcher = try Constraint.schema(schema).matcher()
        #expect(try matcher.forcedBytes() == Array(#"{"temperature":"#.utf8))
        #expect(try matcher.accept(bytes: Array(#"{"temperature":2"#.utf8)) == 16)
        #expect(try matcher.forcedBytes() == [])
        #expect(try matcher.accept(bytes: [UInt8(ascii: ",")]) == 1)
        #expect(try matcher.forcedBytes() == Array(#""unit":"celsius"}"#.utf8))
    }

    @Test func `texts share a constraint from many threads`() async throws {
        let constraint = try Constraint.schema(#"{"type":"array","items":{"pattern":"^[a-f]+$"}}"#)
        let counts = await withTaskGroup(of: Int.self) { group in
            for index in 0..<8 {
                group.addTask {
                    var matcher = constraint.matcher()
                    let text = "[\"" + String(repeating: "abcdef", count: index + 1) + "\"]"
                    return (try? matcher.accept(bytes: Array(text.utf8))) ?? -1
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.sorted() == (1...8).map { 6 * $0 + 4 })
    }

    @Test(arguments: [
        Constraint.Source.regex("(a|b){2000}"),
        .jsonSchema(#"{"type":"string","maxLength":3000,"pattern":"^(a|b)*$"}"#),
        .grammar(#"root ::= ("a" | "b")*"#),
    ])
    func `what a constraint has worked out is counted`(_ source: Constraint.Source) throws {
        let constraint = try Constraint.compile(source, vocabulary: TestVocabulary.vocabulary)
        let before = constraint.bytes
        var matcher = constraint.matcher()
        var mask = TokenMask(count: 0)
        // The quote that only JSON begins with is refused by the others.
        for byte in ("\"" + String(repeating: "ab", count: 500)).utf8 {
            if try matcher.accept(bytes: [byte]) == 1 { try matcher.mask(into: &mask) }
        }
        #expect(constraint.bytes > before)
    }

    /// Each new schema left 25 KB behind.
    @Test func `what names were read with is freed with its machine`() throws {
        weak var closure: Closure?
        do {
            let plan = try SchemaCompiler.compile(
                Array(#"{"properties":{"a":{}},"patternProperties":{"^b":{}}}"#.utf8)[...])
            let machine = JSONMachine(plan, JSONOptions())
            var state = machine.start
            for (offset, byte) in #"{"a"#.utf8.enumerated() { #expect(machine.step(&state, byte, at: offset)) }
            closure = machine.closures.first { $0.keys != nil }
            #expect(closure != nil)
        }
        #expect(closure == nil)
    }

    @Test func `constraints begin anew if all of a vocabulary take too much memory`() throws {
        // A mask has a bit for each token, and most tokens are never allowed.
        let tokens = (UInt8.min...UInt8.max).map { [$0] } + (0..<160_000).map { Array("x\($0)".utf8) }
        let vocabulary = TokenVocabulary(bytes: tokens, endOfGeneration: [])
        let constraint = try Constraint.compile(.regex("a{4000}"), vocabulary: vocabulary)
        func read() throws -> Int {
            var matcher = constraint.matcher()
            var mask = TokenMask(count: 0)
            for _ in 0..<4000 {
                try matcher.mask(into: &mask)
                #expect(try matcher.accept(bytes: [UInt8(ascii: "a")]) == 1)
            }
            return constraint.bytes
        }
        let alone = try read()
        #expect(alone > Constraint.fairBytes)
        vocabulary.memory.bytes.add(Constraint.maximumBytes, ordering: .relaxed)
        var matcher = constraint.matcher()
        #expect(try matcher.accept(bytes: Array("aa".utf8)) == 2)
        #expect(constraint.bytes < Constraint.fairBytes)
        #expect(try read() <= alone)
    }
}
