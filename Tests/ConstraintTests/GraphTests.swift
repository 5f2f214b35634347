import Constraint
import Testing

/// Shapes put together of constraints, literals and free text.
@Suite struct GraphTests {
    private static let vocabulary = TokenVocabulary(
        bytes: (UInt8.min...UInt8.max).map { [$0] } + GraphTests.words.map { Array($0.utf8) } + [[], [], []],
        endOfGeneration: [end], spoken: [call: Array("<call>".utf8)])
    private static let words = ["}</", "}}", "ab", "<call", "l>x", "{\"a\"", "\":", "1}<", "true", "},", "e>{", "00"]
    private static let call = Int32(256 + words.count)
    private static let control = call + 1
    private static let end = call + 2

    private func constraint(_ source: Constraint.Source) throws -> Constraint {
        try Constraint.compile(source, vocabulary: Self.vocabulary)
    }

    private func graph(_ shape: ConstraintGraph.Shape) throws -> ConstraintGraph {
        try ConstraintGraph(shape, vocabulary: Self.vocabulary)
    }

    private func accepts(_ graph: ConstraintGraph, _ text: String) throws -> Bool {
        var matcher = graph.matcher()
        return try matcher.accept(bytes: Array(text.utf8)) == text.utf8.count && matcher.isComplete()
    }

    private var object: Constraint {
        get throws {
            try constraint(
                .jsonSchema(
                    #"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#
                ))
        }
    }

    @Test func `what is tried does not change the text, nor what is forced after it`() throws {
        let shape = ConstraintGraph.Shape.sequence([
            .until("<a>"), .optional(.literal("bc")), .anyOf([.literal("def"), .literal("deg")]),
        ])
        var matcher = try ConstraintGraph(shape, vocabulary: Self.vocabulary).matcher()
        #expect(try matcher.accept(bytes: Array("free <a>bc".utf8)) == 10)
        #expect(try matcher.allows(bytes: Array("de".utf8)) && !matcher.allows(bytes: Array("df".utf8)))
        #expect(try matcher.allows(Int32(UInt8(ascii: "d"))) && !matcher.allows(Int32(UInt8(ascii: "b"))))
        #expect(try matcher.forcedBytes().elementsEqual("de".utf8))
        #expect(matcher.text == Array("free <a>bc".utf8))
        #expect(try matcher.accept(bytes: Array("deg".utf8)) == 3 && matcher.isComplete())
    }

