import JSON
import Testing

private let strict = JSON.Limits(depth: 128, values: 1 << 19, allowsDuplicates: false)

private func refusal(_ text: String, _ limits: JSON.Limits = strict) -> JSON.SyntaxError? {
    #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: text, limits) }
}

@Suite struct ParserTests {
    @Test(arguments: [
        "", " ", "nul", "truee", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "[1,]",
        "[,1]",
        "[1 2]", "{} x", "{'a':1}", "{a:1}", "{1:1}", "NaN", "Infinity", "-", "+1", ".5", "1.", "1.e3", "1e", "1e+",
        "01",
        "-01", "0x1", "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
        "\"\\udc00\"", "\"\u{1}\"", "\"\n\"", "\u{feff}{}", "// x\n1", "[1]]", "1\u{0}", "\u{0}", "\u{b}1", "\"\u{0}\"",
    ])
    func `what is not JSON is refused`(_ text: String) {
        #expect(refusal(text)?.cause == .malformed)
    }

    @Test func `only UTF-8 is taken`() {
        let utf16 = "{\"a\":1}".utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
        // Overlong, a surrogate, beyond U+10FFFF, cut off, a continuation alone; in plain strings and beside an escape.
        let wrong: [[UInt8]] = [
            [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80], [0xff],
        ]
        var all: [[UInt8]] = [utf16, [0xff, 0xfe] + utf16, [0x31, 0xff]]
        for bytes in wrong { all += [[0x22] + bytes + [0x22], [0x22, 0x5c, 0x6e] + bytes + [0x22]] }
        for bytes in all {
            #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: bytes, strict) }
        }
    }

    @Test func `an error says where it is and what is wrong`() {
        #expect(refusal("[1, x]")?.description == "not a JSON value at byte 4")
        #expect(refusal("{\"a\" 1}")?.description == "':' is expected at byte 5")
        #expect(refusal("{\"a\": 1, \"a\": 2}")?.description == "duplicate key \"a\" at byte 9")
        #expect(refusal("[1")?.description == "',' or ']' is expected at byte 2")
    }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1.0", "1e3", "1E+3", "12345678901234567890", "-1.5e-7", "\"\"", "[]", "{}",
        "[1,[2,{\"a\":[]}],\"]\"]", "{\"z\":1,\"a\":{\"y\":2,\"b\":3},\"m\":[{}]}",
        "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001é😀/\"",
        "\"\u{7f}\u{80}\u{2028}\u{10ffff}\"",
    ])
    func `what was read is written as it came`(_ text: String) throws {
        #expect(try JSON(parsing: text, strict).text == text)
    }

    @Test func `white space between tokens does not count, and escapes stand for their characters`() throws {
        #expect(try JSON(parsing: " \t\r\n{ \"a\" : [ 1 , 2 ] } ", strict).text == "{\"a\":[1,2]}")
        let text = try JSON(parsing: #""\u00e9\ud83d\uDE00\/\u0000 and a long rest without escapes\n""#, strict).string
        #expect(text == "é😀/\u{0} and a long rest without escapes\n")
    }

    /// The scan takes eight bytes at once.
    @Test func `a quote, an escape or a control character is seen at every position`() throws {
        for count in 0..<20 {
            let plain = String(repeating: "é", count: count / 2) + String(repeating: "a", count: count % 2)
            for special in ["\\n", "\\\"", "\\u0041", "é"] {
                let text = "\"\(plain)\(special)\(plain)\""
                let read = try JSON(parsing: "[\(text),\(text)]", strict)
                #expect(read.array?.count == 2)
                #expect(read.array?[0].string?.hasPrefix(plain) == true)
                #expect(read.array?[1].string?.hasSuffix(plain) == true)
            }
            #expect(refusal("\"\(plain)\u{1f}\(plain)\"")?.offset == 1 + plain.utf8.count)
        }
    }

    @Test func `nesting is bounded, and does not need a deep stack`() throws {
        let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(try JSON(parsing: deep(128), strict).array?.count == 1)
        #expect(refusal(deep(129))?.message == "nested more than 128 deep")
        #expect(refusal(deep(1_000_000)) != nil)
        #expect(refusal(String(repeating: "{\"a\":", count: 1_000_000)) != nil)
    }

    @Test func `values and names are bounded together`() throws {
        let limits = JSON.Limits(depth: 4, values: 5)
        #expect(try JSON(parsing: "[1,2,3,4]", limits).array?.count == 4)
        #expect(refusal("[1,2,3,4,5]", limits)?.cause == .tooManyValues)
        #expect(try JSON(parsing: "{\"a\":1,\"b\":2}", limits).object?.count == 2)
        #expect(refusal("{\"a\":1,\"b\":2,\"c\":3}", limits)?.cause == .tooManyValues)
    }

    private static let namesGivenTwice: [String] = [
        #"{"a": 1, "a": 2}"#, #"{"stop": "a", "st\u006fp": "b"}"#, #"[{"é": 1, "\u00e9": 2}]"#,
        #"{"\ud83d\ude00": 1, "😀": 2}"#, #"{"a/b": 1, "a\/b": 2}"#,
        "{\((0..<40).map { "\"a\($0)\":0" }.joined(separator: ",")),\"a7\":1}",
    ]

    /// Two readers could take one value each.
    @Test(arguments: namesGivenTwice)
    func `a name that an object has twice is refused, or the last one counts`(_ text: String) throws {
        #expect(refusal(text)?.message.contains("duplicate key") == true)
        let read = try JSON(parsing: text, JSON.Limits(depth: 8))
        let object = read.object ?? read.array?[0].object
        #expect(object?.members.count(where: { $0.value == 1 }) == (object?.count == 40 ? 1 : 0))
    }

    @Test func `names are compared as bytes`() throws {
        // Letters that Swift takes for equal.
        let object = try #require(try JSON(parsing: "{\"\u{c5}\": 1, \"\u{212b}\": 2, \"A\u{30a}\": 3}", strict).object)
        #expect(object.members.map(\.value) == [1, 2, 3])
        #expect(object["\u{212b}"] == 2)
        let many = try JSON(parsing: "{\((0..<100).map { "\"\($0)\":\($0)" }.joined(separator: ","))}", strict)
        for number in 0..<100 { #expect(many["\(number)"]?.int == number) }
        #expect(many["100"] == nil)
    }
}

