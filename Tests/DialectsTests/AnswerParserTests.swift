import Dialects
import Foundation
import Template
import TestSupport
import Testing
import Tokenizer

@Suite struct AnswerParserTests {
    private func parser(
        _ source: String, after prompt: String = "", hasTools: Bool = true, unwrapsFence: Bool = false
    ) throws -> AnswerParser {
        AnswerParser(
            try dialect(source), tools: hasTools ? DeclaredTool.list(weatherTools) : [], after: prompt,
            unwrapsFence: unwrapsFence)
    }

    // MARK: What is no call

    @Test(arguments: [
        "<tool_call>\nnot JSON\n</tool_call>", "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>",
        "<tool_call>", "a < b <tool_cal", "<tool_call>\n{\"name\": \"weather",
        "<tool_call>\n{\"arguments\": {}}\n</tool_call>",
    ])
    func `text that is no call is content`(text: String) throws {
        let message = read(text, try parser(SampleTemplate.object))
        #expect(message.content == text)
        #expect(message.calls.isEmpty)
    }

    @Test func `nothing is a call where no tool was offered`() throws {
        let text = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>"
        #expect(read(text, try parser(SampleTemplate.object, hasTools: false)).content == text)
    }

    @Test func `a call without a marker counts only where the answer begins`() throws {
        let call = "{\"name\": \"weather\", \"parameters\": {\"city\": \"York\"}}"
        let calls = read(call, try parser(SampleTemplate.bareObject)).calls
        #expect(calls == [.init(name: "weather", arguments: "{\"city\": \"York\"}")])
        let message = read("Write \(call).", try parser(SampleTemplate.bareObject))
        #expect(message.content == "Write \(call).")
        #expect(read("[link](weather)", try parser(SampleTemplate.bareObject)).content == "[link](weather)")
    }

    // MARK: What models do to their format

    @Test func `a missing opening or closing tag does not hide a call`() throws {
        let text = "Let me see.\n<function=weather>\n<parameter=city>\nYork\n</parameter>\n</function>\n</tool_call>"
        let message = read(text, try parser(SampleTemplate.tagged))
        #expect(message.content == "Let me see.")
        #expect(message.calls == [.init(name: "weather", arguments: #"{"city":"York"}"#)])
        let unclosed =
            "<|call_begin|>functions.weather:0<|args|>{\"days\": 1}<|call_begin|>functions.weather_now:1<|args|>{}"
        #expect(read(unclosed, try parser(SampleTemplate.header)).calls.map(\.name) == ["weather", "weather_now"])
    }

