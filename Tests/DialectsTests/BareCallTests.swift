import Dialects
import Foundation
import Template
import TestSupport
import Testing

/// Answers that are nothing but calls, without the markers of the dialect.
@Suite struct BareCallTests {
    private func parser(
        _ source: String = SampleTemplate.object, after prompt: String = "", readsBareCalls: Bool = true
    ) throws -> AnswerParser {
        AnswerParser(
            try dialect(source), tools: DeclaredTool.list(weatherTools), after: prompt, readsBareCalls: readsBareCalls)
    }

    private static let call = #"{"name": "weather", "arguments": {"city": "York"}}"#
    private static let york = AnswerMessage.Call(name: "weather", arguments: #"{"city": "York"}"#)
    private static let now = AnswerMessage.Call(name: "weather_now", arguments: "{}")

    private static let callsAlone: [(String, [AnswerMessage.Call])] = [
        (call, [york]), (" \n" + call + "\n\n", [york]), ("```json\n\(call)\n```", [york]),
        ("```\n\(call)\n```\n", [york]), ("```json\n\(call)", [york]), ("```json\n\(call)\n``", [york]),
        ("[\(call)]", [york]), ("<tools>\n\(call)\n</tools>", [york]), ("<tools>\(call)</too", [york]),
        ("```xml\n<tools>\n\(call)\n</tools>\n```", [york]),
        ("[\(call), {\"name\": \"weather_now\", \"arguments\": {}}]", [york, now]),
        ("\(call)\n{\"name\":\"weather_now\",\"arguments\":{}}", [york, now]),
        ("\(call),\n{\"name\":\"weather_now\",\"arguments\":{}}", [york, now]),
        (#"{"arguments": {"city": "York"}, "name": "weather"}"#, [york]),
        (#"{"name": "weather", "parameters": {"city": "York"}}"#, [york]),
        (#"{"name": "weather", "arguments": "{\"city\": \"York\"}"}"#, [york]),
        (#"{"function": "weather", "arguments": {"city": "York"}}"#, [york]),
        (#"{"type": "function", "name": "weather", "parameters": {"city": "York"}}"#, [york]),
        (
            #"{"id": "call_12345", "type": "function", "function": {"name": "weather", "arguments": {"city": "York"}}}"#,
            [.init(name: "weather", id: "call_12345", arguments: #"{"city": "York"}"#)]
        ),
    ]

    @Test(arguments: callsAlone)
    func `an answer that is nothing but calls is calls`(text: String, calls: [AnswerMessage.Call]) throws {
        for source in [SampleTemplate.object, SampleTemplate.tagged, SampleTemplate.header] {
            let message = read(text, try parser(source))
            #expect(message.calls == calls)
            #expect(message.content == "")
        }
        let thought = read("Hm.\n</think>\n\n" + text, try parser(after: "<think>\n"))
        #expect((thought.reasoning, thought.calls, thought.content) == ("Hm.", calls, ""))
    }

    private static let noCallsAlone: [String] = [
        call + " That is all.", "So: " + call, "```json\n\(call)\n```\nRun it.", "[\(call)", String(call.dropLast()),
        #"{"name": "climate", "arguments": {}}"#, #"{"name": "weather"}"#, #"{"name": "weather", "arguments": null}"#,
        #"{"name": "weather", "arguments": [1]}"#, #"{"name": "weather", "arguments": {}, "version": 2}"#,
        #"{"arguments": {}}"#, "{}", "[]", "[1, 2]", "```", "```json\n```", "<tools></tools>", "<tools>", "{", "[",
        "```python\nprint(1)\n```", "{'name': 'weather', 'arguments': {}}", "[\(call)]]", "\(call)]",
        #"{"name": "weather", "arguments": "--all"}"#,
        "```json\n\(call)\n```\n```json\n\(call)\n```", #"{"name": "weather", "name": "weather", "arguments": {}}"#,
    ]

    @Test(arguments: noCallsAlone)
    func `an answer with anything else is content`(text: String) throws {
        let message = read(text, try parser())
        #expect(message.content == text)
        #expect(message.calls.isEmpty)
    }

    @Test func `calls without markers can be turned off`() throws {
        #expect(read(Self.call, try parser(readsBareCalls: false)).content == Self.call)
    }

    @Test(arguments: [
        (#"{"title": 1}"#, 4), (#"{"name": "Ada"}"#, 11), (#"{"name": "weather", "age": 3}"#, 23),
        (#"{"name": "weather", "arguments": 3}"#, 34), ("```swift\nlet x = 1\n```", 10), ("[1, 2, 3]", 2),
        ("<table>", 3), ("Yes, indeed", 1), (call + "\nDone.", call.utf8.count + 2),
    ])
    func `text is held back only while it can still become a call`(text: String, bytes: Int) throws {
        var parser = try parser()
        var shown = 0
        for (count, character) in text.enumerated() {
            for case .content(let piece) in parser.read(String(character)) { shown += piece.utf8.count }
            #expect((shown > 0) == (count + 1 >= bytes), "after \(count + 1) bytes")
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (#"{"name": "weather", "arguments": {"city": ""#, "x", #""}}"#), ("", call + "\n", ""),
            (#"{"id": "abc", "name": "weather", "arguments": {"city": ""#, "x", #""}}"#),
            (#"[{"name": "weather", "arguments": {}}"#, ",{\"name\":\"weather\",\"arguments\":{}}", "]"),
        ])
    func `long calls without markers are read in linear time`(start: String, repeated: String, end: String) throws {
        var parser = try parser()
        let text = start + String(repeating: repeated, count: 100_000 / repeated.utf8.count) + end
        var message = AnswerMessage()
        for byte in text.utf8 { for delta in parser.read(String(UnicodeScalar(byte))) { message.add(delta) } }
        for delta in parser.finish() { message.add(delta) }
        #expect(!message.calls.isEmpty && message.content == "")
    }

    // MARK: False calls

    /// Answers that contain JSON and call nothing, to requests that offer tools of these names.
    static let answers: [(text: String, tools: [String])] = {
        let records = [
            #"{"name": "Ada Lovelace", "born": 1815}"#, #"[{"name": "Ada"}, {"name": "Grace"}]"#,
            #"{"name": "weather", "version": "1.0.0", "dependencies": {}}"#, #"{"error": {"code": 404}}"#,
            #"{"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}"#,
            #"{"name": "search", "kind": "index", "fields": ["title"]}"#, #"{"arguments": ["-v", "build"]}"#,
            #"{"openapi": "3.1.0", "paths": {"/weather": {"get": {}}}}"#, #"{"type": "object", "properties": {}}"#,
            #"{"type": "function", "function": {"name": "weather", "description": "", "parameters": {}}}"#,
            #"{"name": "read_file", "on": "push", "jobs": {}}"#, #"[]"#, #"{}"#, #"[[1, 2], [3, 4]]"#, #""weather""#,
            #"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}}"#,
            #"{"id": "1", "name": "Bash", "arguments": null}"#, #"{"city": "York", "days": 3}"#,
            #"{"tool_calls": [{"name": "search", "arguments": {"query": "x"}}]}"#, "{\"name\": \"weather\",\n",
            #"{"name": "bash", "scripts": {"test": "make"}}"#, #"{"function": "f(x) = x", "domain": "R"}"#,
            #"{"parameters": {"temperature": 0.7, "top_p": 0.9}}"#, #"{"name": "search", "arguments": "--all"}, …"#,
        ]
        let sentences = [
            "Here is the file:\n\n```json\n@\n```", "```json\n@\n```\n\nSave it as `a.json`.", "@", "```json\n@\n```",
            "```\n@\n```\n", "The answer is @.", "[@]", "1. `@`\n2. Run it.",
        ]
        let tools = ["weather", "search", "read_file", "bash", "Bash"]
        let calls = [
            #"{"name": "search", "arguments": {"query": "x"}}"#, #"{"name": "bash", "arguments": {"command": "ls"}}"#,
        ].flatMap { call in
            ["For example:\n```json\n@\n```", "```json\n@\n```\nThis would run it.", "Use @."].map {
                $0.replacing("@", with: call)
            }
        }
        return (records.flatMap { record in sentences.map { $0.replacing("@", with: record) } } + calls).map {
            ($0, tools)
        }
    }()

    @Test func `answers that contain JSON are hardly ever taken for calls`() throws {
        let dialect = try dialect(SampleTemplate.object)
        var mistaken: [String] = []
        for (text, tools) in Self.answers {
            let parser = AnswerParser(dialect, tools: tools.map { DeclaredTool(name: $0) }, after: "")
            let answer = message([text], parser)
            if !answer.calls.isEmpty { mistaken.append(text) }
        }
        #expect(Self.answers.count == 198)
        #expect(mistaken.isEmpty, "\(mistaken)")
    }

    /// What no parser can tell from a call: an example that is the whole answer, and the definition of a tool that has
    /// no description.
    @Test(arguments: [
        #"{"name": "weather", "arguments": {"city": "York"}}"#,
        "```json\n{\"name\": \"weather\", \"parameters\": {\"type\": \"object\"}}\n```",
    ])
    func `an example that is the whole answer is a call`(text: String) throws {
        #expect(read(text, try parser()).calls.map(\.name) == ["weather"])
    }
}
