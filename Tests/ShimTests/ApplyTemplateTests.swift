import Foundation
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// `/apply-template` with the templates of real models: what llama.cpp's tests of the endpoint check of its prompts, with
/// tools, with an empty list of them, and without.
@Suite(.enabled(if: Fixtures.exist("tools/templates"), "needs ../shared/fixtures"), .timeLimit(.minutes(5)))
struct ApplyTemplateTests {
    enum Tools: CaseIterable { case missing, none, one }

    /// The prompt of a question, rendered with a template of the fixtures.
    private func prompt(_ template: String, _ tools: Tools, _ more: [String: Any] = [:]) async throws -> String {
        let folder = Fixtures.exist("templates/\(template).jinja") ? "templates" : "tools/templates"
        let source = try String(contentsOf: Fixtures.url("\(folder)/\(template).jinja"), encoding: .utf8)
        var body: [String: Any] = [
            "messages": [["role": "user", "content": "Which day is it?"]], "chat_template": source,
        ]
        let tool: [String: Any] = [
            "type": "function",
            "function": [
                "name": "print_sum", "description": "Prints a sum.",
                "parameters": ["type": "object", "properties": ["of": ["type": "string"]], "required": ["of"]],
            ],
        ]
        switch tools {
        case .missing: break
        case .none: body["tools"] = []
        case .one: body["tools"] = [tool]
        }
        for (key, value) in more { body[key] = value }
        let json = try JSONSerialization.data(withJSONObject: body, options: .sortedKeys)
        let answer = await router(try await bundledModel()).answer(
            "POST", "/apply-template", String(decoding: json, as: UTF8.self))
        #expect(answer.status == 200, "\(template): \(answer.text)")
        let prompt = try #require(answer.json["prompt"] as? String)
        #expect(prompt.contains("print_sum") == (tools == .one), "\(template)")
        return prompt
    }

    static let ends: [(template: String, thinks: Bool, end: String)] = [
        ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", true, "<think>\n"),
        ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", false, "<think>\n</think>"),
        ("Qwen-Qwen3-0.6B", true, "<|im_start|>assistant\n"),
        ("Qwen-Qwen3-0.6B", false, "<|im_start|>assistant\n<think>\n\n</think>\n\n"),
        ("Qwen-QwQ-32B", true, "<|im_start|>assistant\n<think>\n"),
        ("Qwen-QwQ-32B", false, "<|im_start|>assistant\n<think>\n</think>"),
        ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", true, "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"),
        (
            "CohereForAI-c4ai-command-r7b-12-2024-tool_use", false,
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>"
        ),
    ]

    @Test(arguments: ends.indices, Tools.allCases)
    func `the prompt ends with a thought that is open, closed or not there`(index: Int, tools: Tools) async throws {
        let (template, thinks, end) = Self.ends[index]
        let prompt = try await prompt(template, tools, ["chat_template_kwargs": ["enable_thinking": thinks]])
        #expect(prompt.hasSuffix(end), "\(template): \(prompt.suffix(100))")
        let byEffort = try await self.prompt(template, tools, ["reasoning_effort": thinks ? "medium" : "none"])
        #expect(byEffort == prompt)
    }

    @Test(
        arguments: [
            ("meta-llama-Llama-3.3-70B-Instruct", "dd MMM yyyy"),
            ("fireworks-ai-llama-3-firefunction-v2", "MMM dd yyyy"),
        ], Tools.allCases)
    func `a template that asks for today's date gets it`(of: (template: String, format: String), tools: Tools)
        async throws
    {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = of.format
        let days = [Date().addingTimeInterval(-60), Date().addingTimeInterval(60)].map(format.string)
        let prompt = try await prompt(of.template, tools)
        #expect(days.contains(where: prompt.contains), "\(prompt)")
    }

    @Test func `a date of the request stays`() async throws {
        let prompt = try await prompt(
            "meta-llama-Llama-3.3-70B-Instruct", .missing, ["chat_template_kwargs": ["date_string": "01 Jan 2000"]])
        #expect(prompt.contains("Today Date: 01 Jan 2000\n"))
    }

    @Test(arguments: [true, false])
    func `the start of an answer is written if it is asked for`(isAsked: Bool) async throws {
        let prompt = try await prompt(
            "meta-llama-Llama-3.3-70B-Instruct", .missing, ["add_generation_prompt": isAsked])
        #expect(prompt.contains("<|start_header_id|>assistant<|end_header_id|>") == isAsked)
    }
}
