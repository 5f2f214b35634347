import Foundation
import TestSupport
import Testing

@testable import FoundationModels
@testable import LocalLLM

/// Images in the prompts of sessions.
@Suite(.timeLimit(.minutes(5))) struct AttachmentTests {
    private let directory: TemporaryDirectory
    private let model: SystemLanguageModel

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.context = 512
        model = SystemLanguageModel(
            contentsOf: try tiny.write(in: directory),
            configuration: .init(threads: 1, imageEncoder: try TinyVision().write(in: directory)))
    }

    private func answer(_ session: LanguageModelSession, _ image: Data) async throws -> String {
        try await session.respond(options: .greedy(32)) {
            "What is this?"
            Attachment(imageData: image)
        }.content
    }

    @Test func `the answer depends on the image, and the transcript keeps it`() async throws {
        let session = LanguageModelSession(model: model)
        let first = try await answer(session, TestImages.first)
        #expect(try await answer(LanguageModelSession(model: model), TestImages.first) == first)
        #expect(try await answer(LanguageModelSession(model: model), TestImages.second) != first)
        guard case .prompt(let prompt)? = session.transcript.first else { return #expect(Bool(false), "no prompt") }
        #expect(prompt.segments.map(\.description) == ["What is this?", "(image)"])
        #expect(try prompt.segments[1].image?.data == TestImages.first)
    }

    @Test func `a stored transcript has its images, and the next turn sees them`() async throws {
        let session = LanguageModelSession(model: model)
        _ = try await answer(session, TestImages.first)
        let stored = try JSONEncoder().encode(session.transcript)
        let transcript = try JSONDecoder().decode(Transcript.self, from: stored)
        #expect(transcript == session.transcript)
        let other = LanguageModelSession(model: model, transcript: transcript)
        let next = try await session.respond(to: "And its colour?", options: .greedy(32)).content
        #expect(try await other.respond(to: "And its colour?", options: .greedy(32)).content == next)
        // The same conversation about another image.
        let blind = LanguageModelSession(model: model)
        _ = try await answer(blind, TestImages.second)
        #expect(try await blind.respond(to: "And its colour?", options: .greedy(32)).content != next)
    }

    @Test func `a file is read when the prompt is answered, and kept`() async throws {
        let file = URL(filePath: try directory.write(Array(TestImages.first), as: "a.png"))
        let prompt = Prompt {
            "What is this?"
            Attachment(imageURL: file).label("first")
        }
        let session = LanguageModelSession(model: model)
        let answer = try await session.respond(to: prompt, options: .greedy(32)).content
        try FileManager.default.removeItem(at: file)
        #expect(try await session.respond(to: "And?", options: .greedy(32)).content != "")
        guard case .prompt(let asked)? = session.transcript.first else { return #expect(Bool(false), "no prompt") }
        #expect(asked.segments[1].image == Transcript.ImageAttachment(url: file, contents: TestImages.first))
        #expect(asked.segments[1].description == "(image first)" && answer != "")
        let error = await #expect(throws: SystemLanguageModel.Error.self) {
            try await LanguageModelSession(model: model).respond(to: prompt)
        }
        #expect("\(try #require(error))".contains("a.png: no such file"))
    }

    @Test func `a model without an image encoder says so`() async throws {
        let session = LanguageModelSession(model: try tinyModel(context: 512))
        let error = await #expect(throws: SystemLanguageModel.Error.self) {
            try await answer(session, TestImages.first)
        }
        #expect("\(try #require(error))".contains("without an image encoder"))
    }

    @Test func `what is no image is refused`() async throws {
        let error = await #expect(throws: SystemLanguageModel.Error.self) {
            try await answer(LanguageModelSession(model: model), Data("BM89a".utf8))
        }
        #expect("\(try #require(error))".contains("not a PNG, JPEG, WebP or GIF"))
    }

    @Test func `an image's tokens are counted`() async throws {
        let text = try await model.tokenCount(for: Prompt("What is this?"))
        let both = try await model.tokenCount(
            for: Prompt {
                "What is this?"
                Attachment(imageData: TestImages.first)
            })
        #expect(both == text + TinyVision().tokens)
    }
}
