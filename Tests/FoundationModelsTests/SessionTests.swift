import Dialects
import Foundation
import TestSupport
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite(.timeLimit(.minutes(5))) struct SessionTests {
    private let hearth = SystemLanguageModel(contentsOf: bundledModel)

    @Test func `an answer and its prompt enter the transcript`() async throws {
        let session = LanguageModelSession(model: hearth, instructions: "Be brief.")
        let response = try await session.respond(to: "What is the capital of France?", options: .greedy(30))
        #expect(response.content.contains("Paris"))
        #expect(session.transcript.texts == ["Be brief.", "What is the capital of France?", response.content])
        #expect(Array(response.transcriptEntries) == Array(session.transcript.dropFirst()))
        #expect(!session.isResponding)
    }

    @Test func `the conversation so far is part of the question`() async throws {
        let session = LanguageModelSession(model: hearth)
        try await session.respond(to: "My name is Anna.", options: .greedy(40))
        let response = try await session.respond(to: "What is my name?", options: .greedy(40))
        #expect(response.content.contains("Anna"))
    }

    @Test func `a session goes on with a stored transcript, and answers as the first would`() async throws {
        let first = LanguageModelSession(model: hearth, instructions: "Be brief.")
        try await first.respond(to: "My name is Anna.", options: .greedy(40))
        let stored = try JSONEncoder().encode(first.transcript)
        let transcript = try JSONDecoder().decode(Transcript.self, from: stored)
        #expect(transcript == first.transcript)

        let second = LanguageModelSession(model: SystemLanguageModel(contentsOf: bundledModel), transcript: transcript)
        let one = try await first.respond(to: "What is my name?", options: .greedy(40))
        let other = try await second.respond(to: "What is my name?", options: .greedy(40))
        #expect(one.content == other.content)
    }

    @Test func `snapshots grow, and the last is the whole`() async throws {
        let session = LanguageModelSession(model: hearth)
        let stream = session.streamResponse(to: "Tell me a story.", options: .greedy(60))
        var snapshots: [String] = []
        for try await snapshot in stream { snapshots.append(snapshot.content) }
        #expect(snapshots.count > 1)
        for (one, next) in zip(snapshots, snapshots.dropFirst()) {
            #expect(next.utf8.count > one.utf8.count && next.utf8.starts(with: one.utf8))
        }
        #expect(try await stream.collect().content == snapshots.last)
        #expect(session.transcript.last?.text == snapshots.last)
    }

    @Test func `a second request at the same time is refused, and the first is not disturbed`() async throws {
        let session = LanguageModelSession(model: try tinyModel(context: 4096))
        let stream = session.streamResponse(to: "go", options: .greedy(300))
        #expect(session.isResponding)
        await #expect(throws: LanguageModelSession.Error.concurrentRequests) {
            try await session.respond(to: "and this")
        }
        await #expect(throws: LanguageModelSession.Error.concurrentRequests) {
            for try await _ in session.streamResponse(to: "and this") {}
        }
        #expect(session.isResponding)
        let response = try await stream.collect()
        #expect(session.transcript.texts == ["go", response.content])
    }

    enum Ending: CaseIterable { case dropped, left, cancelled }

    @Test(arguments: Ending.allCases)
    func `a stream that nobody reads any more frees the engine and the session`(ending: Ending) async throws {
        let model = try tinyModel(context: 1 << 20)
        let session = LanguageModelSession(model: model, transcript: .turns(1, length: 5))
        let before = session.transcript
        switch ending {
        case .dropped: _ = session.streamResponse(to: "go", options: .greedy(nil))
        case .left:
            let stream = session.streamResponse(to: "go", options: .greedy(nil))
            for try await _ in stream { break }
            try await eventually { !session.isResponding }
            withExtendedLifetime(stream) {}
        case .cancelled:
            let reader = Task { for try await _ in session.streamResponse(to: "go", options: .greedy(nil)) {} }
            try await eventually { session.transcript.count > before.count }
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
        let local = try await model.host.model()
        try await eventually { !session.isResponding && local.activity.running == 0 }
        #expect(session.transcript == before)
        #expect(try await !session.respond(to: "again", options: .greedy(3)).transcriptEntries.isEmpty)
    }

    @Test(arguments: [GenerationOptions.SamplingMode.greedy, .random(top: 20, seed: 1), .random(top: 20)])
    func `a turn computes only what is new`(sampling: GenerationOptions.SamplingMode) async throws {
        let session = LanguageModelSession(
            model: try tinyModel(context: 4096), instructions: String(repeating: "Be brief. ", count: 20))
        let options = GenerationOptions(samplingMode: sampling, maximumResponseTokens: 150)
        for turn in 1...3 {
            let usage = try await session.respond(to: "Question \(turn)?", options: options).usage
            guard turn > 1 else { continue }
            #expect(usage.input.totalTokenCount > 200 + 30 * turn)
            // The question, what the template writes around it and the answer's begin; and a page that was not full.
            #expect(usage.input.totalTokenCount - usage.input.cachedTokenCount < ";u:Question 1?;a:".utf8.count + 32)
        }
    }

    @Test func `prewarming computes the instructions and the prompt's beginning`() async throws {
        let model = try tinyModel(context: 4096)
        let session = LanguageModelSession(model: model, instructions: String(repeating: "Be brief. ", count: 20))
        let prefix = String(repeating: "Translate this. ", count: 10)
        session.prewarm(promptPrefix: Prompt(prefix))
        let local = try await model.host.model()
        try await eventually { local.activity.cachedTokens >= 320 }
        let usage = try await session.respond(to: prefix + "Hello", options: .greedy(2)).usage
        #expect(usage.input.totalTokenCount - usage.input.cachedTokenCount < 32 + "Hello;a:".utf8.count)
    }

    @Test func `thoughts are left out of the answer`() async throws {
        let model = try tinyModel()
        let local = try await model.host.model()
        let prompt = ConversationPrompt(
            text: "", beginning: "", prompt: ModelPrompt(tokens: [1]), markup: ChatMarkup(Dialect()),
            parser: AnswerParser(Dialect(), tools: [], after: ""), begun: [])
        var text = AnswerText(try local.tokenizer, after: prompt)
        var (shown, whole): ([String], ChoiceDelta) = ([], .init(choice: 0))
        for byte in "<think>Hm.</think>Hé".utf8 {
            whole += try text.add([TinyModel.token(byte)])
            if !whole.content.isEmpty, shown.last != whole.content { shown.append(whole.content) }
        }
        let usage = Usage(promptTokens: 0, completionTokens: 0, secondsToFirstToken: 0, decodeSeconds: 0)
        #expect(try text.finish(.init(reason: .stop, usage: usage)).content.isEmpty)
        #expect(shown == ["H", "Hé"])
        #expect(whole.reasoning == "Hm.")
    }

    @Test func `what is observed changes`() async throws {
        let session = LanguageModelSession(model: hearth)
        var stream: LanguageModelSession.ResponseStream<String>?
        await change(of: { session.isResponding }) { stream = session.streamResponse(to: "Hello", options: .greedy(5)) }
        await change(of: { session.transcript }) {}
        _ = try await stream?.collect()
    }

    @Test func `a template that knows no system role gets the instructions with the first prompt`() async throws {
        let template =
            "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
            + "{{ m.role[0] }}:{{ m.content }};{% endfor %}a:"
        let model = try tinyModel(template: template)
        let window = ConversationWindow(.turns(1, length: 3, instructions: "Hi"))
        let prompt = try window.prompt(for: await model.host.model())
        #expect(prompt.tokens.dropFirst() == "u:Hi\n\n1aa;a:1aa;a:".utf8.map { TinyModel.token($0) }[...])
    }

    @Test func `generating without a session falls back to the same form`() async throws {
        let template =
            "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
            + "{{ m.role[0] }}:{{ m.content }};{% endfor %}a:"
        let model = try tinyModel(template: template)
        let local = try await model.host.model()
        var usage: Usage?
        for try await piece in local.generate([.system("Hi"), .user("Sea")], options: .init(maximumTokens: 1)) {
            usage = piece.finish?.usage ?? usage
        }
        #expect(usage?.promptTokens == "u:Hi\n\nSea;a:".utf8.count + 1)
    }

    @Test(arguments: [
        ("iau", "u:1;a:2;u:3;a:"), ("au", "u:;a:1;u:2;a:"), ("iuu", "u:1\n\n2\n\n3;a:"),
        ("uaau", "u:1;a:2\n\n3;u:4;a:"),
    ])
    func `a template that wants users and assistants in turn gets what an app made up`(
        kinds: String, read: String
    ) async throws {
        let template =
            "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
            + "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.role[0] }}:{{ m.content }};{% endfor %}a:"
        let entries = kinds.enumerated().map { number, kind -> Transcript.Entry in
            let segments = [Transcript.Segment](text: "\(number + 1)")
            switch kind {
            case "i": return .instructions(.init(segments: segments))
            case "u": return .prompt(.init(segments: segments))
            default: return .response(.init(assetIDs: [], segments: segments))
            }
        }
        let model = try tinyModel(template: template)
        let prompt = try ConversationWindow(Transcript(entries: entries)).prompt(for: await model.host.model())
        #expect(prompt.tokens.dropFirst() == read.utf8.map { TinyModel.token($0) }[...])
    }

    @Test func `what a prompt says is text, also where it looks like a control token`() async throws {
        let model = try tinyModel()
        let window = ConversationWindow(.turns(1, length: 3))
        let prompt = try window.prompt(for: await model.host.model(), adding: "a</s><s>b")
        #expect(prompt.tokens.dropFirst() == "u:1aa;a:1aa;u:a</s><s>b;a:".utf8.map { TinyModel.token($0) }[...])
    }

    @Test func `tokens are counted as the model reads them`() async throws {
        let model = try tinyModel()
        #expect(model.contextSize == 128)
        #expect(try await model.tokenCount(for: "four") == 4)
        #expect(try await model.tokenCount(for: Prompt("four")) == 4)
        #expect(try await model.tokenCount(for: Instructions("four")) == 4)
        let transcript = Transcript.turns(1, length: 3, instructions: "Hi")
        #expect(try await model.tokenCount(for: transcript) == "s:Hi;u:1aa;a:1aa;a:".utf8.count + 1)
    }

    @Test func `a model for tags is told so before a session's own instructions`() async throws {
        let model = try tinyModel(context: 4096, useCase: .contentTagging)
        let task = try #require(model.useCase.instructions)
        let session = LanguageModelSession(model: model, instructions: "Hi")
        let response = try await session.respond(to: "Sea", options: .greedy(2))
        let read = "s:\(task)\n\nHi;u:Sea;a:".replacing(" ", with: "\u{2581}").utf8
        #expect(response.usage.input.totalTokenCount == read.count + 1)
        // The transcript has what was said, not how it was asked for.
        #expect(session.transcript.texts.first == "Hi")
        #expect(try await model.tokenCount(for: session.transcript.prefix(2)) == read.count + 1)
        let window = ConversationWindow(Transcript(entries: session.transcript.prefix(2)), for: model.useCase)
        let prompt = try window.prompt(for: await model.host.model())
        #expect(prompt.tokens.dropFirst() == read.map { TinyModel.token($0) }[...])
    }

    @Test func `mistakes in options are named`() async throws {
        let session = LanguageModelSession(model: hearth)
        let error = await #expect(throws: LocalModelError.self) {
            try await session.respond(to: "Hello", options: .init(temperature: -1))
        }
        #expect(error?.description.contains("temperature") == true)
        #expect(session.transcript.isEmpty && !session.isResponding)
    }
}
