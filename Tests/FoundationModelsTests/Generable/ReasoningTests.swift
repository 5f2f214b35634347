import Dialects
import Foundation
import TestSupport
import Testing
import Tokenizer

@testable import FoundationModels
@testable import LocalLLM

/// What models think before they answer and before they call.
@Suite struct ReasoningTests {
    struct Adder: Tool {
        @Generable struct Arguments { var a: Int }
        let name = "add"
        let description = "Adds one."
        func call(arguments: Arguments) async throws -> String { "\(arguments.a + 1)" }
    }

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func model(
        _ answer: String, afterTool other: String = "", guardrails: SystemLanguageModel.Guardrails = .default
    ) throws -> SystemLanguageModel {
        SystemLanguageModel(
            contentsOf: try ScriptedModel(answer, afterTool: other).write(in: directory),
            configuration: .init(threads: 1), guardrails: guardrails)
    }

    @Test func `thoughts come apart from the text, and enter the transcript before it`() async throws {
        let session = LanguageModelSession(model: try model("<think>\nHm\n</think>\n\nYes."))
        var snapshots: [LanguageModelSession.ResponseStream<String>.Snapshot] = []
        for try await snapshot in session.streamResponse(to: "go", options: .greedy(nil)) {
            snapshots.append(snapshot)
        }
        let last = try #require(snapshots.last)
        #expect(last.reasoning == "Hm" && last.content == "Yes.")
        #expect(session.transcript.map(\.text) == ["go", "Hm", "Yes."])
        guard case .reasoning(let reasoning) = session.transcript[1] else { return #expect(Bool(false)) }
        #expect(reasoning.segments.text == "Hm")
        let stored = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(session.transcript))
        #expect(stored == session.transcript)
    }

    @Test func `what a model thinks and says before a call stands before the call when it reads the result`()
        async throws
    {
        let call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":1}}\n</tool_call>"
        let model = try model(
            "<think>\nHm\n</think>\n\nLet me see.\n" + call, afterTool: "<think>\nAh\n</think>\n\nTwo.")
        let session = LanguageModelSession(model: model, tools: [Adder()])
        var last: LanguageModelSession.ResponseStream<String>.Snapshot?
        for try await snapshot in session.streamResponse(to: "go", options: .greedy(nil)) { last = snapshot }
        #expect(last?.content == "Two." && last?.reasoning == "Hm\n\nAh")
        let kinds = session.transcript.dropFirst().map { String(describing: $0).prefix { $0 != " " } }
        #expect(
            kinds == [
                "(Prompt)", "(Reasoning)", "(Response)", "(ToolCalls)", "(ToolOutput)", "(Reasoning)", "(Response)",
            ])
        #expect(session.transcript[3].text.hasPrefix("Let me see."))
        let window = ConversationWindow(session.transcript, tools: try SessionTools([Adder()]).offer(nil))
        let text = try await window.prompt(for: model.host.model()).text
        #expect(text.contains("assistant\n<think>\nHm\n</think>Let me see."))
        #expect(text.contains("{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"))
        #expect(text.contains("assistant\n<think>\nAh\n</think>Two.<|im_end|>"))
    }

    @Test func `guardrails look at thoughts, too`() async throws {
        let model = try model(
            "<think>\nThe secret is out\n</think>\n\nYes.", guardrails: .init([WordListGuardrail(["secret"])]))
        let session = LanguageModelSession(model: model)
        let error = await #expect(throws: LanguageModelError.self) {
            try await session.respond(to: "go", options: .greedy(nil))
        }
        guard case .guardrailViolation = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(session.transcript.isEmpty)
    }

    @Test func `a value has the thoughts beside it`() async throws {
        let session = LanguageModelSession(model: try model("<think>\nHm\n</think>\n\ntrue"))
        var last: LanguageModelSession.ResponseStream<Bool>.Snapshot?
        for try await snapshot in session.streamResponse(to: "go", generating: Bool.self, options: .greedy(nil)) {
            last = snapshot
        }
        #expect(last?.content == true && last?.reasoning == "Hm")
    }

    @Test func `a schema in words is a schema of the library's`() throws {
        let text = #"{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["b"]}"#
        #expect(try GenerationSchema(jsonSchema: text).jsonSchema == text)
        #expect(throws: GeneratedContent.ParsingError.self) { try GenerationSchema(jsonSchema: #"{"type": "#) }
    }
}