    @Test func `a thousand names that begin alike are read in one way`() throws {
        let names = (0..<1000).map { "mcp__server__tool_\($0)" } + ["mcp", "日本", "日月"]
        let number = try constraint(.jsonSchema(#"{"type":"integer"}"#))
        let shape = ConstraintGraph.Shape.sequence([
            .literal("<"), .anyOf(names.map { .sequence([.literal($0), .literal(":"), .constraint(number)]) }),
            .literal(">"),
        ])
        let graph = try ConstraintGraph(shape, vocabulary: Self.vocabulary)
        for name in names {
            var matcher = graph.matcher()
            let text = "<\(name):7>"
            #expect(try matcher.accept(bytes: Array(text.utf8)) == text.utf8.count && matcher.isComplete(), "\(name)")
        }
        var matcher = graph.matcher()
        #expect(try matcher.forcedBytes().elementsEqual("<".utf8))
        #expect(try matcher.accept(bytes: Array("<mcp_".utf8)) == 5)
        #expect(try matcher.forcedBytes().elementsEqual("_server__tool_".utf8))
        var mask = TokenMask(count: 0)
        try matcher.mask(into: &mask)
        let allowed = (Int32(0)..<Int32(Self.vocabulary.count)).filter { mask.contains($0) }
        #expect(allowed == [Int32(UInt8(ascii: "_"))])
        #expect(try graph.matcher().allows(bytes: Array("<mcp__server__tool_1000".utf8)) == false)
    }

    @Test func `names in which each begins the next are read`() throws {
        let names = (1...60).map { String(repeating: "a", count: $0) }
        let graph = try ConstraintGraph(
            .anyOf(names.map { .literal($0) } + [.nothing]), vocabulary: Self.vocabulary)
        for count in [0, 1, 17, 60] {
            var matcher = graph.matcher()
            #expect(try matcher.accept(bytes: Array(repeating: UInt8(ascii: "a"), count: count)) == count)
            #expect(try matcher.isComplete())
        }
        #expect(try !graph.matcher().allows(bytes: Array(repeating: UInt8(ascii: "a"), count: 61)))
    }

    /// A call with tags, once or more, after free text.
    private var calls: ConstraintGraph.Shape {
        get throws {
            let one: ConstraintGraph.Shape = .sequence([.object(try object), .literal("</call>")])
            let more: ConstraintGraph.Shape = .optional(.repeated(.sequence([.literal("<call>"), one])))
            return .search([(.init("<call>"), .sequence([one, more]))], mayEnd: true)
        }
    }

    @Test func `parts follow each other, alternatives and repetitions among them`() throws {
        let number = try constraint(.regex("[0-9]+"))
        let shape: ConstraintGraph.Shape = .sequence([
            .optional(.literal("x")), .repeated(.sequence([.constraint(number), .literal(",")])),
            .anyOf([.literal("ab"), .literal("abc"), .nothing]),
        ])
        let graph = try graph(shape)
        for text in ["1,", "x12,3,ab", "1,abc", "00,"] { #expect(try accepts(graph, text), "\(text)") }
        for text in ["", "x", "1", "1,abcd", "1,a", ",", "xx1,"] { #expect(try !accepts(graph, text), "\(text)") }
    }

    @Test func `free text ends anywhere, and what follows a marker has its shape`() throws {
        let graph = try graph(try calls)
        for text in [
            "", "hello", "<cal", "a <c<call>{\"a\":1}</call>", "<call>{\"a\":1}</call><call>{\"a\":22}</call>",
        ] { #expect(try accepts(graph, text), "\(text)") }
        for text in ["<call>", "<call> ", "<call>{\"a\":1}", "<call>{\"a\":1}</call>x", "<call>{}</call>"] {
            #expect(try !accepts(graph, text), "\(text)")
        }
    }

    @Test func `a marker for the beginning counts only there`() throws {
        let graph = try graph(
            .search([(.init("{\"name\"", isFirst: true), .literal(":1}"))], mayEnd: true))
        for text in ["{\"name\":1}", " \n{\"name\":1}", "x {\"name\":2}", "{\"other\"", "{{\"name\" x"] {
            #expect(try accepts(graph, text), "\(text)")
        }
        for text in ["{\"name\":2}", "\n{\"name\" "] { #expect(try !accepts(graph, text), "\(text)") }
    }

    /// Every token, tried, must be what the mask says.
    private func check(_ graph: ConstraintGraph, _ text: String) throws {
        var matcher = graph.matcher()
        var mask = TokenMask(count: 0)
        let bytes = Array(text.utf8)
        for index in 0...bytes.count {
            try matcher.mask(into: &mask)
            for token in 0..<Int32(Self.vocabulary.count) {
                #expect(try matcher.allows(token) == mask.contains(token), "\(token) after \(text.prefix(index))")
            }
            guard index < bytes.count else { break }
            #expect(mask.contains(Int32(bytes[index])), "\(text.prefix(index))")
            try matcher.accept(Int32(bytes[index]))
        }
        #expect(mask.contains(Self.end))
    }

    @Test func `masks are what trying each token gives`() throws {
        try check(try graph(try calls), "ab <call>{\"a\":-1}</call><call>{\"a\":100}</call>")
        let number = try constraint(.regex("(0|1)+"))
        try check(
            try graph(.sequence([.repeated(.constraint(number)), .literal("}"), .until("ab"), .literal("ab")])),
            "0101}<callabab")
        try check(
            try graph(
                .anyOf([
                    .sequence([.literal("true"), .optional(.literal("}</"))]),
                    .constraint(try constraint(.regex("t+}?"))),
                ])), "true}</")
    }

    @Test func `control tokens stand for their text in literals and free text only`() throws {
        let graph = try graph(
            .sequence([.literal("<call>"), .constraint(try constraint(.regex("<call>|x"))), .until("<call>")]))
        var matcher = graph.matcher()
        #expect(try matcher.allows(Self.call))
        #expect(try !matcher.allows(Self.control))
        try matcher.accept(Self.call)
        #expect(try !matcher.allows(Self.call))
        try matcher.accept(Int32(UInt8(ascii: "x")))
        #expect(try matcher.allows(Self.control) && matcher.allows(Self.call))
        try matcher.accept(Self.control)
        try matcher.accept(Self.call)
        #expect(try matcher.isComplete())
        #expect(String(decoding: matcher.text, as: UTF8.self) == "<call>x<call>")
    }

    @Test func `bytes without a choice are told up to the next one`() throws {
        let graph = try graph(
            .sequence([.literal("<call>"), .object(try object), .literal("</call>"), .optional(.literal("x"))]))
        var matcher = graph.matcher()
        #expect(String(decoding: try matcher.forcedBytes(), as: UTF8.self) == "<call>")
        #expect(try matcher.accept(bytes: Array("<call>{".utf8)) == 7)
        #expect(String(decoding: try matcher.forcedBytes(), as: UTF8.self) == "\"a\":")
        #expect(try matcher.accept(bytes: Array("\"a\":1}".utf8)) == 6)
        #expect(String(decoding: try matcher.forcedBytes(), as: UTF8.self) == "</call>")
    }

    @Test func `text that a token may go on beyond is told from the place where the token begins`() throws {
        let schema = #"{"type":"object","required":["unit"],"properties":{"unit":{"type":"integer"}}}"#
        let forced = Array(#""unit":"#.utf8)
        for (whitespace, crossing) in [(Constraint.JSONStyle.Whitespace.separators, 5), (.compact, 7)] {
            let constraint = try Constraint.schema(schema, whitespace)
            var matcher = ConstraintGraph(constraint).matcher()
            #expect(try matcher.accept(bytes: [UInt8(ascii: "{")]) == 1)
            // The token `": ` is in the vocabulary.
            #expect(try matcher.firstCrossing(of: forced) == crossing)
        }
        #expect(TestVocabulary.vocabulary.firstCrossing(of: forced) == 5)
        #expect(TestVocabulary.vocabulary.firstCrossing(of: Array("xyz".utf8)) == 3)
    }

    @Test func `an ambiguous shape has a limit`() throws {
        let any = try constraint(.regex("a*"))
        let graph = try graph(.sequence(Array(repeating: .repeated(.constraint(any)), count: 100)))
        var matcher = graph.matcher()
        #expect(throws: ConstraintError.self) {
            for _ in 0..<100 { try matcher.accept(Int32(UInt8(ascii: "a"))) }
        }
        #expect(throws: ConstraintError.self) {
            try ConstraintGraph(
                .sequence(Array(repeating: .optional(.literal("a")), count: 3000)), vocabulary: Self.vocabulary)
        }
    }
}
