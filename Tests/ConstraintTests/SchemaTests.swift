import Constraint
import Testing

/// What each keyword accepts and refuses; the official suites say it at length.
@Suite struct SchemaTests {
    struct Case: CustomTestStringConvertible {
        let schema: String
        let valid: [String]
        let invalid: [String]
        var testDescription: String { schema }

        init(_ schema: String, _ valid: [String], _ invalid: [String]) {
            (self.schema, self.valid, self.invalid) = (schema, valid, invalid)
        }
    }

    static let cases: [Case] = [
        Case("{}", ["1", "null", "[]", #"{"a":[1,{"b":"c"}]}"#, #""x""#], ["", "[1,]", "{1:2}", "01", "nul", #""a"#]),
        Case(#"{"type":"integer"}"#, ["0", "-12", "1.0", "1e3"], ["1.5", "1e-1", "-", "true"]),
        Case(#"{"type":["string","null"]}"#, [#""""#, "null"], ["0", "[]"]),
        Case(
            #"{"enum":["a",1,null,{"b":[2]}]}"#, [#""a""#, "1", "1.0", "null", #"{"b":[2]}"#],
            [#""b""#, "2", #"{"b":[3]}"#, #"{"b":[2],"c":1}"#]),
        Case(#"{"const":"é"}"#, [#""é""#, #""\u00e9""#], [#""e""#]),
        Case(
            #"{"minLength":2,"maxLength":3}"#, [#""ab""#, #""日本語""#, #""\n\n""#, "1"],
            [#""a""#, #""abcd""#, #""\u00e9""#]),
        Case(#"{"pattern":"^a+$"}"#, [#""aa""#, #""\u0061""#], [#""""#, #""ab""#]),
        Case(#"{"pattern":"b"}"#, [#""abc""#], [#""ac""#]),
        Case(#"{"minimum":1.5,"exclusiveMaximum":10}"#, ["1.5", "9.99", "2", #""x""#], ["1.49", "10", "-2"]),
        Case(#"{"multipleOf":0.01}"#, ["0.07", "19.99", "1e5"], ["0.075", "1e-3"]),
        Case(#"{"type":"integer","multipleOf":0.123456789}"#, ["0", "123456789"], ["1e308"]),
        Case(
            #"{"properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#,
            [#"{"a":1}"#, "1"], ["{}", #"{"a":"x"}"#, #"{"a":1,"b":2}"#]),
        Case(
            #"{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"string"}}"#,
            [#"{"xa":1,"b":"c"}"#], [#"{"xa":"1"}"#, #"{"b":1}"#]),
        Case(#"{"propertyNames":{"maxLength":2}}"#, [#"{"ab":1}"#, #"{"é日":1}"#], [#"{"abc":1}"#]),
        Case(#"{"not":{"enum":["é","ab"]}}"#, [#""è""#, #""日""#, #""a""#], [#""é""#, #""ab""#]),
        Case(#"{"minProperties":1,"maxProperties":2}"#, [#"{"a":1}"#], ["{}", #"{"a":1,"b":1,"c":1}"#]),
        Case(#"{"dependentRequired":{"a":["b"]}}"#, [#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, "{}"], [#"{"a":1}"#]),
        Case(
            #"{"dependentSchemas":{"a":{"properties":{"b":{"type":"integer"}}}}}"#, [#"{"b":"x"}"#, #"{"a":1,"b":2}"#],
            [#"{"a":1,"b":"x"}"#, #"{"b":"x","a":1}"#]),
        Case(
            #"{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}"#, ["[]", #"[1,"a"]"#],
            [#"["a"]"#, "[1,2]"]),
        Case(
            #"{"contains":{"const":1},"minContains":2,"maxContains":3}"#, ["[1,1]", "[1,2,1,1]"], ["[1]", "[1,1,1,1]"]),
        Case(
            #"{"uniqueItems":true}"#, [#"[1,"1",[1],{"a":1,"b":2}]"#],
            ["[1,1.0]", #"["a","\u0061"]"#, #"[{"a":1,"b":2},{"b":2,"a":1}]"#]),
        Case(#"{"minItems":1,"maxItems":2}"#, ["[1]"], ["[]", "[1,2,3]"]),
        Case(#"{"not":{"type":"string"}}"#, ["1"], [#""a""#]),
        Case(
            #"{"not":{"properties":{"a":{"const":1}},"required":["a"]}}"#, ["{}", #"{"a":2}"#],
            [#"{"a":1}"#, #"{"b":2,"a":1}"#]),
        Case(#"{"oneOf":[{"minimum":2},{"type":"integer"}]}"#, ["1", "2.5"], ["3", "1.5"]),
        Case(#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#, [#"{"a":1}"#, #"{"b":1}"#], ["{}", #"{"c":1}"#]),
        Case(
            #"{"if":{"properties":{"k":{"const":1}}},"then":{"required":["a"]},"else":{"required":["b"]}}"#,
            [#"{"k":1,"a":0}"#, #"{"k":2,"b":0}"#], [#"{"k":1,"b":0}"#, #"{"k":2,"a":0}"#]),
        Case(
            #"{"allOf":[{"properties":{"a":{}}}],"anyOf":[{"properties":{"b":{"type":"integer"}},"required":["b"]},true],"unevaluatedProperties":false}"#,
            [#"{"a":1}"#, #"{"b":1}"#], [#"{"b":"x"}"#, #"{"c":1}"#]),
        Case(#"{"contains":{"type":"string"},"unevaluatedItems":false}"#, [#"["a"]"#], [#"["a",1]"#, "[]"]),
        Case(
            ##"{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}},"additionalProperties":false}},"$ref":"#/$defs/n"}"##,
            [#"{"next":{"next":{}}}"#], [#"{"next":{"x":{}}}"#]),
        Case(
            ##"{"definitions":{"a":{"type":"array"}},"properties":{"x":{"$ref":"#/definitions/a","maxItems":1}}}"##,
            [#"{"x":[1,2]}"#], [#"{"x":1}"#]),
        Case(#"{"format":"date"}"#, [#""2024-02-29""#], [#""2023-02-29""#, #""2024-13-01""#]),
        Case(
            #"{"format":"date-time"}"#, [#""2024-02-29T23:59:60Z""#, #""2024-01-01T00:00:00.5+01:00""#],
            [#""2024-01-01""#]),
        Case(
            #"{"format":"ipv6"}"#, [#""::1""#, #""1:2::8""#, #""::ffff:1.2.3.4""#],
            [#""1:2""#, #""1::2::3""#, #""12345::""#]),
        Case(#"{"format":"email"}"#, [#""a.b@c.de""#], [#""a""#, #""@b""#]),
        Case(#"{"format":"uri"}"#, [#""https://a.b/c?d=e#f""#, #""urn:a:b""#], [#""//a""#, #""a b""#]),
        Case(
            #"{"format":"uuid"}"#, [#""2eb8aa08-aa98-11ea-b4aa-73b441d16380""#],
            [#""2eb8aa08aa9811eab4aa73b441d16380""#]),
        Case(#"{"format":"duration"}"#, [#""P1Y2M3DT4H""#, #""P4W""#], [#""P""#, #""P1YT""#]),
    ]

    @Test(arguments: cases)
    func `accepts what is valid and refuses what is not`(_ example: Case) throws {
        let constraint = try Constraint.schema(example.schema, free: true)
        for text in example.valid { #expect(try constraint.accepts(text), "\(text)") }
        for text in example.invalid { #expect(try !constraint.accepts(text), "\(text)") }
    }

    @Test func `compact JSON has no white space and keeps the order of the schema`() throws {
        let schema = #"{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["b"]}"#
        let constraint = try Constraint.schema(schema)
        for text in [#"{"a":1,"b":2}"#, #"{"b":2}"#, #"{"b":2,"c":"x"}"#] {
            #expect(try constraint.accepts(text), "\(text)")
        }
        for text in [
            #"{"b":2,"a":1}"#, #"{"c":1,"b":2}"#, #"{ "b":2}"#, #"{"b":2.0}"#, "{\"b\":2}\n", #"{"\u0062":2}"#,
        ] {
            #expect(try !constraint.accepts(text), "\(text)")
        }
        #expect(try Constraint.schema(schema, free: true).accepts(" {\"b\" : 2.0,\n\t\"a\":1} "))
    }

    @Test func `by default a space may follow a colon and a comma and precede the text`() throws {
        let schema =
            #"{"properties":{"a":{"type":"array","uniqueItems":true},"b":{"properties":{"c":{}}}},"required":["a","b"]}"#
        let constraint = try Constraint.schema(schema, .separators)
        for text in [
            #"{"a":[1,"x"],"b":{"c":null}}"#, #"{"a": [1, "x"], "b": {"c": null}}"#,
            #" {"a": [1,"x"],"b": {"c":null}}"#,
            #"{"a": [], "b": {}, "c": [[1, 2], {"d": 0}]}"#,
        ] {
            #expect(try constraint.accepts(text), "\(text)")
        }
        for text in [
            #"  {"a":[1],"b":{}}"#, #"{ "a":[1],"b":{}}"#, #"{"a" :[1],"b":{}}"#, #"{"a":  [1],"b":{}}"#,
            #"{"a":[ 1],"b":{}}"#, #"{"a":[1 ],"b":{}}"#, #"{"a":[1 ,2],"b":{}}"#, #"{"a":[1,  2],"b":{}}"#,
            #"{"a":[1],"b":{} }"#, #"{"a":[1],"b":{}} "#, "{\"a\":[1],\n\"b\":{}}", "{\"a\":\t[1],\"b\":{}}",
            #"{"a":[1, 1],"b":{}}"#, #"{"a":[1,2, 1],"b":{}}"#,
        ] {
            #expect(try !constraint.accepts(text), "\(text)")
        }
        let compiled = try Constraint.compile(.jsonSchema(schema), vocabulary: TestVocabulary.vocabulary)
        #expect(try compiled.accepts(#"{"a": [1,2], "b":{}}"#))
    }

    @Test(arguments: [
        // The rules, the names that may come first, and those that may come after "b".
        (#""required":["b","d"]"#, "ab", "cd"), (#""required":["a"]"#, "a", ""),
        (#""anyOf":[{"required":["a"]},{"required":["c","d"]}]"#, "abc", "c"),
        (#""not":{"required":["b"]}"#, "acdx", ""), (#""not":{"required":["a","b"]}"#, "abcdx", "cdx"),
        (#""dependentRequired":{"b":["c"],"d":["a"]}"#, "abcx", "c"),
        (#""oneOf":[{"required":["a"]},{"required":["b"]}]"#, "ab", "cdx"),
        (#""required":["d"],"maxProperties":2"#, "abcd", "d"), (#""required":["x"]"#, "abcdx", "cdx"),
        (#""required":["c"],"patternProperties":{"^[a-c]":{}}"#, "abc", "c"),
        (#""if":{"required":["b"]},"then":{"required":["d"]},"else":{"required":["c"]}"#, "abc", "cd"),
    ])
    func `a name is refused at once if those that it leaves out are required`(
        rules: String, first: String, afterB: String
    ) throws {
        let names = "abcd".map { "\"\($0)\":{\"type\":\"integer\"}" }.joined(separator: ",")
        let constraint = try Constraint.schema(#"{"type":"object","properties":{\#(names)},\#(rules)}"#)
        for (before, allowed) in [("{", first), (#"{"b":1,"#, afterB)] {
            for name in "abcdx" {
                let text = "\(before)\"\(name)\":"
                var matcher = constraint.matcher()
                let isAllowed = try matcher.accept(bytes: Array(text.utf8)) == text.utf8.count
                #expect(isAllowed == allowed.contains(name), "\(text)")
            }
        }
    }

    @Test(arguments: [
        (#"{"properties":{"a":{"pattern":"(?<=x)y"}}}"#, "#/properties/a/pattern"),
        (#"{"$ref":"http://example.com/x"}"#, "#/$ref"),
        (#"{"properties":{"a/b":{"minLength":-1}}}"#, "#/properties/a~1b/minLength"),
        (#"{"type":"text"}"#, "#/type"),
        (#"{"$schema":"http://example.com/dialect"}"#, "#/$schema"),
        (#"{"anyOf":[]}"#, "#/anyOf"),
        (##"{"allOf":[{"$ref":"#"}]}"##, "#/allOf/0"),
        (#"{"not":7}"#, "#/not"),
        ("[1]", "#"), ("{", "#"), ("", "#"),
    ])
    func `what cannot be followed is refused with its path`(_ schema: String, _ path: String) {
        let error = #expect(throws: ConstraintError.self) { try Constraint.schema(schema) }
        #expect(error?.path == path && error?.kind == .schema, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        Case(
            #"{"type":"integer"}"#, ["1234567890123456789", "-1234567890123456789"],
            ["12345678901234567890", "-10000000000000000000"]),
        Case(
            #"{"type":"number"}"#,
            [
                "1234567890123456789", "1234567890123456789.5", "0.12345678901234567", "123.45678901234567",
                "0.000000000000000012345678901234567", "1e308", "-1.5E-999",
            ],
            [
                "12345678901234567890", "1234567890123456789.55", "0.123456789012345678", "123.456789012345678",
                "0.0000000000000000001", "0.000000000000000000", "1e1000", "1e-0001",
            ]),
        Case(#"{"minimum":0}"#, ["1234567890123456789"], ["12345678901234567890", "0.123456789012345678"]),
        Case(#"{"maximum":1e20}"#, ["100000000000000000000"], ["-1000000000000000000000"]),
        Case(#"{"minimum":1e20}"#, ["100000000000000000000"], ["1000000000000000000000"]),
        Case(
            #"{"enum":[1234567890123456789,12345678901234567890]}"#,
            ["1234567890123456789", "12345678901234567890"], ["12345678901234567891"]),
        // A number that cannot end yet goes on.
        Case(#"{"exclusiveMinimum":0.5}"#, ["0.50000000000000000001", "0.6"], ["0.5", "0.500000000000000000011"]),
        Case(#"{"multipleOf":1e-20}"#, ["0.00000000000000000001"], ["0.000000000000000000001"]),
    ])
    func `numbers have a maximum length, which the schema may raise`(_ example: Case) throws {
        let constraint = try Constraint.schema(example.schema)
        for text in example.valid { #expect(try constraint.accepts(text), "\(text)") }
        for text in example.invalid { #expect(try !constraint.accepts(text), "\(text)") }
        let free = try Constraint.schema(#"{"type":"number"}"#, free: true)
        #expect(try free.accepts(String(repeating: "9", count: 400)))
    }

    @Test(arguments: [
        (#"{"multipleOf":0.01}"#, "0.25", 4), (#"{"multipleOf":0.01}"#, "0.250", 5),
        (#"{"multipleOf":0.01}"#, "0.001", 4),
        (#"{"multipleOf":0.01,"minimum":3}"#, "-3", 0), (#"{"multipleOf":0.5}"#, "1.25", 3),
        (#"{"multipleOf":100}"#, "300.05", 5), (#"{"not":{"multipleOf":0.01},"type":"number"}"#, "0.001", 5),
        (#"{"anyOf":[{"multipleOf":0.01},{"multipleOf":0.005}],"type":"number"}"#, "0.005", 5),
    ])
    func `a digit that no multiple has is refused`(_ schema: String, _ text: String, _ count: Int) throws {
        var matcher = try Constraint.schema(schema).matcher()
        #expect(try matcher.accept(bytes: Array(text.utf8)) == count)
    }

    @Test(arguments: ["uint32", "path", "url", "regex", "no such"])
    func `an unknown format is an annotation, and is named`(format: String) throws {
        let constraint = try Constraint.schema(#"{"items":{"format":"\#(format)","maxLength":8}}"#)
        #expect(try constraint.accepts(#"["anything"]"#) && !constraint.accepts(#"["too much text"]"#))
        #expect(constraint.unenforced == [#"#/items/format: the format "\#(format)" is not known"#])
        #expect(try Constraint.schema(#"{"format":"date"}"#).unenforced.isEmpty)
    }

    @Test func `each keyword that is not enforced is named once`() throws {
        let style = Constraint.JSONStyle(dropsUnenforceable: true)
        let schema = #"{"format":"x","multipleOf":"a","maxLength":"b"}"#
        let constraint = try Constraint.compile(.jsonSchema(schema, style), vocabulary: TestVocabulary.vocabulary)
        let keywords = constraint.unenforced.map { $0.prefix { $0 != ":" } }
        #expect(keywords.sorted() == ["#/format", "#/maxLength", "#/multipleOf"], "\(constraint.unenforced)")
    }

    static let loosened: [Case] = [
        Case(#"{"properties":{"a":{"pattern":"\\bfoo","maxLength":3}}}"#, [#"{"a":"bar"}"#], [#"{"a":"foo!"}"#]),
        Case(#"{"type":"string","pattern":"(?i)yes"}"#, [#""no""#], ["1"]),
        Case(#"{"pattern":"(?<=x)y"}"#, [#""z""#], []),
        Case(#"{"properties":{"a":{"type":"any"}},"required":["a"]}"#, [#"{"a":[1]}"#], ["{}"]),
        Case(
            #"{"properties":{"a":{"$ref":"https://a.b/c"}},"additionalProperties":false}"#, [#"{"a":1}"#], [#"{"b":1}"#]
        ),
        Case(#"{"$ref":"https://a.b/c","type":"object","definitions":{}}"#, ["1"], []),
        Case(##"{"allOf":[{"$ref":"#"}],"type":"object"}"##, ["{}"], ["1"]),
        Case(#"{"properties":{"a":{"required":true,"type":"integer"}}}"#, [#"{"a":1}"#, "{}"], [#"{"a":"b"}"#]),
        Case(#"{"$schema":"http://a.b/c","type":"null"}"#, ["null"], ["1"]),
        Case(#"{"items":7,"minItems":1}"#, ["[7]"], ["[]"]),
        // What would allow less without the dropped keyword goes with it.
        Case(#"{"not":{"pattern":"\\bfoo"}}"#, [#""foo""#, "1"], []),
        Case(#"{"not":{"not":{"type":"integer","pattern":"\\b"}}}"#, ["1"], []),
        Case(#"{"oneOf":[{"pattern":"\\ba"},{"type":"integer"},{"type":"number"}]}"#, [#""b""#, "1", "1.5"], []),
        Case(#"{"if":{"pattern":"\\b"},"then":{"minLength":3},"else":false}"#, [#""a""#], []),
        Case(#"{"contains":{"pattern":"\\b"},"maxContains":1}"#, [#"["a","b"]"#], ["[]"]),
        Case(#"{"patternProperties":{"\\bx":{}},"additionalProperties":false}"#, [#"{"x":1}"#, #"{"y":1}"#], ["1,"]),
        Case(#"{"properties":7,"additionalProperties":false}"#, [#"{"x":1}"#], []),
        Case(#"{"prefixItems":7,"items":false}"#, ["[1]"], []),
        Case(#"{"allOf":[{"$ref":"https://a.b/c"}],"unevaluatedProperties":false}"#, [#"{"x":1}"#], []),
        Case(
            ##"{"$defs":{"a":{"pattern":"\\b"}},"properties":{"x":{"not":{"items":{"$ref":"#/$defs/a"}}}}}"##,
            [#"{"x":["a"]}"#], []),
    ]

    @Test(arguments: loosened)
    func `keywords that cannot be enforced can be dropped, which only ever allows more`(_ example: Case) throws {
        #expect(throws: ConstraintError.self) { try Constraint.schema(example.schema, free: true) }
        let style = Constraint.JSONStyle(whitespace: .free, anySpelling: true, dropsUnenforceable: true)
        let constraint = try Constraint.compile(
            .jsonSchema(example.schema, style), vocabulary: TestVocabulary.vocabulary)
        #expect(constraint.unenforced.count == 1, "\(constraint.unenforced)")
        for text in example.valid { #expect(try constraint.accepts(text), "\(text)") }
        for text in example.invalid { #expect(try !constraint.accepts(text), "\(text)") }
    }

    @Test(arguments: [
        "", #""$schema":"http://json-schema.org/draft-04/schema#","#,
        #""$schema":"https://json-schema.org/draft/2020-12/schema","#,
    ])
    func `a flag makes a bound exclusive, as in draft 4`(declaration: String) throws {
        let schema = #"{\#(declaration)"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}"#
        let constraint = try Constraint.schema(schema)
        #expect(try !constraint.accepts("1") && constraint.accepts("2") && constraint.accepts("3"))
        #expect(try Constraint.schema(#"{\#(declaration)"exclusiveMinimum":true}"#).accepts("0"))
    }

    @Test(arguments: ["", #""$schema":"http://json-schema.org/draft-04/schema#","#])
    func `in draft 4, id names a schema`(declaration: String) throws {
        let constraint = try Constraint.schema(
            #"""
            {\#(declaration)"id":"http://a.b/c.json","properties":{"x":{"$ref":"http://a.b/c.json#/definitions/n"},
            "y":{"$ref":"part.json"}},"definitions":{"n":{"type":"integer"},"p":{"id":"part.json","type":"null"}}}
            """#)
        #expect(try constraint.accepts(#"{"x":1,"y":null}"#))
        #expect(try !constraint.accepts(#"{"x":"1"}"#) && !constraint.accepts(#"{"x":1,"y":1}"#))
    }

    @Test func `nesting is limited in whatever order its parts are found`() throws {
        let numbers = 0..<5000
        let chain = numbers.map { $0 == 0 ? #""d0":{}"# : ##""d\##($0)":{"$ref":"#/$defs/d\##($0 - 1)"}"## }
        let users = numbers.map { ##""p\##($0)":{"$ref":"#/$defs/d\##($0)"}"## }
        let schema =
            #"{"$defs":{\#(chain.joined(separator: ","))},"properties":{\#(users.joined(separator: ","))}}"#
        let error = #expect(throws: ConstraintError.self) { try Constraint.schema(schema) }
        #expect(error?.message.contains("100 deep") == true, "\(error?.description ?? "")")
    }

    @Test func `a schema that nothing satisfies says so`() throws {
        for schema in ["false", #"{"allOf":[{"type":"string"},{"type":"null"}]}"#, #"{"enum":[]}"#] {
            #expect(try !Constraint.schema(schema).isSatisfiable, "\(schema)")
        }
        #expect(try Constraint.schema("{}").isSatisfiable)
    }

    @Test func `a beginning that cannot be completed is refused at once`() throws {
        // The one string that both patterns admit, the one integer between bounds, an object that can close.
        var strings = try Constraint.schema(
            #"{"type":"string","allOf":[{"pattern":"^(ab|cd)$"},{"pattern":"^(cd|ef)$"}]}"#
        ).matcher()
        #expect(try !strings.allows(bytes: Array("\"a".utf8)) && strings.allows(bytes: Array("\"c".utf8)))
        var numbers = try Constraint.schema(#"{"type":"integer","minimum":30,"maximum":39}"#).matcher()
        #expect(try !numbers.allows(bytes: Array("4".utf8)) && !numbers.allows(bytes: Array("-".utf8)))
        #expect(try numbers.allows(bytes: Array("3".utf8)) && !numbers.allows(bytes: Array("301".utf8)))
        var objects = try Constraint.schema(#"{"properties":{"a":{},"b":false},"required":["a"]}"#).matcher()
        #expect(try !objects.allows(bytes: Array(#"{"b""#.utf8)))
    }
}
