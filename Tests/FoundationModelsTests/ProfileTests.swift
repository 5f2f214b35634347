import Foundation
import Synchronization
import Testing

@testable import FoundationModels

extension SessionPropertyValues {
    @SessionPropertyEntry var visits = 0
    @SessionPropertyEntry var summary: String?
}

/// Profiles, dynamic instructions and session properties.
@Suite(.timeLimit(.minutes(2))) struct ProfileTests {
    typealias Script = ScriptedLanguageModel.Script
    typealias DynamicProfile = LanguageModelSession.DynamicProfile

    /// State of an app.
    final class App: Sendable {
        let isCareful = Mutex(false)
    }

    struct Careful: DynamicInstructions {
        let app: App
        let notes: Notes
        var body: some DynamicInstructions {
            Instructions("Help.")
            NotingTool(notes: notes)
            if app.isCareful.withLock({ $0 }) {
                Instructions("Be careful.")
                NotingTool(name: "check", notes: notes)
            }
            ForEach([1, 2], id: \.self) { Instructions("Rule \($0)") }
        }
    }

    @Test func `instructions and tools follow the app's state, and stay the same entry while nothing changes`()
        async throws
    {
        let script = Script("ok")
        let app = App()
        let session = LanguageModelSession(
            model: ScriptedLanguageModel(script), dynamicInstructions: Careful(app: app, notes: Notes()))
        try await session.respond(to: "1")
        let first = try #require(session.transcript.first)
        #expect(first.description == "(Instructions) Help.\nRule 1\nRule 2")
        try await session.respond(to: "2")
        #expect(session.transcript.first == first)
        app.isCareful.withLock { $0 = true }
        try await session.respond(to: "3")
        #expect(session.transcript.first?.description == "(Instructions) Help.\nBe careful.\nRule 1\nRule 2")
        #expect(
            script.requests.map { $0.enabledToolDefinitions.map(\.name) } == [["note"], ["note"], ["note", "check"]])
        #expect(session.transcript.history.count == 6 && script.requests[2].transcript.count == 6)
    }

    struct Writing: DynamicProfile {
        let model: ScriptedLanguageModel
        var isCreative = false
        var body: some DynamicProfile {
            Content(model: model, isCreative: isCreative).temperature(0.5).reasoningLevel(.light)
        }

        struct Content: DynamicProfile {
            let model: ScriptedLanguageModel
            let isCreative: Bool
            var body: some DynamicProfile {
                if isCreative {
                    Profile { Instructions("Invent.") }.temperature(1).model(model)
                } else {
                    Profile { Instructions("Be exact.") }.model(model).temperature(nil)
                }
            }
        }
    }

    @Test func `the innermost value wins, and that of the call over all`() async throws {
        let script = Script("ok")
        let model = ScriptedLanguageModel(script)
        let exact = LanguageModelSession(profile: Writing(model: model))
        try await exact.respond(to: "1")
        try await exact.respond(to: "2", options: .init(temperature: 0))
        let creative = LanguageModelSession(profile: Writing(model: model, isCreative: true))
        try await creative.respond(to: "3", contextOptions: .init(reasoningLevel: .deep))
        #expect(script.requests.map(\.generationOptions.temperature) == [0.5, 0, 1])
        #expect(script.requests.map(\.contextOptions.reasoningLevel) == [.light, .light, .deep])
    }

    struct Logging: LanguageModelSession.DynamicProfileModifier {
        let notes: Notes
        func body(content: Content) -> some DynamicProfile {
            content.onPrompt { notes.add("outer prompt") }.onResponse { notes.add("outer: \($0.segments[0])") }
        }
    }

    struct Logged: DynamicProfile {
        let model: ScriptedLanguageModel
        let notes: Notes
        var body: some DynamicProfile {
            Profile { NotingTool(notes: notes) }
                .model(model)
                .onPrompt { notes.add("prompt: \($0.segments[0])") }
                .onReasoning { notes.add("reasoning") }
                .onToolCall { call in notes.add("call: \(call.toolName)") }
                .onToolOutput { call, output in notes.add("output: \(output.segments[0]) of \(call.id)") }
                .onResponse { notes.add("response") }
                .onActivate { notes.add("active") }
                .modifier(Logging(notes: notes))
        }
    }

    @Test func `callbacks run at their moments, outermost first`() async throws {
        let notes = Notes()
        let script = Script([{ _ in [.thought("Hm"), .call("note", "{}")] }, { _ in [.text("Done.")] }])
        let session = LanguageModelSession(profile: Logged(model: ScriptedLanguageModel(script), notes: notes))
        try await session.respond(to: "Go")
        #expect(
            notes.all == [
                "active", "outer prompt", "prompt: Go", "reasoning", "call: note", "note runs",
                "output: noted of call-1",
                "outer: Done.", "response",
            ])
        try await session.respond(to: "Again")
        #expect(notes.all.suffix(4) == ["outer prompt", "prompt: Again", "outer: Done.", "response"])
    }

    struct Denied: Error {}

    @Test func `a callback that throws ends the request before the tool runs`() async throws {
        let notes = Notes()
        let script = Script([{ _ in [.call("note", "{}")] }])
        let profile = LanguageModelSession.Profile { NotingTool(notes: notes) }.model(ScriptedLanguageModel(script))
            .onToolCall { throw Denied() }
        let session = LanguageModelSession(profile: profile)
        await #expect(throws: Denied.self) { try await session.respond(to: "Go") }
        #expect(notes.all.isEmpty && session.transcript.history.isEmpty && !session.isResponding)
    }

    struct Modes: DynamicProfile {
        let model: ScriptedLanguageModel
        let notes: Notes
        @SessionProperty(\.visits) var visits
        var body: some DynamicProfile {
            if visits == 0 {
                Profile {
                    Instructions("Call the tool.")
                    NotingTool(notes: notes)
                }
                .model(model).toolCallingMode(.required).onToolCall { visits += 1 }
                .onActivate { notes.add("first in") }.onDeactivate { notes.add("first out") }
            } else {
                Profile { Instructions("Answer.") }.model(model).toolCallingMode(.disallowed)
                    .onActivate { notes.add("second in") }
            }
        }
    }

    @Test func `a session property ends a loop of required calls, in the midst of a request`() async throws {
        let notes = Notes()
        let script = Script([{ _ in [.call("note", "{}")] }, { _ in [.text("Done.")] }])
        let session = LanguageModelSession(profile: Modes(model: ScriptedLanguageModel(script), notes: notes))
        #expect(try await session.respond(to: "Go").content == "Done.")
        #expect(notes.all == ["first in", "note runs", "first out", "second in"])
        #expect(session.properties.visits == 1)
        #expect(script.requests.map(\.generationOptions.toolCallingMode) == [.required, .disallowed])
        #expect(script.requests.map { $0.enabledToolDefinitions.count } == [1, 0])
        #expect(script.requests[1].transcript.first?.description == "(Instructions) Answer.")
        #expect(
            LanguageModelSession(profile: Modes(model: ScriptedLanguageModel("a"), notes: notes)).properties.visits == 0
        )
    }

    struct Visiting: Tool {
        let description = "Counts"
        @SessionProperty(\.visits) var visits
        @SessionProperty(\.history) var history
        var changesHistory = false
        @Generable struct Arguments {}

        func call(arguments: Arguments) async throws -> String {
            visits += 1
            if changesHistory { history = [] }
            return "\(history.count)"
        }
    }

    @Test func `tools share the properties of their session, and read its history`() async throws {
        let script = Script([{ _ in [.call("Visiting", "{}")] }, { _ in [.text("Done.")] }])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script), tools: [Visiting()])
        try await session.respond(to: "Go")
        #expect(session.properties.visits == 1 && session.properties.summary == nil)
        guard case .toolOutput(let output) = session.transcript.history[3] else { return #expect(Bool(false)) }
        #expect(output.segments.text == "2")
    }

    @Test func `a tool that changes the history ends the request`() async throws {
        let script = Script([{ _ in [.call("Visiting", "{}")] }, { _ in [.text("Done.")] }])
        let tool = Visiting(changesHistory: true)
        let session = LanguageModelSession(model: ScriptedLanguageModel(script), tools: [tool], transcript: .init())
        await #expect(throws: LanguageModelSession.Error.transcriptMutationWhileResponding) {
            try await session.respond(to: "Go")
        }
        #expect(session.transcript.isEmpty && !session.isResponding)
    }

    @Test func `a history transform changes what the model reads, not the transcript`() async throws {
        let script = Script("ok")
        let profile = LanguageModelSession.Profile { Instructions("Hi") }.model(ScriptedLanguageModel(script))
            .historyTransform { Array($0.suffix(2)) }.historyTransform {
                $0.filter { !$0.description.contains("secret") }
            }
        let session = LanguageModelSession(profile: profile)
        for prompt in ["1", "secret", "3"] { try await session.respond(to: prompt) }
        #expect(session.transcript.count == 7)
        #expect(
            script.requests[2].transcript.map(\.description) == ["(Instructions) Hi", "(Response) ok", "(Prompt) 3"])
    }

    @Test func `a callback changes the history for good`() async throws {
        let script = Script("ok")
        let session = LanguageModelSession(profile: Forgetful(model: ScriptedLanguageModel(script)))
        for prompt in ["1", "2", "3"] { try await session.respond(to: prompt) }
        #expect(session.transcript.map(\.description) == ["(Instructions) Hi", "(Prompt) 3", "(Response) ok"])
        #expect(
            script.requests[2].transcript.map(\.description) == [
                "(Instructions) Hi", "(Prompt) 2", "(Response) ok", "(Prompt) 3",
            ])
    }

    struct Forgetful: DynamicProfile {
        let model: ScriptedLanguageModel
        @SessionProperty(\.history) var history
        var body: some DynamicProfile {
            Profile { Instructions("Hi") }.model(model).onResponse {
                if history.count > 2 { history = history.suffix(2) }
            }
        }
    }

    @Test(arguments: [true, false])
    func `the error policy decides what stays of a failed request`(keeps: Bool) async throws {
        struct Broken: Error {}
        let notes = Notes()
        let script = Script([{ _ in [.text("Let me see."), .call("note", "{}")] }, { _ in throw Broken() }])
        let policy = keeps ? TranscriptErrorHandlingPolicy.preserveTranscript : .revertTranscript
        let profile = LanguageModelSession.Profile { NotingTool(notes: notes) }.model(ScriptedLanguageModel(script))
            .transcriptErrorHandlingPolicy(policy)
        let session = LanguageModelSession(profile: profile)
        session.transcriptErrorHandlingPolicy = keeps ? .revertTranscript : .preserveTranscript
        await #expect(throws: Broken.self) { try await session.respond(to: "Go") }
        #expect(session.transcript.history.count == (keeps ? 4 : 0))
    }

    @Test func `a cancelled answer can be kept as far as it has come`() async throws {
        let session = LanguageModelSession(model: try tinyModel(context: 1 << 20))
        session.transcriptErrorHandlingPolicy = .preserveTranscript
        let reader = Task {
            for try await snapshot in session.streamResponse(to: "go", options: .greedy(nil)) {
                if snapshot.content.count > 10 { break }
            }
        }
        try await reader.value
        try await eventually { !session.isResponding }
        guard case .response(let part)? = session.transcript.last else { return #expect(Bool(false)) }
        #expect(session.transcript.count == 2 && part.segments.text.count > 10)
    }

    @Test func `the transcript can be changed while the session is idle, and only then`() async throws {
        let session = LanguageModelSession(model: try tinyModel(context: 4096))
        session.transcript = .turns(2, length: 3)
        session.transcript.removeLast(2)
        session.properties.history.append(.prompt(.init(segments: .init(text: "x"))))
        #expect(session.transcript.texts == ["1aa", "1aa", "x"])
        let stream = session.streamResponse(to: "go", options: .greedy(100))
        session.transcript = Transcript()
        await #expect(throws: LanguageModelSession.Error.transcriptMutationWhileResponding) {
            for try await _ in stream {}
        }
        #expect(session.transcript.texts == ["1aa", "1aa", "x"])
    }

    @Test func `a profile's answers compute only what is new`() async throws {
        let model = try tinyModel(context: 4096)
        let profile = LanguageModelSession.Profile { Instructions(String(repeating: "Be brief. ", count: 20)) }.model(
            model)
        let session = LanguageModelSession(profile: profile)
        for turn in 1...3 {
            let usage = try await session.respond(to: "Question \(turn)?", options: .greedy(100)).usage
            guard turn > 1 else { continue }
            #expect(usage.input.totalTokenCount - usage.input.cachedTokenCount < ";u:Question 1?;a:".utf8.count + 32)
        }
    }

    @MainActor final class Counter {
        var count = 0
    }

    struct Counting: DynamicProfile {
        let counter: Counter
        var body: some DynamicProfile {
            Profile { Instructions("Hi") }.model(ScriptedLanguageModel("ok")).onActivate { @MainActor in
                counter.count += 1
            }
        }
    }

    @Test func `callbacks run on their actor`() async throws {
        let counter = Counter()
        try await LanguageModelSession(profile: Counting(counter: counter)).respond(to: "Hi")
        #expect(await counter.count == 1)
    }
}
