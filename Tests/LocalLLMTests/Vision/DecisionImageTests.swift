import Foundation
import TestSupport
import Testing

@testable import Engine
@testable import LocalLLM

/// Decisions about images: probabilities are those of reading the whole prompt with its images.
@Suite struct DecisionImageTests {
    /// The probabilities of a question's options, each from the logits of the whole prompt, in double precision.
    private func oneByOne(
        _ question: DecisionQuestion, about messages: [ChatMessage], _ model: LocalModel
    ) async throws -> [Double] {
        let prompt = try DecisionPrompt(hasOptions: question.kind.hasOptions, about: messages, model)
        let shared = try model.prompt(ofQuoted: prompt.before, images: try await model.read(messages))
        let images = question.images.isEmpty ? [] : try await model.read([question.message])
        let (whole, options) = try prompt.branch(
            prompt.text(question, order: Array(question.options.indices), try model.tokenizer), question.options,
            after: shared, images: images, model)
        #expect(whole.tokens.contains { $0 < 0 })
        var logprobs: [Double] = []
        for option in options {
            let logits = try await model.logits(of: whole + option)
            let width = model.info.vocabularySize
            // The rows after the last token of the prompt and after all tokens of the option but the last; images have none.
            let rows = logits.suffix((option.count + 1) * width).dropLast(width).map { Double($0) }
            logprobs.append(
                option.enumerated().reduce(0) { sum, next in
                    let row = rows[next.offset * width..<(next.offset + 1) * width]
                    let most = row.max() ?? 0
                    return sum + row[row.startIndex + Int(next.element)] - most
                        - log(row.reduce(0) { $0 + exp($1 - most) })
                })
        }
        return LocalModel.shares(logprobs, options)
    }

    private func probabilities(_ answer: DecisionAnswer) -> [Double] {
        switch answer {
        case .predicate(let probability): [probability, 1 - probability]
        case .choice(_, let probabilities), .score(_, let probabilities): probabilities
        case .refusal: []
        }
    }

    private func check(_ model: LocalModel, _ first: Data, _ second: Data, _ name: String) async throws {
        var compared = DecisionQuestion.choice("\(ChatMessage.imagePlaceholder)Is it this?", of: ["yes", "no", "none"])
        compared.images = [second]
        let questions: [DecisionQuestion] = [
            .predicate("It is dark."), .choice("What is it?", of: ["a wave", "a board", "a wave on a board"]), compared,
        ]
        let input = [ChatMessage.user("Look.", images: [first])]
        let decisions = try await model.decide(questions, about: input)
        for (question, answer) in zip(questions, decisions.answers) {
            let expected = try await oneByOne(question, about: input, model)
            for (found, expected) in zip(probabilities(answer), expected) {
                #expect(abs(found - expected) < 1e-4, "\(name), \(question.instructions): \(found), \(expected)")
            }
        }
        // Again: the image is known, its pages are cached, and nobody can tell.
        let encoded = model.encodedImages
        let again = try await model.decide(questions, about: input)
        #expect(again.answers == decisions.answers && model.encodedImages == encoded, "\(name)")
        // The images count, but for the input's where the layers' windows do not reach back to it.
        let other = try await model.decide(questions, about: [.user("Look.", images: [second])])
        #expect((other.answers[0] == decisions.answers[0]) == (name == "gemma3"), "\(name)")
        compared.images = [first]
        #expect(try await model.decide([compared], about: input).answers[0] != decisions.answers[2], "\(name)")
    }

    @Test func `probabilities are those of reading the prompt with its images`() async throws {
        let directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.context = 2048
        let model = try await LocalModel.load(
            from: try tiny.write(in: directory),
            configuration: .init(threads: 1, imageEncoder: try TinyVision().write(in: directory)))
        try await check(model, TestImages.first, TestImages.second, "tiny")
    }

    @Test(
        .enabled(if: Fixtures.exist("more/vision-gemma3.json"), "reference data is not here"),
        arguments: VisionFixtureTests.names)
    func `so it is with every kind of vision model`(name: String) async throws {
        func image(_ name: String) throws -> Data { try Data(contentsOf: Fixtures.url("more/images/\(name).png")) }
        let model = try await LocalModel.load(
            from: Fixtures.url("more/vision-\(name).gguf"),
            configuration: .init(threads: 1, imageEncoder: Fixtures.url("more/vision-\(name).mmproj.gguf")))
        try await check(model, image("waves-150x130"), image("checker-100x70"), name)
    }
}
