import JSON
import Testing

@testable import Wire

/// The bodies of the endpoints beside chat.
@Suite struct OtherRequestTests {
    private func completion(_ fields: String) throws(APIError) -> CompletionRequest {
        try JSON.decode(CompletionRequest.self, from: Array("{\"model\":\"m\", \(fields)}".utf8)).validated()
    }

    private func embedding(_ fields: String) throws(APIError) -> EmbeddingRequest {
        try JSON.decode(EmbeddingRequest.self, from: Array("{\"model\":\"m\", \(fields)}".utf8)).validated()
    }

    @Test(arguments: [
        (#""a""#, PromptInput.plain(.texts(["a"]))), (#"["a","b"]"#, .plain(.texts(["a", "b"]))),
        ("[1, 2]", .plain(.tokens([[1, 2]]))), ("[[1],[2,3]]", .plain(.tokens([[1], [2, 3]]))),
        (#""""#, .plain(.texts([""]))), ("[[]]", .plain(.tokens([[]]))),
        (#"[1,"a"]"#, .mixed([[.token(1), .text("a")]])), (#"["a",1]"#, .mixed([[.text("a"), .token(1)]])),
        (#"["a",[1,"b"],[2]]"#, .mixed([[.text("a")], [.token(1), .text("b")], [.token(2)]])),
        (#"{"prompt_string":"a"}"#, .mixed([[.text("a")]])), (#"[{"prompt_string":"a"}]"#, .mixed([[.text("a")]])),
    ])
    func `a prompt in each of its forms`(_ json: String, _ prompt: PromptInput) throws {
        #expect(try completion("\"prompt\": \(json)").prompt == prompt)
    }

    @Test(arguments: [
        ("5", "prompt"), ("null", "prompt"), ("[]", "prompt"), ("[1.5]", "prompt[0]"),
        ("[[1],[true]]", "prompt[1][0]"), ("[1,[2]]", "prompt"), ("[{}]", "prompt[0]"), ("{}", "prompt"),
    ])
    func `what is no prompt is refused by its place`(_ json: String, _ path: String) {
        let error = #expect(throws: APIError.self) { try completion("\"prompt\": \(json)") }
        #expect(error?.status == 400)
        #expect(error?.param == path)
    }

    @Test(arguments: [
        #""echo": true, "max_tokens": 0"#, #""max_tokens": 0"#, #""max_tokens": -1"#, #""logprobs": 0"#,
        #""logprobs": 5"#, #""suffix": """#, #""suffix": null"#, #""suffix": "x""#,
        #""n": 2, "best_of": 2"#, #""best_of": 1"#, #""n": 16"#, #""stream": true, "stream_options": {}"#,
    ])
    func `allowed of completions`(_ fields: String) throws { _ = try completion("\"prompt\": \"x\", \(fields)") }

    @Test(arguments: [
        ("max_tokens", #""max_tokens": -2"#),
        ("logprobs", #""logprobs": 6"#), ("logprobs", #""logprobs": true"#), ("echo", #""suffix": "x", "echo": true"#),
        ("best_of", #""best_of": 2"#), ("best_of", #""n": 3, "best_of": 2"#), ("n", #""n": 17"#),
        ("stream_options", #""stream_options": {}"#), ("temperature", #""temperature": 3"#), ("echo", #""echo": 1"#),
    ])
    func `refused of completions, naming the field`(_ field: String, _ fields: String) {
        let error = #expect(throws: APIError.self) { try completion("\"prompt\": \"x\", \(fields)") }
        #expect(error?.status == 400)
        #expect(error?.param == field)
    }

    @Test func `prompts and choices are bounded together`() throws {
        let prompts = { (count: Int) in "[" + Array(repeating: "\"x\"", count: count).joined(separator: ",") + "]" }
        _ = try completion("\"n\": 16, \"prompt\": \(prompts(8))")
        let error = #expect(throws: APIError.self) { try completion("\"n\": 16, \"prompt\": \(prompts(9))") }
        #expect(error?.param == "prompt")
    }

    @Test(arguments: [
        ("input", #""input": []"#), ("input", #""input": """#), ("input[1]", #""input": ["a", ""]"#),
        ("input[0]", #""input": [[], [1]]"#), ("input", "\"x\": 1"),
        ("encoding_format", #""input": "a", "encoding_format": "hex""#),
        ("dimensions", #""input": "a", "dimensions": 0"#), ("input[0][1]", #""input": [[1, "a"], []]"#),
        ("truncate_prompt_tokens", #""input": "a", "truncate_prompt_tokens": 0"#),
        ("input", #""input": "# + Array(repeating: [1], count: 2049).description),
    ])
    func `refused of embeddings, naming the field`(_ field: String, _ fields: String) {
        let error = #expect(throws: APIError.self) { try embedding(fields) }
        #expect(error?.status == 400)
        #expect(error?.param == field)
    }

    @Test func `embeddings are floats unless base64 is asked for`() throws {
        #expect(try embedding(#""input": "a""#).format == .float)
        #expect(try embedding(#""input": "a", "encoding_format": "base64""#).format == .base64)
    }

    @Test(
        arguments: [
            ("5", .limited(.seconds(5))), ("0", .notAtAll), ("-1", .forever), ("0.5", .limited(.milliseconds(500))),
            (#""5m""#, .limited(.seconds(300))), (#""1h30m""#, .limited(.seconds(5400))), (#""-1s""#, .forever),
            (#""0""#, .notAtAll), (#""90""#, .limited(.seconds(90))), (#""1.5s""#, .limited(.milliseconds(1500))),
            (#""9999999h""#, .forever), (#""""#, nil), (#""m""#, nil), (#""5""s""#, nil), (#""5d""#, nil),
            ("true", nil),
            (#""-""#, nil), (#""1.2.3s""#, nil),
        ] as [(String, KeepAlive?)])
    func `Ollama's durations`(_ json: String, _ expected: KeepAlive?) {
        let found = try? JSON.decode([KeepAlive].self, from: Array("[\(json)]".utf8)).first
        #expect(found == expected)
    }
}
