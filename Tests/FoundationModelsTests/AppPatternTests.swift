import Foundation
import FoundationModels
import Testing

@Suite(.timeLimit(.minutes(2))) struct AppPatternTests {
    typealias Script = ScriptedLanguageModel.Script

    @Test func `a package's history modifiers compose outside-in`() async throws {
        let script = Script([
            { request in
                guard case .prompt(let prompt)? = request.transcript.last, prompt.segments[0].description == "Look"
                else {
                    return [.text("ok")]
                }
                return [.call("note", "{}")]
            }
        ])
        let profile = LanguageModelSession.Profile { NotingTool(notes: Notes()) }.model(ScriptedLanguageModel(script))
            .rollingWindow(entries: 3).droppingCompletedToolCalls()
        let session = LanguageModelSession(profile: profile)
        try await session.respond(to: "Look")
        try await session.respond(to: "And?")
        #expect(session.transcript.history.count == 6)
        // Of the first turn the prompt and the response are left, then the window is taken.
        #expect(
            script.requests[2].transcript.history.map(\.description) == [
                "(Prompt) Look", "(Response) ok", "(Prompt) And?",
            ])
        #expect(script.requests[1].transcript.history.count == 3, "the calls of the turn under way stay")
    }

    @Test func `a summary of another model replaces a long history`() async throws {
        let script = Script("ok")
        let profile = LanguageModelSession.Profile { Instructions("Hi") }.model(ScriptedLanguageModel(script))
            .summarizeHistory(over: 4, by: ScriptedLanguageModel("They talked."))
        let session = LanguageModelSession(profile: profile)
        for prompt in ["1", "2", "3"] { try await session.respond(to: prompt) }
        #expect(
            session.transcript.map(\.description) == [
                "(Instructions) Hi", "(Response) They talked.", "(Prompt) 3", "(Response) ok",
            ])
    }

    @Test func `a skill that the model switches on is in its instructions from then on`() async throws {
        let script = Script([
            { _ in [.call("activate_skill", #"{"name": "tides"}"#)] },
            { request in [.text("\(request.transcript[0])")] },
        ])
        let skills = [
            Skill(name: "tides", summary: "About tides.", text: "Ask for the port."),
            Skill(name: "winds", summary: "About winds.", text: "Ask for the height."),
        ]
        let session = LanguageModelSession(
            model: ScriptedLanguageModel(script), dynamicInstructions: Skills(skills: skills))
        let read = try await session.respond(to: "When is high water?").content
        #expect(read.contains("## tides\nAsk for the port.") && read.contains("## winds\nAbout winds."))
        #expect(session.properties.activeSkills == ["tides"])
        let schema = try #require(script.requests[0].enabledToolDefinitions.first).parameters
        #expect(String(decoding: try JSONEncoder().encode(schema), as: UTF8.self).contains(#"["tides","winds"]"#))
    }

    @Test func `a provider reads each kind of entry, and refuses what it cannot`() async throws {
        let script = Script([{ _ in [.thought("Hm"), .call("note", "{}")] }, { _ in [.text("Done.")] }])
        let session = LanguageModelSession(
            model: ScriptedLanguageModel(script), tools: [NotingTool(notes: Notes())], instructions: "Be brief.")
        try await session.respond(to: "Go")
        #expect(
            try messages(for: session.transcript) == [
                .init(role: "system", content: "Be brief."), .init(role: "user", content: "Go"),
                .init(role: "call", content: "note {}"), .init(role: "tool", content: "noted"),
                .init(role: "assistant", content: "Done."),
            ])
        let place = ExecutorTests.Place(id: "p", content: .init(name: "Rome"))
        let error = #expect(throws: LanguageModelError.self) {
            try messages(for: Transcript(entries: [.prompt(.init(segments: [.custom(place)]))]))
        }
        guard case .unsupportedTranscriptContent(let details) = error else { return #expect(Bool(false)) }
        #expect(details.unsupportedContent.count == 1)
    }

    @MainActor
    @Test func `a view model keeps snapshots and shows errors`() async throws {
        let script = Script([
            { _ in
                [
                    #"{"title": "Ro"#, #"me", "stops": [{"place": "Forum", "days": 1},"#,
                    #" {"place": "Ostia", "days": 2}]}"#,
                ]
                .map { .text($0) }
            },
            { _ in
                throw LanguageModelError.rateLimited(
                    .init(resetDate: Date(timeIntervalSince1970: 5), debugDescription: ""))
            },
        ])
        let planner = Planner(model: ScriptedLanguageModel(script))
        await planner.plan("Rome")
        #expect(planner.itinerary?.title == "Rome" && planner.itinerary?.stops?.last?.days == 2)
        #expect(planner.lastSnapshot?.transcriptEntries.count == 2 && planner.problem == nil)
        await planner.plan("Oslo")
        #expect(planner.problem?.text == "busy until 5.0" && planner.session.transcript.history.count == 2)
    }

    @Test func `a provider finds what it kept of its answers, also after the transcript was stored`() async throws {
        let script = Script([
            { _ in
                let kept = GeneratedContent(properties: ["raw": "<b>Hi</b>", "tokens": 3])
                return [.text("Hi"), .response(action: .updateMetadata(["kept": kept]))]
            },
            { request in
                guard case .response(let last)? = request.transcript.dropLast().last, let kept = last.metadata["kept"],
                    let raw = try? kept.value(String.self, forProperty: "raw")
                else { return [.text("lost")] }
                return [.text(raw)]
            },
        ])
        let first = LanguageModelSession(model: ScriptedLanguageModel(script))
        try await first.respond(to: "Hello")
        let stored = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(first.transcript))
        #expect(stored == first.transcript)
        let second = LanguageModelSession(model: ScriptedLanguageModel(script), transcript: stored)
        #expect(try await second.respond(to: "Again").content == "<b>Hi</b>")
    }
}
