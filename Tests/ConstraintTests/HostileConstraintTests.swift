import Constraint
import Testing

/// What nobody writes in good faith ends in an error or in a constraint, soon and without filling the memory.
@Suite struct HostileConstraintTests {
    private func tries(_ source: Constraint.Source, _ text: String) {
        do {
            var matcher = try Constraint.compile(source, vocabulary: TestVocabulary.vocabulary).matcher()
            var mask = TokenMask(count: 0)
            for (index, byte) in text.utf8.enumerated() {
                if index < 3 || index % 100 == 0 { try matcher.mask(into: &mask) }
                guard try matcher.accept(bytes: [byte]) == 1 else { return }
            }
        } catch {
            #expect(!error.message.isEmpty)
        }
    }

    @Test func `deep nesting`() {
        for depth in [150, 5_000] {
            tries(
                .jsonSchema(
                    String(repeating: #"{"items":"#, count: depth) + "1" + String(repeating: "}", count: depth)), "[")
            tries(
                .jsonSchema(String(repeating: #"{"not":"#, count: depth) + "{}" + String(repeating: "}", count: depth)),
                "1")
            tries(.regex(String(repeating: "(", count: depth) + "a" + String(repeating: ")", count: depth)), "a")
            tries(
                .grammar(
                    "root ::= " + String(repeating: "(", count: depth) + "\"a\"" + String(repeating: ")", count: depth)),
                "a")
        }
        tries(.jsonSchema("{}"), String(repeating: "[", count: 3_000))
    }

    @Test func `references in long chains and circles`() {
        var definitions = (0..<2_000).map { ##""d\##($0)":{"$ref":"#/$defs/d\##($0 + 1)"}"## }
        definitions.append(#""d2000":{"type":"null"}"#)
        tries(.jsonSchema(##"{"$ref":"#/$defs/d0","$defs":{\##(definitions.joined(separator: ","))}}"##), "null")
        tries(
            .jsonSchema(
                ##"{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}"##
            ), "1")
        tries(.jsonSchema(##"{"required":["a"],"properties":{"a":{"$ref":"#"}}}"##), #"{"a":{"a":"#)
    }

    @Test func `expressions whose automata explode`() {
        tries(.regex("(a|b)*a(a|b){60}"), String(repeating: "ab", count: 20))
        tries(.regex("((a{1,30}){1,30}){1,30}"), String(repeating: "a", count: 30))
        tries(.regex(String(repeating: "(?=.*a)", count: 100) + ".*"), String(repeating: "b", count: 10))
        tries(
            .jsonSchema(#"{"allOf":[{"pattern":"(x.{40}y)+"},{"pattern":"(y.{41}x)+"},{"not":{"pattern":"z.{30}"}}]}"#),
            "\"xyxyxy")
    }

    /// Each has few states, but a state takes thousands of steps to make: together they came to minutes.
    @Test(arguments: [
        #"(?!.*\p{L}\d)\p{L}{1,200}x"#, #"(?=(.*\p{L}){20})[\p{L}a-z]{50,300}"#,
        #"(?!\p{L}{100})(?!.*\p{Lu}{30})(\p{L}{2,50}\d){20}"#, #"((?=\p{L}{50})\p{L}|\d){100}"#,
        #"(\p{L}|\p{Ll}|\p{Lu}a){300}(?!\p{L}{40})"#, #"(.*\p{L}.{200}){5}"#,
    ])
    func `look-ahead with classes of characters and counts`(_ pattern: String) throws {
        let text = String(repeating: "Aé日b", count: 20)
        tries(.regex(pattern), text)
        let escaped = pattern.replacing("\\", with: "\\\\")
        tries(.jsonSchema(#"{"type":"string","pattern":"\#(escaped)"}"#), "\"\(text)")
        tries(.jsonSchema(#"{"patternProperties":{"\#(escaped)":{}}}"#), "{\"\(text)")
    }

    @Test func `repetition of repetition`() {
        for pattern in [
            "((a{1000}){1000}){1000}", "(((a{0,99}){0,99}){0,99}){0,99}b", "(a|aa|aaa)*{0}", "(a*)*(a*)*(a*)*b",
        ] {
            tries(.regex(pattern), String(repeating: "a", count: 40))
            tries(.jsonSchema(#"{"pattern":"\#(pattern)"}"#), "\"" + String(repeating: "a", count: 40))
            tries(.jsonSchema(#"{"patternProperties":{"\#(pattern)":false}}"#), "{\"aaaa")
        }
        tries(.grammar("root ::= (((\"a\"{1000}){1000}){1000}){1000}"), "aaaa")
        tries(.grammar("root ::= (((\"a\"?){90}){90}){90}"), "aaaa")
        tries(.grammar("root ::= a\na ::= b | \"x\"\nb ::= a | a a"), "xx")
    }

    @Test func `patterns of names that overlap, and items that have to differ`() {
        let patterns = (0..<60).map { #""^.*[a-z].{0,\#($0 % 20)}\#($0)?$":{"minimum":\#($0)}"# }
        tries(.jsonSchema(#"{"patternProperties":{\#(patterns.joined(separator: ","))}}"#), #"{"abcdefghijkl":59,"xyz"#)
        let items = (0..<800).map(String.init).joined(separator: ",")
        tries(.jsonSchema(#"{"uniqueItems":true,"maxItems":900}"#), "[\(items),1")
        let values = (0..<3_000).map { #""value number \#($0)""# }.joined(separator: ",")
        tries(.jsonSchema(#"{"enum":[\#(values)]}"#), #""value number 29"#)
        tries(.jsonSchema(#"{"items":{"not":{"enum":[\#(values)]}},"uniqueItems":true}"#), #"["value number 29","é"#)
    }

    @Test func `many alternatives at once`() {
        let branches = (0..<50).map {
            #"{"properties":{"k":{"const":\#($0)},"v":{"minimum":\#($0)}},"required":["k"]}"#
        }
        tries(.jsonSchema(#"{"oneOf":[\#(branches.joined(separator: ","))]}"#), #"{"k":17,"v":20}"#)
        tries(.jsonSchema(#"{"not":{"oneOf":[\#(branches.joined(separator: ","))]}}"#), #"{"k":17,"v":2"#)
        let names = (0..<1_000).map { #""n\#($0)":{}"# }
        tries(.jsonSchema(#"{"properties":{\#(names.joined(separator: ","))}}"#), #"{"n1":1,"n2":2}"#)
        tries(
            .grammar("root ::= a a a a a a a a\na ::= \"x\"? \"x\"? \"x\"? \"x\"? \"x\"? | \"x\"{0,300}"),
            String(repeating: "x", count: 20))
    }

    /// Each state went through all names for each name: minutes.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (#""required":[NAMES]"#, "n0"), (#""not":{"required":[NAMES]}"#, "n9"),
            (#""anyOf":[{"required":[NAMES]},{"required":["n7000"]}]"#, "n7000"),
            (#""dependentRequired":{"n1":[NAMES]}"#, "n2"), (#""required":[NAMES],"maxProperties":10000"#, "n0"),
        ])
    func `thousands of names of which many are required`(rule: String, first: String) throws {
        let names = (0..<10_000).map { "\"n\($0)\"" }
        let properties = names.map { $0 + #":{"type":"integer"}"# }.joined(separator: ",")
        let list = names.joined(separator: ",")
        let constraint = try Constraint.schema(
            #"{"type":"object","properties":{\#(properties)},\#(rule.replacing("NAMES", with: list))}"#)
        var matcher = constraint.matcher()
        var mask = TokenMask(count: 0)
        for byte in "{\"\(first)\":1".utf8 {
            try matcher.mask(into: &mask)
            #expect(try matcher.accept(bytes: [byte]) == 1)
        }
    }

    @Test func `huge numbers`() {
        tries(.jsonSchema(#"{"multipleOf":1e-300}"#), "1e300")
        tries(.jsonSchema(#"{"multipleOf":3,"maximum":1e400}"#), String(repeating: "9", count: 500))
        tries(.jsonSchema(#"{"minimum":1e99999999999}"#), "1e999999999999999999999")
        tries(.jsonSchema(#"{"maxLength":99999999999999999999,"minItems":1e30}"#), "[")
    }

    /// The fuzzer's: the mask read memory before the table of states.
    @Test(arguments: [
        Constraint.Source.grammar(#"root ::= "a" root"#), .lark(#"start: "a" start"#),
        .grammar("root ::= x\nx ::= x2\nx2 ::= \"b\" x"), .regex("[]"), .jsonSchema("false"),
    ])
    func `what no text satisfies allows nothing`(source: Constraint.Source) throws {
        let constraint = try Constraint.compile(source, vocabulary: TestVocabulary.vocabulary)
        #expect(!constraint.isSatisfiable)
        var matcher = constraint.matcher()
        var mask = TokenMask(count: 0)
        try matcher.mask(into: &mask)
        #expect(!(Int32(0)..<Int32(mask.count)).contains { mask.contains($0) })
        #expect(try matcher.accept(bytes: Array("a".utf8)) == 0)
        #expect(try !matcher.isComplete())
    }

    @Test func `errors quote the beginning and the end of a long pattern`() throws {
        let error = #expect(throws: ConstraintError.self) {
            try Constraint.compile(
                .lark("start: /" + String(repeating: "b", count: 100_000) + "(/"), vocabulary: TestVocabulary.vocabulary
            )
        }
        #expect(error?.message.utf8.count ?? 0 < 500)
    }

    /// Each place below a key was found by reading the whole key again: 100 GB in all.
    @Test(.timeLimit(.minutes(1))) func `a long key with many places below it is read a few times`() throws {
        let key = String(repeating: "k", count: 2_000_000)
        let inner = (0..<30_000).map { "\"n\($0)\":{}" }.joined(separator: ",")
        let constraint = try Constraint.schema(#"{"properties":{"\#(key)":{"properties":{\#(inner)}}}}"#)
        #expect(constraint.isSatisfiable)
        let error = #expect(throws: ConstraintError.self) {
            try Constraint.schema(#"{"properties":{"\#(key)":{"pattern":"("}}}"#)
        }
        #expect(error?.path.utf8.count ?? 0 < 1_000)
    }

    /// Each took quadratic time: together 12 seconds.
    @Test(.timeLimit(.minutes(1))) func `chains of rules and long expressions are read in linear time`() throws {
        let count = 60_000
        let gbnf = (0..<count).map { "r\($0) ::= r\($0 + 1)\n" }.joined()
        let lark = (0..<count).map { "r\($0): r\($0 + 1)\n" }.joined()
        for _ in 0..<8 {
            tries(.grammar("root ::= r0\n\(gbnf)r\(count) ::= \"a\""), "a")
            tries(.grammar("root ::= r0\n\(gbnf)r\(count) ::= \"\""), "a")
            tries(.lark("start: r0\n\(lark)r\(count): \"a\""), "a")
            tries(.lark("start: /" + String(repeating: "b", count: 1_000_000) + "/"), "b")
        }
    }
}
