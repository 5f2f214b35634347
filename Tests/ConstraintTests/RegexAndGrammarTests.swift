import Constraint
import Testing

@Suite struct RegexAndGrammarTests {
    private func regex(_ pattern: String) throws -> Constraint {
        try Constraint.compile(.regex(pattern), vocabulary: TestVocabulary.vocabulary)
    }

    private func grammar(_ text: String) throws -> Constraint {
        try Constraint.compile(.grammar(text), vocabulary: TestVocabulary.vocabulary)
    }

    @Test(arguments: [
        ("a|bc", ["a", "bc"], ["", "b", "abc"]),
        ("[^a-y]", ["z", "é", "日", "\u{1F600}"], ["a", "zz"]),
        (".", ["x", "é"], ["\n", "\r"]),
        (#"\d{2,3}"#, ["12", "123"], ["1", "1234", "١٢"]),
        (#"[\w-]+@\S+"#, ["a-b@c"], ["@c", "a@ "]),
        ("^((?!no).)*$", ["", "yes", "n o"], ["no", "a no"]),
        ("(?=.*[0-9])[a-z0-9]{3}", ["ab1", "1ab"], ["abc", "12"]),
        (#"\p{Lu}\p{L}*"#, ["Éa", "Ab"], ["ab", "1"]),
        ("(a*)*b", ["b", "aab"], ["a", "ba"]),
        ("(?:x|y){0,2}?z", ["z", "xyz"], ["xyxz"]),
        (#"\u00e9\x41\u{1F600}"#, ["éA\u{1F600}"], ["eA"]),
        ("a{2", ["a{2"], ["aa"]),
        ("(ab|a)(bc|c)", ["abc", "abbc", "ac"], ["ab"]),
    ])
    func `a regular expression is the whole text`(_ pattern: String, _ valid: [String], _ invalid: [String]) throws {
        let constraint = try regex(pattern)
        for text in valid { #expect(try constraint.accepts(text), "\(text)") }
        for text in invalid { #expect(try !constraint.accepts(text), "\(text)") }
    }

    @Test(arguments: [
        "(", "a)", "[a", "*", "a{3,2}", #"(a)\1"#, "(?<=a)b", #"\bx"#, #"\p{Greek}"#, "[z-a]", "a{1000000}", "(?i)a",
        "a**",
    ])
    func `what is no regular expression, or no regular language, is refused`(_ pattern: String) {
        let error = #expect(throws: ConstraintError.self) { try regex(pattern) }
        #expect(error?.kind == .regex)
    }

    @Test func `a grammar follows nested rules`() throws {
        let constraint = try grammar(
            """
            # arithmetic
            root ::= expr
            expr ::= term (("+" | "-") term)*
            term ::= number |
                "(" expr ")"
            number ::= [0-9]{1,3} ("." [0-9]+)?
            """)
        for text in ["1", "12+3", "(1-(2+3.25))+7"] { #expect(try constraint.accepts(text), "\(text)") }
        for text in ["", "1+", "(1", "1234", "1.", "1)"] { #expect(try !constraint.accepts(text), "\(text)") }
    }

    @Test func `an ambiguous grammar and repeated empty parts are followed`() throws {
        let constraint = try grammar("root ::= (\"a\"? \"a\"*)* end\nend ::= \"b\" | [é-ü日]")
        for text in ["b", "aaab", "é", "aa日"] { #expect(try constraint.accepts(text), "\(text)") }
        #expect(try !constraint.accepts("aac"))
    }

    @Test(arguments: [
        "", "root ::= x", "root := \"a\"", "root ::= \"a", "root ::= [a", "root ::= (\"a\"",
        "root ::= \"a\"\nroot ::= \"b\"",
        "root ::= root \"a\" | \"b\"", "root ::= a\na ::= b \"x\"\nb ::= \"\" a", "root ::= \"a\"{3,1}",
        "root ::= \"\\q\"",
    ])
    func `a grammar that cannot be followed is refused`(_ text: String) {
        let error = #expect(throws: ConstraintError.self) { try grammar(text) }
        #expect(error?.kind == .grammar)
    }

    @Test func `alternatives that never end are left out`() throws {
        let constraint = try grammar("root ::= \"a\" loop | \"b\"\nloop ::= \"x\" loop")
        var matcher = constraint.matcher()
        #expect(try !matcher.allows(bytes: [UInt8(ascii: "a")]) && constraint.accepts("b"))
    }
}