    @Test func `arguments cut off are what is there`() throws {
        let json = read(
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Yo", try parser(SampleTemplate.object))
        #expect(json.calls == [.init(name: "weather", arguments: "{\"city\": \"Yo")])
        let tagged = read("<tool_call>\n<function=weather>\n<parameter=city>\nYo", try parser(SampleTemplate.tagged))
        #expect(tagged.calls == [.init(name: "weather", arguments: #"{"city":"Yo"#)])
    }

    @Test(arguments: [
        (SampleTemplate.object, "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>", 15),
        (SampleTemplate.tagged, "<tool_call>\n<function=weather>\n</function>\n</tool_call>", 14),
        (
            SampleTemplate.tagged,
            "<tool_call>\n<function=weather>\n<parameter=city>\nYo\n</parameter>\n</function>\n</tool_call>", 35
        ),
        (
            SampleTemplate.object,
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>\n<tool_call>", 26
        ),
        (SampleTemplate.tagged, "<tool_call>\n<function=weather>\n<parameter=days>\n1\n</parameter>\n<parameter=", 23),
    ])
    func `a marker that the token limit cuts off is not content`(source: String, text: String, count: Int) throws {
        let parser = try parser(source)
        let whole = read(text, parser)
        for cut in 1..<count {
            let message = read(String(text.dropLast(cut)), parser)
            #expect(message.content == "", "without the last \(cut)")
            #expect(message.calls.map(\.name) == ["weather"], "without the last \(cut)")
            let arguments = try #require(message.calls.first?.arguments)
            #expect(isSameJSON(arguments, whole.calls[0].arguments), "\(arguments), without the last \(cut)")
        }
    }

    @Test(arguments: [SampleTemplate.object, SampleTemplate.header, harmony])
    func `arguments that are a string by their schema are JSON`(source: String) throws {
        let tool = DeclaredTool(name: "say", parameters: ArgumentSchema(.object(["type": .string("string")])))
        let texts = [
            SampleTemplate.object: #"<tool_call>{"name": "say", "arguments": "a \"b\""}</tool_call>"#,
            SampleTemplate.header: #"<|call_begin|>functions.say:0<|args|>"a \"b\""<|call_end|>"#,
            Self.harmony: #"<|channel|>commentary to=functions.say<|message|>"a \"b\""<|call|>"#,
        ]
        let parser = AnswerParser(try dialect(source), tools: [tool], after: "")
        let calls = read(try #require(texts[source]), parser).calls
        #expect(calls.map(\.arguments) == [#""a \"b\"""#])
    }

    @Test(.timeLimit(.minutes(1))) func `a long list of calls is read in linear time`() throws {
        let tools = (0..<500).map { DeclaredTool(name: "mcp__server__tool_\($0)") }
        let calls = (0..<2_000).map { "mcp__server__tool_\($0 % 500)(a=\($0))" }.joined(separator: ", ")
        for text in [[calls], calls.map { String($0) }] {
            let parser = AnswerParser(try dialect(SampleTemplate.pythonic), tools: tools, after: "")
            let found = message(["<|tool_call_start|>["] + text + ["]<|tool_call_end|>"], parser).calls
            #expect(found.count == 2_000)
        }
    }

    @Test func `the name may come after the arguments`() throws {
        let text = "<tool_call>{\"arguments\": {\"days\": 2}, \"name\": \"weather\"}</tool_call>Done."
        let message = read(text, try parser(SampleTemplate.object))
        #expect(message.calls == [.init(name: "weather", arguments: "{\"days\": 2}")])
        #expect(message.content == "Done.")
    }

    @Test func `arguments given as text are unwrapped`() throws {
        let text = #"<tool_call>{"name": "weather", "arguments": "{\"city\": \"York\"}"}</tool_call>"#
        #expect(read(text, try parser(SampleTemplate.object)).calls.first?.arguments == #"{"city": "York"}"#)
    }

    @Test func `a value may contain what looks like its closing tag`() throws {
        let code = "a\n</parameter>\nb </tool_call>"
        let text = "<tool_call>\n<function=weather>\n<parameter=city>\n\(code)\n</parameter>\n</function>\n</tool_call>"
        let arguments = try #require(read(text, try parser(SampleTemplate.tagged)).calls.first?.arguments)
        #expect(isSameJSON(arguments, #"{"city": "a\n</parameter>\nb </tool_call>"}"#))
    }

    @Test(arguments: [
        ("city", "42", #""42""#), ("city", "null", #""null""#), ("days", "42", "42"), ("days", "many", #""many""#),
        ("at", "null", "null"), ("at", "42", #""42""#), ("hourly", "True", "true"),
        ("tags", "['a', 'b']", #"["a","b"]"#),
        ("unknown", "{\"a\": 1}", "{\"a\": 1}"), ("unknown", "plain", #""plain""#),
    ])
    func `bare text becomes what the schema says`(key: String, text: String, expected: String) throws {
        let call =
            "<tool_call>\n<function=weather>\n<parameter=\(key)>\n\(text)\n</parameter>\n</function>\n</tool_call>"
        let arguments = try #require(read(call, try parser(SampleTemplate.tagged)).calls.first?.arguments)
        #expect(isSameJSON(arguments, "{\"\(key)\": \(expected)}"), "\(arguments)")
    }

    @Test func `elements nest where the schema has objects and arrays`() throws {
        let text =
            "<calls><invoke name=\"weather\"><tags><item>a</item><item>b</item></tags><place><x>2</x></place></invoke></calls>"
        let arguments = try #require(read(text, try parser(SampleTemplate.elements)).calls.first?.arguments)
        #expect(isSameJSON(arguments, #"{"tags": ["a", "b"], "place": {"x": 2}}"#), "\(arguments)")
    }

    // MARK: Thoughts

    @Test func `thoughts that the prompt began end at their tag`() throws {
        let message = read("Hm.\n</think>\n\nYes.", try parser(SampleTemplate.object, after: "…assistant\n<think>\n"))
        #expect((message.reasoning, message.content) == ("Hm.", "Yes."))
    }

    @Test func `a call in thoughts counts if they are never closed`() throws {
        let call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>"
        let open = read("<think>\nHm. \(call)", try parser(SampleTemplate.object))
        #expect((open.reasoning, open.calls.count) == ("Hm.", 1))
        let closed = read("<think>\nSay \(call) now.\n</think>\nNo.", try parser(SampleTemplate.object))
        #expect((closed.reasoning, closed.content) == ("Say \(call) now.", "No."))
        #expect(closed.calls.isEmpty)
    }

    @Test func `a tag in content is content unless it is a control token`() throws {
        #expect(read("Write <think> first.", try parser(SampleTemplate.object)).content == "Write <think> first.")
        let control = read("Hi.<|channel>thought\nHm.<channel|> There.", try parser(SampleTemplate.quoted))
        #expect((control.content, control.reasoning) == ("Hi. There.", "Hm."))
    }

    @Test func `JSON is taken out of a fence`() throws {
        let fenced = read("```json\n{\"a\": 1}\n```", try parser(SampleTemplate.object, unwrapsFence: true))
        #expect(fenced.content == "{\"a\": 1}")
        let bare = read("{\"a\": \"```\"}", try parser(SampleTemplate.object, unwrapsFence: true))
        #expect(bare.content == "{\"a\": \"```\"}")
        #expect(read("```js\n{", try parser(SampleTemplate.object, unwrapsFence: true)).content == "{")
    }

    @Test func `the place where content begins is known in bytes`() throws {
        var parser = try parser(SampleTemplate.object, after: "<think>\n")
        _ = parser.read("Hm.")
        #expect(parser.isReasoning)
        #expect(parser.contentStart == nil)
        _ = parser.read("</think>\n\nYes.")
        #expect(parser.contentStart == "Hm.</think>\n\n".utf8.count)
    }

    // MARK: Harmony

    private static let harmony = "{# <|start|> <|channel|> <|message|> #}{{ messages[0].content }}"

    @Test func `channels are thoughts, content and calls`() throws {
        let text =
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
            + "<|constrain|>json<|message|>{\"city\": \"York\"}<|call|>"
        let message = read(text, try parser(Self.harmony, after: "<|start|>assistant"))
        #expect(message.reasoning == "Hm.")
        #expect(message.calls == [.init(name: "weather", arguments: "{\"city\": \"York\"}")])
        let final = read(
            "<|channel|>final<|message|>Yes.<|return|>", try parser(Self.harmony, after: "<|start|>assistant"))
        #expect(final.content == "Yes.")
        #expect(read("No channel <b>.", try parser(Self.harmony)).content == "No channel <b>.")
    }

    // MARK: Anything

    @Test(arguments: SampleTemplate.all + [("harmony", harmony)])
    func `whatever comes means the same however it is cut`(name: String, source: String) throws {
        let parser = try parser(source)
        let parts = [
            "<think>", "</think>", "<tool_call>", "</tool_call>", "{\"name\": \"weather\", \"arguments\": {",
            "\"city\": \"a\"", "}", "]", "[",
            "<function=weather>", "<parameter=days>", "\n", "3", "</parameter>", "</function>", "<|call_begin|>",
            "functions.weather:0",
            "<|args|>", "[TOOL_CALLS]", "weather", "[ARGS]", "<arg_key>", "</arg_key>", "<arg_value>", "é", "<", "\"",
            "\\", "(", ")",
            "city='x'", "<|channel>", "thought", "<channel|>", "<|tool_call>call:weather{", "<|\"|>",
            "<|start|>assistant",
            "<|channel|>final", "<|message|>", "<|end|>", " to=functions.weather", "<invoke name=\"weather\">",
            "<city>", "</city>",
        ]
        var random = SeededGenerator(seed: 7)
        for _ in 0..<60 {
            let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in parts.randomElement(using: &random) ?? ""
            }.joined()
            _ = read(text, parser)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `alternatives that refer to one another are not followed without end`() throws {
        let alternatives = Array(repeating: ##"{"$ref": "#/$defs/a"}"##, count: 64).joined(separator: ",")
        let text = ##"""
            [{"type": "function", "function": {"name": "weather", "parameters": {"anyOf": [{"$ref": "#/$defs/a"}],
            "properties": {"days": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [\##(alternatives)]}}}}}]
            """##
        let tools = DeclaredTool.list(try TemplateValue(json: Data(text.utf8)))
        let parser = AnswerParser(try dialect(SampleTemplate.tagged), tools: tools, after: "")
        let call =
            "<tool_call>\n<function=weather>\n<parameter=city>\n1\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
            + "</function>\n</tool_call>"
        let arguments = try #require(message(call.map { String($0) }, parser).calls.first?.arguments)
        #expect(isSameJSON(arguments, #"{"city": 1, "days": 2}"#), "\(arguments)")
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (harmony, "<|start|>assistant", "<|channel|>final<|message|>Yes.<|end|>"), (harmony, "", ""),
            (SampleTemplate.object, "", "Yes."), (SampleTemplate.object, "", "```json"),
        ])
    func `white space without end is read in linear time`(source: String, prompt: String, beginning: String) throws {
        var parser = try parser(source, after: prompt, unwrapsFence: true)
        _ = parser.read(beginning)
        for _ in 0..<1_000_000 { _ = parser.read(" ") }
    }

    @Test func `a long text that may become a call is read in linear time`() throws {
        var parser = try parser(SampleTemplate.object)
        var count = 0
        let text = "<tool_call>{\"arguments\": {\"city\": \"" + String(repeating: "x", count: 200_000)
        for piece in text.utf8 { count += parser.read(String(UnicodeScalar(piece))).count }
        #expect(count == 0)
        #expect(message([""], parser).content.utf8.count == text.utf8.count)
    }
}