@Suite struct ValueTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("0.0", 0), ("0e9999999999", 0), ("1.0", 1), ("1e3", 1000), ("10.50e1", 105),
            ("-1e2", -100),
            ("1200e-2", 12), ("9223372036854775807", .max), ("-9223372036854775808", .min), ("1.5", nil), ("1e-1", nil),
            ("9223372036854775808", nil), ("1e19", nil), ("1e999999999999999999999", nil), ("12.34e1", nil),
        ] as [(String, Int?)])
    func `integers are exact, however they are written`(_ text: String, _ value: Int?) throws {
        #expect(try JSON(parsing: text, strict).int == value)
    }

    @Test func `doubles are written as Foundation writes them`() {
        let values = [
            1, 0.1, 1e100, 1e16, 1e15, 123_456_789_012_345_680, 1e-5, -0.0, .leastNonzeroMagnitude, 1.5e300, 1e21,
        ]
        let expected = "[1,0.1,1e+100,1e+16,1000000000000000,1.2345678901234568e+17,1e-05,-0,5e-324,1.5e+300,1e+21]"
        #expect(JSON.array(values.map { JSON($0) }).text == expected)
        #expect(JSON(Double.infinity).isNull)
        #expect(JSON(Double.nan).isNull)
    }

    @Test func `a member can be set and removed`() {
        var object: JSON.Object = ["b": 1, "a": 2]
        object["b"] = 3
        object["c"] = nil
        object["d"] = .null
        #expect(JSON.object(object).text == #"{"b":3,"a":2,"d":null}"#)
        object["b"] = nil
        #expect(JSON.object(object).text == #"{"a":2,"d":null}"#)
        #expect(JSON.object(object)["d"] == nil)
        #expect(object == ["d": .null, "a": 2])
        #expect(object != ["d": .null, "a": 2.5])
        #expect(JSON.string("\u{c5}") != JSON.string("\u{212b}"))
    }
}
