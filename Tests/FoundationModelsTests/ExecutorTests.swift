import Foundation
import FoundationModels
import Synchronization
import Testing

/// Models of others: requests, events, and what sessions make of them.
@Suite(.timeLimit(.minutes(2))) struct ExecutorTests {
    @Test func `text comes piece by piece, and is one response`() async throws {
        let script = ScriptedLanguageModel.Script([{ _ in [.text("Hel"), .text("lo"), .text(".")] }])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script), instructions: "Be brief.")
        var shown: [String] = []
        var entries = 0
        for try await snapshot in session.streamResponse(to: "Hi") {
            shown.append(snapshot.content)
            entries = snapshot.transcriptEntries.count
        }
        #expect(shown == ["Hel", "Hello", "Hello."] && entries == 2)
        #expect(
            session.transcript.map(\.description) == ["(Instructions) Be brief.", "(Prompt) Hi", "(Response) Hello."])
        let request = try #require(script.requests.first)
        #expect(Array(request.transcript) == Array(session.transcript.prefix(2)))
        #expect(request.enabledToolDefinitions.isEmpty && request.schema == nil)
    }

    @Test func `a session keeps one executor for equal configurations`() async throws {
        let script = ScriptedLanguageModel.Script("a")
        var other = ScriptedLanguageModel(script)
        let session = LanguageModelSession(model: other)
        session.prewarm()
        // `prewarm` returns before the model is warmed.
        try await eventually { script.prewarms == 1 }
        try await session.respond(to: "1")
        try await session.respond(to: "2")
        #expect(script.executors == 1 && script.prewarms == 1 && script.requests.count == 2)
        let switching = Switching(
            first: other,
            second: {
                other.name = "other"; return other
            }())
        let switched = LanguageModelSession(profile: switching)
        for _ in 1...3 { try await switched.respond(to: "Hi") }
        #expect(script.executors == 3, "one for each configuration, of each session")
    }

    /// Uses one model for the first prompt, and another from then on.
    struct Switching: LanguageModelSession.DynamicProfile {
        let first, second: ScriptedLanguageModel
        @SessionProperty(\.history) var history
        var body: some DynamicProfile {
            if history.count < 2 {
                Profile { Instructions("One") }.model(first)
            } else {
                Profile { Instructions("Two") }.model(second)
            }
        }
    }

    @Test func `options, metadata and the schema reach the executor`() async throws {
        let script = ScriptedLanguageModel.Script(#"{"city": "Rome", "days": 2}"#)
        let session = LanguageModelSession(model: ScriptedLanguageModel(script))
        let options = GenerationOptions(samplingMode: .random(top: 3, seed: 1), temperature: 0.5)
        let trip = try await session.respond(
            to: "Go", generating: Trip.self, options: options,
            contextOptions: .init(includeSchemaInPrompt: false, reasoningLevel: .deep),
            metadata: ["tier": "gold"]
        ).content
        #expect(trip.city == "Rome" && trip.days == 2)
        let request = try #require(script.requests.first)
        #expect(request.schema?.name == "Trip" && request.generationOptions == options)
        #expect(request.contextOptions.reasoningLevel == .deep && request.contextOptions.includeSchemaInPrompt == false)
        #expect(request.metadata["tier"] == GeneratedContent("gold"))
        guard case .response(let response)? = session.transcript.last,
            case .structure(let value)? = response.segments.first
        else { return #expect(Bool(false), "\(session.transcript)") }
        #expect(value.schemaName == "Trip")
    }

    @Generable struct Trip {
        var city: String
        var days: Int
    }

    @Test func `reasoning, metadata, signatures and usage are kept`() async throws {
        let script = ScriptedLanguageModel.Script([
            { _ in
                [
                    .thought("Hm"), .reasoning(action: .updateSignature(Data([1, 2]), tokenCount: 0)),
                    .reasoning(action: .updateMetadata(["effort": "low"])), .text("Draft"),
                    .response(action: .replaceTextSegment("Yes.", tokenCount: 1)),
                    .response(action: .updateMetadata(["model": "m-1"])),
                    .response(action: .updateMetadata(["votes": GeneratedContent(properties: ["b": 2, "a": [true]])])),
                    .usage(input: 9, cached: 4, output: 2, reasoning: 1),
                    .usage(input: 10, cached: 4, output: 3, reasoning: 1),
                ]
            }
        ])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script))
        let response = try await session.respond(to: "Hi")
        #expect(response.content == "Yes.")
        #expect(response.usage.input.totalTokenCount == 10 && response.usage.input.cachedTokenCount == 4)
        #expect(response.usage.output.totalTokenCount == 3 && response.usage.output.reasoningTokenCount == 1)
        try await session.respond(to: "Hi")
        #expect(session.usage.totalTokenCount == 26)
        guard case .reasoning(let reasoning) = session.transcript[1], case .response(let said) = session.transcript[2]
        else { return #expect(Bool(false), "\(session.transcript)") }
        #expect(reasoning.signature == Data([1, 2]) && reasoning.metadata["effort"] == GeneratedContent("low"))
        #expect(said.metadata["model"] == GeneratedContent("m-1"))
        let stored = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(session.transcript))
        #expect(stored == session.transcript)
    }

    @Test func `a model that calls tools gets their outputs`() async throws {
        let notes = Notes()
        let script = ScriptedLanguageModel.Script([
            { _ in
                [
                    .text("Let me see."), .call("note", "{", id: "a"), .call("note", "}", id: "a"),
                    .call("note", "{}", id: "b"),
                    .toolCalls(action: .removeToolCall(id: "b")),
                ]
            },
            { request in
                guard case .toolOutput(let output)? = request.transcript.last else { return [.text("nothing")] }
                return [.text("It said \(output.segments.map(\.description).joined()).")]
            },
        ])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script), tools: [NotingTool(notes: notes)])
        let response = try await session.respond(to: "Go")
        #expect(response.content == "It said noted." && notes.all == ["note runs"])
        #expect(
            session.transcript.dropFirst().map { $0.description.prefix { $0 != " " } } == [
                "(Prompt)", "(Response)", "(ToolCalls)", "(ToolOutput)", "(Response)",
            ])
        #expect(script.requests.map { $0.enabledToolDefinitions.map(\.name) } == [["note"], ["note"]])
        #expect(Array(response.transcriptEntries) == Array(session.transcript.dropFirst()))
    }

    @Test func `what a model does not declare is refused before it is asked`() async throws {
        var model = ScriptedLanguageModel("a")
        model.capabilities = .init([])
        func missing(_ body: () async throws -> Void) async -> LanguageModelCapabilities.Capability? {
            let error = await #expect(throws: LanguageModelError.self) { try await body() }
            guard case .unsupportedCapability(let details) = error else { return nil }
            return details.capability
        }
        let session = LanguageModelSession(model: model)
        #expect(await missing { try await session.respond(to: "a", generating: Int.self) } == .guidedGeneration)
        #expect(
            await missing {
                try await session.respond(to: "a", contextOptions: .init(reasoningLevel: .light))
            } == .reasoning)
        let image = Attachment(imageData: Data([1]))
        #expect(await missing { try await session.respond { image } } == .vision)
        let calling = LanguageModelSession(model: model, tools: [NotingTool(notes: Notes())])
        #expect(await missing { try await calling.respond(to: "a") } == .toolCalling)
        #expect(
            try await calling.respond(to: "a", options: .init(toolCallingMode: .disallowed)).content == "a",
            "without tools it answers")
        #expect(model.script.requests.count == 1)
    }

    @Test func `errors of an executor reach the caller, and the transcript is as before`() async throws {
        struct Broken: Error {}
        let script = ScriptedLanguageModel.Script([{ _ in throw Broken() }, { _ in [.text("a")] }])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script), instructions: "Hi")
        let before = session.transcript
        await #expect(throws: Broken.self) { try await session.respond(to: "1") }
        #expect(session.transcript == before && !session.isResponding)
        #expect(try await session.respond(to: "2").content == "a")
    }

    @Test func `a conversation too long for an executor goes on without its older half`() async throws {
        let script = ScriptedLanguageModel.Script([
            { request in
                guard request.transcript.count <= 5 else {
                    throw LanguageModelError.contextSizeExceeded(
                        .init(contextSize: 5, tokenCount: request.transcript.count, debugDescription: "too long"))
                }
                return [.text("ok")]
            }
        ])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script), instructions: "Hi")
        for _ in 1...3 { try await session.respond(to: "go") }
        #expect(session.transcript.omissions.count == 1 && session.transcript.count == 7)
        session.contextOverflowPolicy = .fail
        let error = await #expect(throws: LanguageModelError.self) {
            for _ in 1...2 { try await session.respond(to: "go") }
        }
        guard case .contextSizeExceeded(let numbers) = error else { return #expect(Bool(false)) }
        #expect(numbers.contextSize == 5 && numbers.tokenCount > 5)
    }

    @Test func `a custom segment reaches the executor as it is, and others as its description`() async throws {
        let script = ScriptedLanguageModel.Script([
            { request in
                guard case .prompt(let prompt)? = request.transcript.last else { return [] }
                let place = prompt.segments.lazy.compactMap { segment in
                    if case .custom(let place as Place) = segment { place } else { nil }
                }.first
                return [
                    .text("\(place?.content.name ?? "nowhere")"),
                    .response(action: .updateCustomSegment(Place(id: "p", content: .init(name: "Oslo")))),
                ]
            }
        ])
        let session = LanguageModelSession(model: ScriptedLanguageModel(script))
        let response = try await session.respond {
            "Where is this?"
            Place(id: "q", content: .init(name: "Rome"))
        }
        #expect(response.content == "Rome")
        guard case .response(let said)? = session.transcript.last,
            case .custom(let place as Place)? = said.segments.last
        else { return #expect(Bool(false), "\(session.transcript)") }
        #expect(place.content.name == "Oslo")
        let stored = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(session.transcript))
        #expect(stored == session.transcript)
        #expect(stored.first?.description == #"(Prompt) Where is this?\#n{"name":"Rome"}"#)
    }

    struct Place: Transcript.CustomSegment {
        struct Content: Codable, Equatable, Sendable { let name: String }
        let id: String
        let content: Content
    }

    @Test func `images are found by their labels`() throws {
        let image = Transcript.ImageAttachment(data: Data([7]))
        let transcript = Transcript(entries: [
            .prompt(.init(segments: [.attachment(.init(content: .image(image), label: "first"))]))
        ])
        let reference = try ImageReference(GeneratedContent(properties: ["attachmentLabel": "first"]))
        #expect(reference.resolve(in: transcript) == image)
        let other = try ImageReference(GeneratedContent(properties: ["attachmentLabel": "second"]))
        #expect(other.resolve(in: transcript) == nil)
    }

    @Test func `without a server Private Cloud Compute says that it is unavailable`() async throws {
        let model = PrivateCloudComputeLanguageModel()
        #expect(model.availability == .unavailable(.deviceNotEligible) && !model.isAvailable)
        let session = LanguageModelSession(model: model)
        let error = await #expect(throws: PrivateCloudComputeLanguageModel.Error.self) {
            try await session.respond(to: "Hi")
        }
        guard case .serviceUnavailable(let details) = error else { return #expect(Bool(false)) }
        #expect(details.debugDescription.contains("PrivateCloudComputeLanguageModel.server"))
        await #expect(throws: PrivateCloudComputeLanguageModel.Error.self) { try await model.contextSize }

        // A provider that the app names stands for it.
        PrivateCloudComputeLanguageModel.server = .init(try tinyModel(context: 512), contextSize: 512)
        defer { PrivateCloudComputeLanguageModel.server = nil }
        #expect(model.isAvailable)
        #expect(try await model.contextSize == 512)
        let response = try await session.respond(
            to: "Hi", options: .init(samplingMode: .greedy, maximumResponseTokens: 5))
        #expect(response.usage.output.totalTokenCount == 5 && session.transcript.count == 2)
    }
}
