import Foundation
import FoundationModels
import LocalLLM
import Synchronization
import TestSupport
import Testing

@testable import Client

@Suite("Local service")
struct LocalLLMServiceTests {
    private let directory: TemporaryDirectory
    private let file: URL

    init() throws {
        directory = try TemporaryDirectory()
        file = try TinyModel().write(in: directory)
    }

    private func service(
        instructions: String? = nil, guardrails: SystemLanguageModel.Guardrails = .default
    ) -> LocalLLMService {
        LocalLLMService(
            model: SystemLanguageModel(contentsOf: file, guardrails: guardrails), instructions: instructions,
            options: GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 6))
    }

    @Test
    func `thoughts are pieces of their own, and the next turn goes on with the session that had them`() async throws {
        let model = try ScriptedModel("<think>\nHm\n</think>\n\nYes.").write(in: directory)
        let service = LocalLLMService(
            model: SystemLanguageModel(contentsOf: model), options: GenerationOptions(samplingMode: .greedy))
        var pieces: [AnswerPiece] = []
        for try await piece in service.stream([.user("a")]) { pieces.append(piece) }
        #expect(pieces.dropLast() == [.thought("Hm"), .text("Yes.")])
        let session = service.session.withLock { $0 }
        for try await _ in service.stream([.user("a"), .assistant("Yes."), .user("b")]) {}
        #expect(session != nil && service.session.withLock { $0 } === session)
        #expect(session?.transcript.count == 6)
    }

    @Test
    func `tool calls come after the text that the model wrote before them`() async throws {
        struct Clock: Tool {
            let name = "clock"
            let description = "The time."
            let parameters: GenerationSchema
            func call(arguments: GeneratedContent) async throws -> String { "noon" }
        }
        let call = "<tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>"
        let model = try ScriptedModel("Let me see.\n" + call, afterTool: "It is noon.").write(in: directory)
        let clock = Clock(parameters: try GenerationSchema(jsonSchema: #"{"type": "object", "properties": {}}"#))
        let service = LocalLLMService(
            model: SystemLanguageModel(contentsOf: model), options: GenerationOptions(samplingMode: .greedy),
            tools: [clock])
        var pieces: [AnswerPiece] = []
        for try await piece in service.stream([.user("a")]) { pieces.append(piece) }
        let at = try #require(pieces.firstIndex(of: .toolCalls(1)))
        func text(_ pieces: some Sequence<AnswerPiece>) -> String {
            pieces.map { if case .text(let text) = $0 { text } else { "" } }.joined()
        }
        #expect(text(pieces[..<at]) == "Let me see.")
        #expect(text(pieces[at...]).hasSuffix("It is noon."))
        #expect(pieces.count { $0 == .toolCalls(1) } == 1)
    }

    @Test
    func `an image is part of the question, and the next turn goes on with the session that saw it`() async throws {
        var tiny = TinyModel()
        tiny.context = 512
        let model = SystemLanguageModel(
            contentsOf: try tiny.write(in: directory, as: "seeing.gguf"),
            configuration: .init(imageEncoder: try TinyVision().write(in: directory)))
        func service() -> LocalLLMService {
            LocalLLMService(model: model, options: GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 32))
        }
        let (one, question) = (service(), ChatMessage.user("a", images: [TestImages.first]))
        let answer = try await ask(one, [question]).text
        let session = try session(one)
        let next = try await ask(one, [question, .assistant(answer), .user("b")])
        #expect(try self.session(one) === session)
        #expect(try await ask(service(), [question, .assistant(answer), .user("b")]).text == next.text)
        // Another image is another conversation.
        let other = ChatMessage.user("a", images: [TestImages.second])
        #expect(try await ask(one, [other]).text != answer)
        _ = try await ask(one, [question, .assistant(answer), .user("b")])
        #expect(try self.session(one) !== session)
    }

    private func ask(_ service: LocalLLMService, _ messages: [ChatMessage]) async throws -> (
        text: String, usage: AnswerUsage?
    ) {
        var text = ""
        var usage: AnswerUsage?
        for try await piece in service.stream(messages) {
            switch piece {
            case .text(let more): text += more
            case .thought, .toolCalls: break
            case .usage(let last): usage = last
            }
        }
        return (text, usage)
    }

    private func session(_ service: LocalLLMService) throws -> LanguageModelSession {
        try #require(service.session.withLock { $0 })
    }

    @Test
    func `pieces add up to the answer, and what it took comes last`() async throws {
        let service = service()
        let (text, usage) = try await ask(service, [.user("Hi")])
        #expect(try session(service).transcript.last?.description == "(Response) \(text)")
        #expect(usage?.promptTokens ?? 0 > 0)
        #expect((1...6).contains(usage?.completionTokens ?? 0))
        #expect(usage?.contextSize == 128)
    }

    @Test
    func `a question that goes on keeps the session, another history begins one`() async throws {
        let service = service(instructions: "Be brief.")
        let (first, _) = try await ask(service, [.user("Hi")])
        let kept = try session(service)
        let history: [ChatMessage] = [.user("Hi"), .assistant(first), .user("More")]
        let (second, _) = try await ask(service, history)
        #expect(try session(service) === kept)
        #expect(
            kept.transcript.map(\.description) == [
                "(Instructions) Be brief.", "(Prompt) Hi", "(Response) \(first)", "(Prompt) More",
                "(Response) \(second)",
            ])

        let other: [ChatMessage] = [.user("Hi"), .assistant("from the cloud"), .user("More")]
        let (third, _) = try await ask(service, other)
        let rebuilt = try session(service)
        #expect(rebuilt !== kept)
        #expect(
            rebuilt.transcript.map(\.description) == [
                "(Instructions) Be brief.", "(Prompt) Hi", "(Response) from the cloud", "(Prompt) More",
                "(Response) \(third)",
            ])
    }

    @Test
    func `histories are compared by their bytes`() async throws {
        let service = service()
        let (answer, _) = try await ask(service, [.user("caf\u{E9}")])
        let kept = try session(service)
        _ = try await ask(service, [.user("cafe\u{301}"), .assistant(answer), .user("More")])
        #expect(try session(service) !== kept)
    }

    @Test
    func `a session whose answer is given up, or that is reset, is not gone on with`() async throws {
        let service = service()
        for try await _ in service.stream([.user("Hi")]) { break }
        service.resetSession()
        #expect(service.session.withLock { $0 == nil })
        let (text, _) = try await ask(service, [.user("Hi")])
        #expect(try session(service).transcript.count == 2)
        #expect(!text.isEmpty)
    }

    @Test
    func `two questions at once are both answered`() async throws {
        let service = service()
        async let one = ask(service, [.user("Hi")])
        async let other = ask(service, [.user("Hi")])
        let texts = try await [one.text, other.text]
        #expect(texts[0] == texts[1])
    }

    @Test
    func `a prompt by itself leaves the conversation alone`() async throws {
        let service = service()
        _ = try await ask(service, [.user("Hi")])
        let before = try session(service).transcript
        for try await _ in service.stream(prompt: "Once") {}
        #expect(try session(service).transcript == before)
    }

    @Test
    func `a conversation that outgrows the context is answered, without its oldest turns`() async throws {
        let service = service()
        let long = (0..<4).flatMap { [ChatMessage.user("question \($0) of some"), .assistant("answer \($0) of some")] }
        let (text, _) = try await ask(service, long + [.user("Hi")])
        #expect(!text.isEmpty)
        #expect(try session(service).transcript.omissions.count == 1)
        #expect(try session(service).transcript.count == 10)
    }

    @Test
    func `what a guardrail forbids is content that is blocked, in its words`() async throws {
        let service = service(guardrails: .init([Forbidden()]))
        let error = await #expect(throws: ContentBlocked.self) { try await ask(service, [.user("secret plans")]) }
        #expect(error?.reason == "Not about secrets.")
        let (text, _) = try await ask(service, [.user("Hi")])
        #expect(!text.isEmpty)
    }

    @Test
    func `prewarming loads the model, and its session is the first question's`() async throws {
        let model = SystemLanguageModel(contentsOf: file)
        let service = LocalLLMService(model: model, options: .init(maximumResponseTokens: 2))
        service.prewarm()
        let warmed = try session(service)
        #expect(await eventually { model.contextSize == 128 })
        _ = try await ask(service, [.user("Hi")])
        #expect(try session(service) === warmed)
    }

    @Test
    func `without its file a model is not available, and says where it should be`() async throws {
        let path = directory.url.appending(path: "missing.gguf")
        let service = LocalLLMService(model: SystemLanguageModel(contentsOf: path))
        #expect(service.availability == .unavailable(.modelNotReady))
        #expect(service.statusMessage.contains(path.path))
        let engine = DualEngine(local: service, cloud: nil)
        let error = await #expect(throws: NoEngineAnswered.self) {
            for try await _ in engine.answer([.user("Hi")], policy: .localOnly) {}
        }
        #expect(error?.localizedDescription.contains(path.path) == true)
    }

    @Test
    func `a device with too little memory gets the fallback, which says how little`() async throws {
        let model = SystemLanguageModel(contentsOf: file, configuration: .init(contextSize: Int(Int32.max)))
        let service = localLLMService(model: model)
        #expect(service is FallbackLLMService)
        #expect(service.availability == .unavailable(.deviceNotEligible))
        #expect(service.statusMessage.contains("GB"))
        for stream in [service.stream([.user("Hi")]), service.stream(prompt: "Hi")] {
            await #expect(throws: FallbackLLMService.NotEligible(errorDescription: service.statusMessage)) {
                for try await _ in stream {}
            }
        }
        #expect(localLLMService(model: SystemLanguageModel(contentsOf: file)) is LocalLLMService)
    }
}

private struct Forbidden: Guardrail {
    func review(_ text: GuardedText) -> GuardrailVerdict {
        text.text.contains("secret") ? .violation("Not about secrets.") : .pass(upTo: text.text.endIndex)
    }
}
