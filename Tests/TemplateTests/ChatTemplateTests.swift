import Foundation
import Template
import TestSupport
import Testing

/// The time that the references were made at.
private let noon = Calendar.current.date(
    from: DateComponents(year: 2026, month: 11, day: 20, hour: 12, minute: 0, second: 0))

private func render(_ source: String, _ variables: TemplateObject = [:]) throws -> String {
    try ChatTemplate(source).render(variables, now: noon)
}

private func error(_ source: String, _ variables: TemplateObject = [:]) -> TemplateError? {
    do {
        _ = try render(source, variables)
        return nil
    } catch {
        return error as? TemplateError
    }
}

@Suite struct JinjaReferenceTests {
    @Test func `small templates render as jinja2 renders them, and fail where it fails`() throws {
        let json = try Data(contentsOf: JinjaCases.file)
        let cases = try JSONDecoder().decode(JinjaCases.self, from: json).cases
        guard case .object(let file) = try TemplateValue(json: json), case .object(let variables)? = file["variables"]
        else { throw CocoaError(.fileReadCorruptFile) }
        #expect(cases.count > 800)
        for test in cases {
            do {
                let rendered = try render(test.template, variables)
                #expect(test.rendered.map { Array($0.utf8) } == Array(rendered.utf8), "\(test.template)")
            } catch {
                #expect(test.error != nil, "\(test.template): \(error)")
            }
        }
    }

    @Test(.enabled(if: Fixtures.exist("templates/renders.json"), "needs ../shared/fixtures"))
    func `real templates render byte for byte as transformers renders them`() throws {
        let json = try Data(contentsOf: Fixtures.url("templates/renders.json"))
        let fixtures = try JSONDecoder().decode(TemplateFixtures.self, from: json)
        guard case .object(let file) = try TemplateValue(json: json),
            case .object(let conversations)? = file["conversations"]
        else { throw CocoaError(.fileReadCorruptFile) }
        #expect(fixtures.templates.count == 22)
        for (name, outcomes) in fixtures.templates {
            let source = try String(
                contentsOf: Fixtures.url("templates/\(name).jinja"), encoding: .utf8)
            let template = try ChatTemplate(source)
            for (conversation, expected) in outcomes {
                guard case .object(var variables)? = conversations[conversation] else {
                    throw CocoaError(.fileReadCorruptFile)
                }
                variables["bos_token"] = .string("<s>")
                variables["eos_token"] = .string("</s>")
                do {
                    let rendered = try template.render(variables, now: noon)
                    #expect(
                        expected.rendered.map { Array($0.utf8) } == Array(rendered.utf8), "\(name), \(conversation)")
                } catch {
                    #expect(error.message == expected.error, "\(name), \(conversation): \(error)")
                }
            }
        }
    }
}

@Suite struct ChatTemplateTests {
    @Test func `the fallback writes ChatML`() throws {
        let conversation: TemplateObject = [
            "messages": .array([
                .object(["role": .string("system"), "content": .string("Be brief.")]),
                .object([
                    "role": .string("user"),
                    "content": .array([
                        .object(["type": .string("text"), "text": .string(" a\n")]),
                        .object(["type": .string("image")]),
                        .object(["type": .string("text"), "text": .string("b")]),
                    ]),
                ]),
                .object(["role": .string("assistant"), "content": .none]),
            ]),
            "add_generation_prompt": .bool(true),
        ]
        let expected = """
            <|im_start|>system
            Be brief.<|im_end|>
            <|im_start|>user
             a
            b<|im_end|>
            <|im_start|>assistant
            <|im_end|>
            <|im_start|>assistant

            """
        #expect(try render(ChatTemplate.fallbackSource, conversation) == expected)
    }

    @Test func `a template's refusal is told apart and carries its words`() {
        let refusal = error("line 1\n{% if true %}\n{{ raise_exception('Roles must alternate: ' ~ role) }}{% endif %}")
        #expect(refusal == TemplateError(.raised, line: 3, "Roles must alternate: "))
    }

