import Testing

@testable import FoundationModels
@testable import LocalLLM

/// What a model of this machine does without a session.
@Suite(.timeLimit(.minutes(2))) struct CompletionTests {
    @Test func `a text is continued without the template, and its last piece has the usage`() async throws {
        let model = try tinyModel(context: 256)
        var text = ""
        var usages: [LocalLLM.Usage] = []
        for try await piece in model.complete("Once", options: .greedy(20)) {
            text += piece.text
            if let usage = piece.usage { usages.append(usage) }
        }
        #expect(!text.isEmpty)
        let prompt = try await model.host.model().tokens(of: "Once").count
        #expect(usages.map(\.promptTokens) == [prompt] && usages.map(\.completionTokens) == [20])
    }

    @Test func `a guardrail stops a text that is to be continued`() async throws {
        let model = SystemLanguageModel(
            contentsOf: bundledModel, guardrails: .init([WordListGuardrail(["forbidden"])]))
        await #expect(throws: LocalLLM.GuardrailViolation.self) {
            for try await _ in model.complete("A forbidden text") {}
        }
    }

    @Test func `a decision tells the probability of each answer, or that a guardrail refused it`() async throws {
        let model = SystemLanguageModel(
            contentsOf: bundledModel, guardrails: .init([WordListGuardrail(["forbidden"])]))
        let questions: [DecisionQuestion] = [
            .choice("Which animal is it?", of: ["cat", "dog", "horse"]), .predicate("It is forbidden."),
        ]
        let decisions = try await model.decide(questions, about: [.user("The dog barks.")])
        guard case .choice(_, let probabilities) = decisions.answers[0] else {
            return #expect(Bool(false), "expected a choice, found \(decisions.answers[0])")
        }
        #expect(probabilities.count == 3 && abs(probabilities.reduce(0, +) - 1) < 1e-9)
        #expect(decisions.answers[1] == .refusal)
    }
}
