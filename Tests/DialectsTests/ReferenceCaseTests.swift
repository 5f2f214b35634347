import Dialects
import Foundation
import Template
import TestSupport
import Testing

/// Answers of real models' formats and what they mean: 226 cases on 33 templates.
@Suite struct ReferenceCaseTests {
    /// Lines whose expectation contradicts another line's: the same request and text, thoughts once split off and once
    /// left in the content.
    private static let contradictory: Set<Int> = [113]

    @Test(.enabled(if: Fixtures.exist("tools"), "needs ../shared/fixtures"))
    func `every reference case means what it should, however it is cut`() throws {
        var dialects: [String: Dialect] = [:]
        let lines = try String(contentsOf: Fixtures.url("tools/cases.jsonl"), encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 226)
        for (index, line) in lines.enumerated() where !Self.contradictory.contains(index) {
            guard case .object(let object) = try TemplateValue(json: Data(line.utf8)),
                case .string(let template) = object["template"], case .string(let prompt) = object["generation_prompt"],
                case .string(let input) = object["input"], case .object(let expected) = object["expect"]
            else {
                Issue.record("line \(index) is no case")
                continue
            }
            if dialects[template] == nil {
                let url = Fixtures.url("tools/templates/\(template).jinja")
                dialects[template] = try dialect(String(contentsOf: url, encoding: .utf8))
            }
            let parser = AnswerParser(
                try #require(dialects[template]), tools: DeclaredTool.list(object["tools"]), after: prompt,
                unwrapsFence: object["json_schema"] != nil)
            check(read(input, parser), expected, "line \(index), \(template)")
        }
    }

    private func check(_ message: AnswerMessage, _ expected: TemplateObject, _ place: Comment) {
        func trimmed(_ text: String) -> TemplateValue { .string(text.trimmingCharacters(in: .whitespacesAndNewlines)) }
        func same(_ text: String, _ key: String) {
            guard case .string(let value) = expected[key] else { return }
            #expect(trimmed(text) == trimmed(value), place)
        }
        same(message.content, "content")
        same(message.reasoning, "reasoning_content")
        guard case .array(let calls) = expected["tool_calls"] else { return }
        #expect(message.calls.count == calls.count, place)
        for (found, call) in zip(message.calls, calls) {
            guard case .object(let call) = call, case .string(let arguments) = call["arguments"] else { continue }
            #expect(.string(found.name) == call["name"], place)
            #expect(isSameJSON(found.arguments, arguments), place)
            if case .string(let id) = call["id"] { #expect(found.id == id, place) }
        }
    }
}
