import JSON
import Testing

@testable import Wire

@Suite struct JSONTests {
    private static let notJSON: [String] = [
        "", " ", "nul", "{", "{\(minimal)", "{\(minimal)} x", "{\(minimal),}", "{\(minimal), \"stop\": [\"a\" , ]}",
        "{'model':'m'}", "\u{feff}{\(minimal)}", "{\(minimal), \"x\": \"\u{1}\"}", "{\(minimal), \"x\": \"\\ud800\"}",
        "{\(minimal), \"x\": NaN}", "// x\n{\(minimal)}",
    ]

    /// What Foundation refuses, and what it would let pass.
    @Test(arguments: notJSON)
    func `what is not JSON is a 400 that says so`(_ body: String) {
        #expect(refusal(body)?.status == 400)
        #expect(refusal(body)?.message.contains("JSON") == true)
        #expect(refusal(body)?.param == nil)
    }

    @Test func `only UTF-8 is taken`() {
        let text = "{\(minimal)}"
        let utf16 = text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
        let bodies: [[UInt8]] = [utf16, [0xff, 0xfe] + utf16, Array(text.utf8) + [0xff], [0xc0, 0x80]]
        for body in bodies {
            let error = #expect(throws: APIError.self) { try JSON.decode(ChatCompletionRequest.self, from: body) }
            #expect(error?.status == 400)
        }
    }

    @Test func `commas and brackets inside strings are text`() {
        #expect(refusal(#"{"model":"m","messages":[{"role":"user","content":",]} \",} [[[[ \\"}]}"#) == nil)
    }

    @Test func `nesting is bounded, and does not need a deep stack`() {
        let deep = { (depth: Int) in
            let brackets = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return "{\(minimal), \"x\": \(brackets)}"
        }
        #expect(refusal(deep(100)) == nil)
        #expect(refusal(deep(128))?.status == 400)
        #expect(refusal(deep(1_000_000))?.status == 400)
    }

    /// Two readers could take one value each.
    @Test(arguments: [
        #""stream": false, "stream": true"#, #""stop": "a", "st\u006fp": "b""#, #""x": [{"é": 1, "\u00e9": 2}]"#,
        #""x": {"\ud83d\ude00": 1, "😀": 2}"#, #""x": {"a/b": 1, "a\/b": 2}"#,
    ])
    func `a key that an object has twice is refused`(_ fields: String) {
        #expect(refusal("{\(minimal), \(fields)}")?.status == 400)
        #expect(refusal("{\(minimal), \(fields)}")?.message.contains("duplicate key") == true)
    }

    @Test func `equal keys of different objects, and strings that look like keys, are allowed`() {
        #expect(refusal(#"{\#(minimal), "x": [{"a": {"a": 1}, "b": ["a", "a"]}, {"a": "a"}]}"#) == nil)
        // Letters that Swift takes for equal are different keys.
        #expect(refusal("{\(minimal), \"x\": {\"\u{e9}\": 1, \"e\u{301}\": 2}}") == nil)
    }

    @Test func `more values than a request needs are refused before they are decoded`() {
        let list = { (count: Int) in "[" + String(repeating: "1,", count: count - 1) + "1]" }
        #expect(refusal("{\(minimal), \"x\": \(list(1000))}") == nil)
        let error = refusal("{\(minimal), \"x\": \(list(JSON.bodyLimits.values))}")
        #expect(error?.status == 413)
        #expect(error?.code == "request_too_large")
    }
}