    @Test func `errors name the line and what was wrong`() {
        #expect(error("a\n\n{{ x.y }}") == TemplateError(.runtime, line: 3, "'x' is undefined"))
        #expect(error("{{ 1 }}\n{% endif %}")?.line == 2)
        #expect(error("\n{% include 'a' %}")?.message.contains("include") == true)
        #expect(error("{{ [].append(1) }}")?.kind == .security)
        #expect(error("{{ 1\n+ 'a' }}")?.message == "unsupported operand types for +: 'int' and 'str'")
    }

    @Test func `without a time given strftime_now tells the current one`() throws {
        let before = Date().timeIntervalSince1970.rounded(.down)
        let seconds = try ChatTemplate("{{ strftime_now('%s') }}").render([:])
        let after = Date().timeIntervalSince1970
        #expect((Double(seconds) ?? 0) >= before && (Double(seconds) ?? 0) <= after)
    }

    @Test func `a variable given as undefined is undefined`() throws {
        #expect(
            try render("{{ x is defined }}{{ y.z is defined }}", ["x": .undefined, "y": .object(["z": .undefined])])
                == "FalseFalse")
    }

    @Test func `one template renders on many threads at once`() async throws {
        let template = try ChatTemplate(
            "{% set ns = namespace(n=0) %}{% for i in range(n) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for n in 0..<50 {
                group.addTask { try template.render(["n": .int(n)]) == String(n * (n - 1) / 2) }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

@Suite struct TemplateJSONTests {
    private func parse(_ json: String) throws -> TemplateValue { try TemplateValue(json: Data(json.utf8)) }

    @Test func `keys keep the order of the text at every level`() throws {
        let json = #"{"z":1,"a":{"y":[{"c":1,"b":2}],"x":{}},"m":[]}"#
        guard case .object(let object) = try parse(json) else { throw CocoaError(.coderReadCorrupt) }
        #expect(try render("{{ o|tojson(separators=(',', ':')) }}", ["o": .object(object)]) == json)
    }

    @Test func `a repeated key takes the last value and the first place`() throws {
        #expect(try render("{{ o }}", ["o": parse(#"{"b":1,"a":2,"b":3}"#)]) == "{'b': 3, 'a': 2}")
    }

    @Test func `keys are told apart by code points, escaped or not`() throws {
        guard case .object(let object) = try parse("{\"\\u00e9\":1,\"e\u{301}\":2,\"a\\\"\\n\":3,\"\u{E9}\":4}") else {
            throw CocoaError(.coderReadCorrupt)
        }
        #expect(object.entries.map { Array($0.key.utf8) } == ["\u{E9}", "e\u{301}", "a\"\n"].map { Array($0.utf8) })
        #expect(object.entries.map(\.value) == [.int(4), .int(2), .int(3)])
    }

    @Test func `whole numbers and fractions are told apart as they were written`() throws {
        let numbers = try parse(
            "[1, 1.0, 0, 0.0, 1e2, -3, 100, 9223372036854775807, -9223372036854775808, 18446744073709551616]")
        #expect(
            numbers
                == .array([
                    .int(1), .double(1), .int(0), .double(0), .double(100), .int(-3), .int(100), .int(.max), .int(.min),
                    .double(18_446_744_073_709_551_616),
                ]))
        #expect(try parse("-1e999") == .double(-.infinity))
    }

    @Test func `what is no JSON or nests too deep is an error`() {
        let depth = TemplateValue.maximumJSONDepth
        func nested(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        #expect(throws: Never.self) { try parse(nested(depth)) }
        for json in ["", "{", "[1 2]", nested(depth + 1), nested(100_000)] {
            #expect(throws: (any Error).self, "\(json.prefix(10))") { try parse(json) }
        }
    }
}
