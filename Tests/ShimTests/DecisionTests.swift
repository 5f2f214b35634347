import Foundation
import TestSupport
import Testing

@testable import Shim

/// `POST /v1/decisions`: fields as published.
@Suite struct DecisionTests {
    private func decide(_ fields: String, at path: String = "/v1/decisions") async -> Answer {
        await router(ScriptedLanguageModel(.init())).answer("POST", path, #"{"model": "Test-Q4", \#(fields)}"#)
    }

    private func isNear(_ found: Any?, _ expected: Double) -> Bool {
        (found as? Double).map { abs($0 - expected) < 1e-12 } ?? false
    }

    private static let questions = #"""
        "questions": [
            {"type": "predicate", "name": "late", "instructions": "It is late."},
            {"type": "choice", "name": "which", "instructions": [{"type": "input_text", "text": "Which?"}],
             "choices": [{"value": "true"}, {"value": true, "description": "yes"}, {"value": "other one"}]},
            {"type": "score", "instructions": "How late?", "levels": [{"label": "a"}, {"label": "bbb", "description": "late"}]},
            {"type": "predicate", "name": "hidden", "instructions": "The secret is out."}]
        """#

    @Test(arguments: ["/v1/decisions", "/decisions"])
    func `answers come in the order of the questions, with all published fields`(path: String) async throws {
        let answer = await decide(#""input": "text", "# + Self.questions, at: path)
        #expect(answer.status == 200)
        #expect(answer.json["model"] as? String == "Test-Q4")
        let answers = try #require(answer.json["answers"] as? [[String: Any]])
        #expect(answers.map { $0["type"] as? String } == ["predicate", "choice", "score", "refusal"])
        #expect(answers[0]["name"] as? String == "late" && answers[0].count == 3)
        // The longer an option, the likelier here: True, False.
        #expect(isNear(answers[0]["probability"], 4.0 / 9))
        // `true` and "true" would be the same to the model: strings have quotes there, which make them longer here.
        let shares = try #require(answers[1]["probabilities"] as? [[String: Any]])
        for (share, expected) in zip(shares, [6.0 / 21, 4.0 / 21, 11.0 / 21]) {
            #expect(isNear(share["probability"], expected))
        }
        #expect(shares[0]["value"] as? String == "true" && shares[1]["value"] as? Bool == true)
        #expect(answers[1]["choice"] as? String == "other one" && answers[1].count == 5)
        #expect(answers[2]["name"] is NSNull && answers[2]["score"] as? Double == 0.75 && answers[2].count == 5)
        #expect(answers[2]["confidence"] as? Double == 0.5)
        let levels = try #require(answers[2]["probabilities"] as? [[String: Any]])
        #expect(levels.map { $0["label"] as? String } == ["a", "bbb"])
        #expect(levels.map { $0["value"] as? Int } == [0, 1])
        #expect(answers[3]["name"] as? String == "hidden" && answers[3].count == 2)
        let usage = answer.usage
        #expect(usage["input_tokens"] as? Int == 100 && usage["output_tokens"] as? Int == 0)
        #expect(usage["input_tokens_details"] as? [String: Int] == ["cached_tokens": 64, "cache_write_tokens": 32])
    }

    @Test func `messages, calls, outputs and JSON are input`() async {
        let input = #"""
            "input": [{"role": "developer", "content": "Judge."},
                {"role": "user", "content": [{"type": "input_json", "data": {"order": [1, {"paid": null}]}}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "done"}]},
                {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": "x"},
                {"type": "custom_tool_call_output", "call_id": "d", "output": "y"},
                {"role": "assistant", "phase": "final_answer", "content": [{"type": "output_text", "text": "Yes."}]}],
            """#
        #expect(await decide(input + Self.questions).status == 200)
    }

    private static func question(_ fields: String) -> String {
        #""input": "t", "questions": [{"instructions": "i", \#(fields)}]"#
    }

    private static let invalid: [(fields: String, param: String)] = [
        (#""input": "t", "questions": []"#, "questions"), (#""questions": []"#, "input"),
        (question(#""type": "noul""#), "questions[0].type"), (question(#""type": "choice""#), "questions[0].choices"),
        (question(#""type": "choice", "choices": [{"value": "a"}]"#), "questions[0].choices"),
        (question(#""type": "choice", "choices": [{"value": "a"}, {"value": "a"}]"#), "questions[0].choices[1].value"),
        (question(#""type": "choice", "choices": [{"value": "a"}, {"value": 1}]"#), "questions[0].choices[1].value"),
        (question(#""type": "choice", "choices": [{"value": "a"}, {"value": ""}]"#), "questions[0].choices[1].value"),
        (question(#""type": "score", "levels": [{"label": "a"}]"#), "questions[0].levels"),
        (question(#""type": "score", "levels": [{"label": "a"}, {"label": "a"}]"#), "questions[0].levels[1].label"),
        (#""input": "t", "questions": [{"type": "predicate", "instructions": ""}]"#, "questions[0].instructions"),
        (
            #""input": [{"type": "function_call_output", "call_id": "c", "output": ""}], "# + questions,
            "input[0].call_id"
        ),
        (
            #""input": [{"role": "user", "content": [{"type": "input_json", "data": [1]}]}], "# + questions,
            "input[0].content[0].data"
        ),
        (
            #""input": [{"role": "system", "content": [{"type": "input_json", "data": {}}]}], "# + questions,
            "input[0].content[0].type"
        ),
        (#""input": "t", "rotations": 0, "# + questions, "rotations"),
    ]

    @Test(arguments: invalid)
    func `what is wrong is named`(test: (fields: String, param: String)) async {
        let answer = await decide(test.fields)
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? [String: Any])?["param"] as? String == test.param)
    }

    @Test func `JSON is limited as published`() async {
        let deep = String(repeating: #"{"a":"#, count: 33) + "1" + String(repeating: "}", count: 33)
        for data in [deep, #"{"a": [\#(Array(repeating: "1", count: 10_001).joined(separator: ","))]}"#] {
            let input = #""input": [{"role": "user", "content": [{"type": "input_json", "data": \#(data)}]}], "#
            #expect(await decide(input + Self.questions).status == 400)
        }
    }
}
