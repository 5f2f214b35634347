import Foundation
import TestSupport
import Testing

@testable import Engine
@testable import LocalLLM

/// Decisions: the probabilities are those that the model gives each option's text, computed one by one.
@Suite struct DecisionTests {
    private static func model() async throws -> LocalModel {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../models").standardized
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".gguf") }
        return try await LocalModel.load(from: folder.appending(path: try #require(names.first)))
    }

    private static let text =
        "The kitchen is closed today, since the oven is broken. Cold dishes are served in the garden."
    private static let questions: [DecisionQuestion] = [
        .predicate("The oven works."),
        .choice(
            "Where are dishes served?",
            of: ["in the garden", "in the garden house", .init("inside", description: "in a room")]),
        .score("How bad is it?", levels: ["fine", "bad", "very bad"]),
        .predicate(String(repeating: "The oven is broken, and the oven is not broken. ", count: 40)),
    ]

    /// The probabilities of a question's options, each from a reading of its whole text.
    private func oneByOne(_ question: DecisionQuestion, _ model: LocalModel) async throws -> [Double] {
        let prompt = try DecisionPrompt(hasOptions: question.kind.hasOptions, about: [.user(Self.text)], model)
        let shared = try model.prompt(ofQuoted: prompt.before, images: [])
        let order = Array(question.options.indices)
        let (whole, options) = try prompt.branch(
            prompt.text(question, order: order, try model.tokenizer), question.options, after: shared, images: [], model
        )
        var logprobs: [Double] = []
        for option in options {
            logprobs.append(
                try await model.logprobs(of: whole.tokens + option, top: 0).suffix(option.count)
                    .reduce(0) { $0 + $1.logprob })
        }
        // An option that begins another one is meant only where the other is not.
        var shares = logprobs.map { exp($0) }
        for (index, option) in options.enumerated() {
            for (other, longer) in options.enumerated() where longer.count > option.count && longer.starts(with: option)
            {
                shares[index] -= exp(logprobs[other])
            }
        }
        return shares.map { $0 / shares.reduce(0, +) }
    }

    private func probabilities(_ answer: DecisionAnswer) -> [Double] {
        switch answer {
        case .predicate(let probability): [probability, 1 - probability]
        case .choice(_, let probabilities), .score(_, let probabilities): probabilities
        case .refusal: []
        }
    }

    @Test func `probabilities are those of reading each option's text`() async throws {
        let model = try await Self.model()
        let decisions = try await model.decide(Self.questions, about: Self.text)
        for (question, answer) in zip(Self.questions, decisions.answers) {
            let expected = try await oneByOne(question, model)
            for (found, expected) in zip(probabilities(answer), expected) { #expect(abs(found - expected) < 1e-9) }
        }
    }

    @Test func `an answer does not depend on the other questions, and the text is computed once`() async throws {
        let model = try await Self.model()
        let statement = try await model.decide([Self.questions[0]], about: Self.text)
        #expect(statement.cachedTokens == 0 && statement.newlyCachedTokens > 0)
        let together = try await model.decide(Self.questions, about: Self.text)
        #expect(together.cachedTokens >= statement.newlyCachedTokens)
        for (question, answer) in zip(Self.questions, together.answers) {
            let alone = try await model.decide([question], about: Self.text)
            #expect(alone.answers == [answer])
            #expect(alone.cachedTokens > 0 && alone.newlyCachedTokens == 0)
        }
        let many = try await model.decide((0..<100).map { _ in Self.questions[0] }, about: Self.text)
        #expect(many.answers.allSatisfy { $0 == together.answers[0] })
    }

    @Test func `rotations average the orders of a choice`() async throws {
        let model = try await Self.model()
        let options = Self.questions[1].options
        var sums = [0.0, 0, 0]
        for first in options.indices {
            let order = Array(options[first...] + options[..<first])
            let answer = try await model.decide([.choice("Where are dishes served?", of: order)], about: Self.text)
                .answers[0]
            for (index, probability) in probabilities(answer).enumerated() {
                sums[(index + first) % 3] += probability / 3
            }
        }
        var rotated = DecisionOptions()
        rotated.rotations = 3
        let answer = try await model.decide([Self.questions[1]], about: Self.text, options: rotated).answers[0]
        for (found, expected) in zip(probabilities(answer), sums) { #expect(abs(found - expected) < 1e-12) }
    }

    @Test func `answers say what was asked`() {
        #expect(DecisionAnswer(.predicate, [0.2, 0.8]) == .predicate(probability: 0.2))
        #expect(
            DecisionAnswer(.choice(["a", "b", "c"]), [0.2, 0.5, 0.3])
                == .choice(index: 1, probabilities: [0.2, 0.5, 0.3]))
        #expect(DecisionAnswer(.choice(["a", "b"]), [0.5, 0.5]) == .choice(index: 0, probabilities: [0.5, 0.5]))
        #expect(
            DecisionAnswer(.score(["a", "b", "c"]), [0.25, 0.25, 0.5])
                == .score(1.25, probabilities: [0.25, 0.25, 0.5]))
        #expect(DecisionAnswer(.score(["a", "b"]), [1, 0]).confidence == 1)
        #expect(DecisionAnswer(.choice(["a", "b", "c", "d"]), [0.25, 0.25, 0.25, 0.25]).confidence == 0)
        #expect(DecisionAnswer.predicate(probability: 0.25).confidence == 0.5)
    }

    @Test func `an option that begins others has what they leave`() {
        let shares = LocalModel.shares([log(0.6), log(0.2), log(0.1), log(0.4)], [[1], [1, 2], [1, 2, 3], [4]])
        for (found, expected) in zip(shares, [0.4, 0.1, 0.1, 0.4]) { #expect(abs(found - expected) < 1e-12) }
        // However unlikely all of them are.
        #expect(LocalModel.shares([-2000, -2000 + log(3)], [[1], [2]]).map { ($0 * 100).rounded() } == [25, 75])
    }

    @Test func `a guardrail refuses questions, or all of them`() async throws {
        let model = try await Self.model()
        var options = DecisionOptions()
        options.guardrail = WordListGuardrail(["weapon"])
        let some = try await model.decide(
            [Self.questions[0], .predicate("It is about a weapon."), Self.questions[2]], about: Self.text,
            options: options)
        #expect(some.answers.map { $0 == .refusal } == [false, true, false])
        #expect(
            try await model.decide([Self.questions[0], Self.questions[2]], about: Self.text).answers == [
                some.answers[0], some.answers[2],
            ])
        #expect(try await model.decide([Self.questions[0]], about: "A weapon.", options: options).answers == [.refusal])
    }

    @Test func `conversations with calls are asked about, whoever spoke last`() async throws {
        let model = try await Self.model()
        var call = ChatMessage.assistant("")
        call.toolCalls = [.init(id: "c1", name: "open", arguments: #"{"door": 1}"#)]
        var result = ChatMessage(role: .tool, content: "The door is open.")
        result.toolCallID = "c1"
        for messages in [
            [ChatMessage.user("Open it."), call, result], [.user("Open it."), .assistant("No.")],
            [.system("Be brief.")],
        ] {
            let answer = try await model.decide([.predicate("The door is open.")], about: messages).answers[0]
            #expect((0...1).contains(probabilities(answer)[0]))
        }
    }

    @Test func `what cannot be asked is named`() async throws {
        let model = try await Self.model()
        for (question, text) in [
            (DecisionQuestion.choice("Which?", of: ["a"]), "2 options"),
            (.choice("Which?", of: ["a", ""]), "expected a text"),
            (.choice("Which?", of: ["a", "b", "a"]), "are the same"),
        ] {
            let error = await #expect(throws: LocalModelError.self) {
                try await model.decide([question], about: Self.text)
            }
            #expect("\(try #require(error))".contains(text))
        }
        await #expect(throws: LocalModelError.self) {
            try await model.decide([.predicate(String(repeating: "word ", count: 9000))], about: Self.text)
        }
    }

    @Test func `cancelling frees the state`() async throws {
        let model = try await Self.model()
        let questions = (0..<400).map {
            DecisionQuestion.choice("Which \($0)?", of: (0..<40).map { .init("the number \($0)") })
        }
        let task = Task { try await model.decide(questions, about: Self.text) }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        // Pages of the text stay in the prefix cache.
        for _ in 0..<1000 where model.activity.stateBytes > 4 << 20 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(model.activity.stateBytes <= 4 << 20)
    }
}
