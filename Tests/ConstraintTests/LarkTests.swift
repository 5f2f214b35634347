import Constraint
import Testing

@Suite struct LarkTests {
    private func lark(_ text: String) throws -> Constraint {
        try Constraint.compile(.lark(text), vocabulary: TestVocabulary.vocabulary)
    }

    private func check(_ text: String, _ valid: [String], _ invalid: [String]) throws {
        let constraint = try lark(text)
        for text in valid { #expect(try constraint.accepts(text), "\(text)") }
        for text in invalid { #expect(try !constraint.accepts(text), "\(text)") }
    }

    @Test func `rules and terminals, imported ones too, make up the text`() throws {
        try check(
            """
            // sums and products
            start: expr
            expr: term (SP ADD SP term)* -> add
                | term
            term: factor (SP MUL SP factor)*
            factor: INT
            SP: " "
            ADD: "+"   # a comment
            MUL: "*"
            %import common.INT
            """, ["4", "4 + 4", "12 * 3 + 4 * 5"], ["", "4+4", "4 + ", "a", "4 + 4 "])
    }

    @Test
    func
        `ignored text may stand before and after each terminal, and rules may begin with themselves`()
        throws
    {
        try check(
            """
            ?start: sum
            ?sum: product | sum "+" product | sum "-" product -> sub
            ?product: atom
                | product "*" atom
            ?atom: NUMBER | "-" atom | "(" sum ")"
            %import common (NUMBER, WS_INLINE)
            %ignore WS_INLINE
            """, ["1", " 1 + 2.5", "1-2-3*(4+-5e3)  ", "((1))"], ["", "1 +", "1 2", "(1", "1..2"])
    }

    @Test func `strings, ranges, expressions, groups and repetitions`() throws {
        try check(
            #"""
            start: "select"i [" " "all"] WORD~2 ("," WORD)~1..2 tail?
            WORD.2: "a".."e" /[0-9]/ | "\u00e9" | HEX
            HEX: "#" (DIGIT | "A".."F")~2
            %import common.DIGIT -> DIGIT
            !tail: ";"+
            """#,
            ["selectb1c2,d3", "SeLeCt allé#1F,a1,é;;"],
            ["select", "selectb1c2", "selectb1c2,a1,a1,a1", "selectb1c2,a9,"])
        try check("start: /[^\\/]+/ \"/\" /a|b*/", ["x/", "é/a", "x/bbb"], ["/", "x/ab"])
        // Neither is a terminal the longest possible, nor does an earlier one win.
        try check(
            "start: KEY | NAME KEY\nKEY: \"if\"\nNAME: /[a-z]+/", ["if", "xif", "ifif"], ["i", "x"])
    }

    @Test func `library terminals`() throws {
        for (name, valid, invalid) in [
            ("SIGNED_NUMBER", ["-1", "+2.5e-3", ".5", "7."], ["-", "1e", "."]),
            ("ESCAPED_STRING", [#""a\"b""#, #""""#], [#""a"#, #""\""#]),
            ("CNAME", ["_a1", "Zed"], ["1a", ""]), ("NEWLINE", ["\n", "\r\n\n"], ["\r"]),
            ("C_COMMENT", ["/* a * b **/", "/**/"], ["/*/", "/* */ */"]),
            ("FLOAT", ["1e5", "1.5"], ["1"]),
        ] { try check("start: \(name)\n%import common.\(name)", valid, invalid) }
    }

    @Test(arguments: [
        ("start: x", "not defined"), ("start: X", "not defined"),
        ("x: \"a\"", "start: the rule is not defined"),
        ("start: \"a\"\nstart: \"b\"", "defined twice"), ("start: A\nA: B\nB: A", "refers to itself"),
        ("start: A\nA: x\nx: \"a\"", "cannot contain the rule 'x'"), ("start: /a/i", "flags"),
        ("start: /^a/", "anchors"), ("start: /(?=a)b/", "look-ahead"),
        ("start: /(/", "regular expression|/(/"),
        ("start: <|end|>", "special tokens"), ("start: @other", "references"),
        ("start: %json {}", "directives"),
        ("%declare A", "%declare"), ("%import python.NAME", "common"), ("%import common.NOPE", "NOPE"),
        ("start: x{a}\nx: \"a\"", "templates"), ("start[lazy]: \"a\"", "attributes"),
        ("start \"a\"", "':'"),
        ("start: \"b\"..\"a\"", "range"), ("start: \"a\"~3..2", "order"),
        ("start: \"a\"~9999", "more than"),
        ("start: \"a", "does not end"), ("start: (\"a\"", "')'"), ("start: [\"a\"", "']'"),
        ("start: x \"a\"\nx: start | \"b\"", "left-recursive"), ("start: \"\\q\"", "escape"),
    ])
    func `what cannot be read is refused by name and line`(_ text: String, _ reason: String) {
        let error = #expect(throws: ConstraintError.self) { try lark(text) }
        #expect(error?.kind == .grammar)
        #expect(
            reason.split(separator: "|").contains { error?.description.contains($0) == true }, "\(error!)"
        )
    }

    @Test func `the text may be a JSON string, or the only member of an object`() throws {
        let grammar = "start: /[^a]/ \"\\n\"? \"\\\"\" /[\\x00-\\x1f]/?"
        for (notation, before, after) in [
            (Constraint.TextNotation.jsonString, "\"", "\""), (.jsonMember("in\"put"), #"{"in\"put":""#, "\"}"),
        ] {
            let constraint = try Constraint.compile(
                .lark(grammar, in: notation), vocabulary: TestVocabulary.vocabulary)
            for text in [#"b\""#, #"\\\n\""#, #"\"\"\u0001"#, #"é\"\t"#] {
                #expect(try constraint.accepts(before + text + after), "\(text)")
            }
            for text in [#"b""#, "b\n\\\"", #"a\""#, #"\\""#, #"b\"\u0041"#] {
                #expect(try !constraint.accepts(before + text + after), "\(text)")
            }
        }
    }

    @Test func `masks agree with single bytes`() throws {
        let constraint = try lark(
            "start: (KEY \"=\" VALUE \";\")+\nKEY: /[a-c]{1,3}/\nVALUE: /[0-9é]+/ | \"ab\"\n%ignore \" \""
        )
        var matcher = constraint.matcher()
        var mask = TokenMask(count: 0)
        for byte in "ab = 1é2; c=ab ;".utf8 {
            try matcher.mask(into: &mask)
            for token in 0..<Int32(TestVocabulary.vocabulary.count) {
                #expect(try mask.contains(token) == matcher.allows(token))
            }
            #expect(try matcher.accept(bytes: [byte]) == 1)
        }
        #expect(try matcher.isComplete())
    }

    @Test func `hostile grammars end`() {
        let vocabulary = TestVocabulary.vocabulary
        let chain = (0..<50_000).map { "A\($0): A\($0 + 1)" }.joined(separator: "\n")
        let doubled =
            (0..<60).map { "A\($0): A\($0 + 1) A\($0 + 1)" }.joined(separator: "\n") + "\nA60: \"a\""
        let repeated = "start: " + String(repeating: "\"a\"~2000 ", count: 20_000)
        for text in [
            chain, "start: A0\n" + doubled, repeated, "start: " + String(repeating: "(", count: 100_000),
            "start: " + String(repeating: "[\"a\"", count: 50) + String(repeating: "]", count: 50),
            "start: \"a\" start \"b\" | " + String(repeating: "start? ", count: 30),
        ] {
            do {
                var matcher = try Constraint.compile(.lark(text), vocabulary: vocabulary).matcher()
                var mask = TokenMask(count: 0)
                for _ in 0..<20 {
                    try matcher.mask(into: &mask)
                    guard try matcher.accept(bytes: [0x61]) == 1 else { break }
                }
            } catch {
                #expect(!"\(error)".isEmpty)
            }
        }
        #expect(throws: ConstraintError.self) {
            try Constraint.compile(
                .grammar("root ::= " + String(repeating: "\"a\"{2000} ", count: 20_000)),
                vocabulary: vocabulary)
        }
    }
}
