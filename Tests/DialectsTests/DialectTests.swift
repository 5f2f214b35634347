import Dialects
import Foundation
import Template
import TestSupport
import Testing

/// What is read off a template reads back what that template writes.
@Suite struct DialectTests {
    private struct Given {
        var content = ""
        var thoughts = ""
        var calls: [(name: String, arguments: String)] = []
    }

    private static let arguments = """
        {"city": "New \\"York\\"\\n</b> é", "days": 3, "hourly": true, "tags": ["a", "b"], "at": null, "place": {"x": 1.5}}
        """

    /// Some of the templates write Python's literals, or strings with quotes of their own, but lists and objects as JSON.
    private static func arguments(of template: String) -> String {
        switch template {
        case "pythonic": #"{"city": "York", "days": 3, "hourly": true}"#
        case "quoted": #"{"city": "New \"York\"\n</b>", "days": 3, "hourly": true, "at": null}"#
        default: arguments
        }
    }

    /// The assistant's turn of a message as the template writes it, and the prompt before it.
    private func render(_ given: Given, _ source: String, _ history: Dialect.History) throws -> (
        prompt: String, turn: String
    ) {
        let template = try ChatTemplate(source)
        var message: TemplateObject = ["role": .string("assistant"), "content": .string(given.content)]
        if !given.thoughts.isEmpty, let key = history.reasoningKey { message[key] = .string(given.thoughts) }
        if !given.calls.isEmpty {
            message["tool_calls"] = .array(
                try given.calls.enumerated().map { index, call in
                    .object([
                        "id": .string("call0000\(index)"), "type": .string("function"),
                        "function": .object([
                            "name": .string(call.name), "arguments": try TemplateValue(json: Data(call.arguments.utf8)),
                        ]),
                    ])
                })
        }
        let user: TemplateValue = .object(["role": .string("user"), "content": .string("Hello")])
        let prompt = try template.render(["messages": .array([user]), "add_generation_prompt": .bool(true)])
        let whole = try template.render(["messages": .array([user, .object(message)])])
        #expect(whole.hasPrefix(prompt))
        return (prompt, String(whole.dropFirst(prompt.count)))
    }

    private func check(_ given: Given, _ source: String) throws {
        let dialect = try dialect(source)
        let (prompt, turn) = try render(given, source, dialect.history)
        let message = read(turn, AnswerParser(dialect, tools: DeclaredTool.list(weatherTools), after: prompt))
        #expect(message.content.trimmingCharacters(in: .whitespacesAndNewlines) == given.content)
        #expect(message.reasoning == given.thoughts)
        #expect(message.calls.map(\.name) == given.calls.map(\.name))
        for (found, expected) in zip(message.calls, given.calls) {
            #expect(isSameJSON(found.arguments, expected.arguments), "\(found.arguments) for \(expected.arguments)")
        }
    }

    @Test(arguments: SampleTemplate.all) func `a message reads back as it was written`(
        name: String, source: String
    ) throws {
        let arguments = Self.arguments(of: name)
        try check(Given(content: "Hi.\nThere <b>you</b> are: {1}."), source)
        try check(Given(content: "Hi.", thoughts: "First,\nthen."), source)
        try check(Given(calls: [("weather", arguments)]), source)
        try check(Given(thoughts: "Hm.", calls: [("weather_now", "{}")]), source)
    }

    private static let severalCalls = SampleTemplate.all.filter { $0.name != "bareObject" }

    @Test(arguments: severalCalls)
    func `content and several calls read back as they were written`(name: String, source: String) throws {
        let arguments = Self.arguments(of: name)
        try check(
            Given(content: "Look:", thoughts: "Hm.", calls: [("weather", arguments), ("weather_now", "{}")]), source)
    }

    @Test func `identifiers are the model's own where it writes them`() throws {
        let calls = [("weather", "{}"), ("weather_now", "{}")]
        for (source, ids) in [
            (SampleTemplate.array, ["call00000", "call00001"]),
            (SampleTemplate.headerWithID, ["call00000", "call00001"]),
            (SampleTemplate.header, ["functions.weather:0", "functions.weather_now:1"]),
        ] {
            let dialect = try dialect(source)
            let (prompt, turn) = try render(Given(calls: calls), source, dialect.history)
            let message = read(turn, AnswerParser(dialect, tools: DeclaredTool.list(weatherTools), after: prompt))
            #expect(message.calls.map(\.id) == ids)
        }
    }

    @Test func `of a template that never stops nothing is read`() throws {
        let source = "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}"
        #expect(try dialect(source).calls == dialect("{{ raise_exception('no') }}").calls)
    }

    @Test func `arguments are text where the template prints them as they are`() throws {
        let source = SampleTemplate.make(
            "{%- for c in message.tool_calls -%}{{- '<f=' + c.function.name + '>' + c.function.arguments + '</f>' -}}{%- endfor -%}"
        )
        #expect(try dialect(source).history.argumentsAsText)
        #expect(try !dialect(SampleTemplate.object).history.argumentsAsText)
    }

    @Test func `calls in the words of the instructions are read where a template shows calls but no tools`() throws {
        let dialect = try dialect(
            """
            {% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}[CALL]\
            {{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}[/CALL]{% endfor %};{% endfor %}\
            {% if add_generation_prompt %}assistant: {% endif %}
            """)
        #expect(dialect.history.showsCalls && !dialect.history.showsTools)
        let calls = [
            "[CALL]weather[ARGS]{\"city\": \"York\"}[/CALL]",
            dialect.callBeginning(name: "weather", after: "assistant: ") + "{\"city\": \"York\"}}\n</tool_call>",
        ]
        for text in calls {
            let message = read(
                text, AnswerParser(dialect, tools: DeclaredTool.list(weatherTools), after: "assistant: "))
            #expect(message.calls.map(\.name) == ["weather"], "\(text)")
            #expect(message.content.isEmpty)
        }
    }
}
