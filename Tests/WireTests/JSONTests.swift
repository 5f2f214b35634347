import Testing

@testable import Wire

@Suite struct JSONTests {
    /// What Foundation refuses, and what it would let pass.
    @Test(arguments: [
        "", " ", "nul", "{", "{\(minimal)", "{\(minimal)} x", "{\(minimal),}", "{\(minimal), \"stop\": [\"a\" , ]}",
        "{'model':'m'}", "\u{feff}{\(minimal)}", "{\(minimal), \"x\": \"\u{1}\"}", "{\(minimal), \"x\": \"\\ud800\"}",
        "{\(minimal), \"x\": NaN}", "// x\n{\(minimal)}",
    ])
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
}
