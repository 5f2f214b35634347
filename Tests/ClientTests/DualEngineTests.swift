import Foundation
import FoundationModels
import LocalLLM
import Synchronization
import Testing

@testable import Client

@Suite("Dual engine")
struct DualEngineTests {
    struct Failure: LocalizedError {
        let errorDescription: String?
        let failureReason: String?
        init(_ description: String, reason: String? = nil) { (errorDescription, failureReason) = (description, reason) }
    }

    private static let usage = AnswerUsage(promptTokens: 3, completionTokens: 2)
    private static let unavailable = SystemLanguageModel.Availability.unavailable(.modelNotReady)

    /// The events of an answer, and what it ends with.
    private func ask(
        _ policy: FallbackPolicy, local: ScriptedService, cloud: ScriptedService?
    ) async -> (events: [AnswerEvent], error: (any Error)?) {
        var events: [AnswerEvent] = []
        do {
            for try await event in DualEngine(local: local, cloud: cloud).answer([.user("Hi")], policy: policy) {
                events.append(event)
            }
            return (events, nil)
        } catch {
            return (events, error)
        }
    }

    @Test
    func `the engine that the policy names first answers, with what it took`() async {
        for (policy, engine) in zip(FallbackPolicy.allCases, [EngineKind.local, .cloud, .local, .cloud]) {
            let local = ScriptedService([.text("on "), .text("device"), .usage(Self.usage)])
            let cloud = ScriptedService([.text("cloud")])
            let (events, error) = await ask(policy, local: local, cloud: cloud)
            #expect(error == nil)
            let answer: [AnswerEvent] =
                engine == .local
                ? [.text("on "), .text("device"), .finished(Self.usage)] : [.text("cloud")]
            #expect(events == [.began(engine, passedOver: [])] + answer)
            #expect(local.questions + cloud.questions == ["Hi"])
        }
    }

    @Test
    func `a local engine that is not available is passed over, and the reason told`() async {
        let local = ScriptedService([.text("on device")], availability: Self.unavailable)
        let (events, error) = await ask(.localFirst, local: local, cloud: ScriptedService([.text("cloud")]))
        #expect(error == nil)
        let reason = PassedOver(engine: .local, reason: "The language model is not ready yet.")
        #expect(events == [.began(.cloud, passedOver: [reason]), .text("cloud")])
        #expect(local.questions == [])
    }

    @Test(arguments: [
        FallbackPolicy.localOnly, .cloudFirst,
    ])
    func `where no other engine is left, the local one is asked whatever its state`(policy: FallbackPolicy) async {
        let local = ScriptedService([.text("on device")], availability: Self.unavailable)
        let (events, error) = await ask(policy, local: local, cloud: ScriptedService([], failing: Failure("offline")))
        #expect(error == nil)
        #expect(events.last == .text("on device"))
    }

    @Test(arguments: [
        (FallbackPolicy.localFirst, EngineKind.local, EngineKind.cloud), (.cloudFirst, .cloud, .local),
    ])
    func `a failure before the first text moves on to the other engine`(
        policy: FallbackPolicy, failing: EngineKind, answering: EngineKind
    ) async {
        let broken = ScriptedService([], failing: Failure("It is broken.", reason: "A screw is loose."))
        let good = ScriptedService([.text("answer")])
        let (events, error) = await ask(
            policy, local: failing == .local ? broken : good, cloud: failing == .local ? good : broken)
        #expect(error == nil)
        let reason = PassedOver(engine: failing, reason: "It is broken. A screw is loose.")
        #expect(events == [.began(answering, passedOver: [reason]), .text("answer")])
    }

    @Test
    func `a failure in mid-answer ends it, and nobody else is asked`() async {
        let cloud = ScriptedService([.text("cloud")])
        let local = ScriptedService([.text("half")], failing: Failure("It is broken."))
        let (events, error) = await ask(.localFirst, local: local, cloud: cloud)
        #expect(events == [.began(.local, passedOver: []), .text("half")])
        #expect((error as? Failure)?.errorDescription == "It is broken.")
        #expect(cloud.questions == [])
    }

    @Test
    func `what one engine's rules forbid is not asked of the other`() async {
        let cloud = ScriptedService([.text("cloud")])
        let local = ScriptedService([], failing: ContentBlocked("Not this."))
        let (events, error) = await ask(.localFirst, local: local, cloud: cloud)
        #expect(events == [])
        #expect(error?.localizedDescription == "Content blocked: Not this.")
        #expect(cloud.questions == [])
    }

    @Test
    func `without any answer the reasons of all engines are told`() async throws {
        let local = ScriptedService([], availability: Self.unavailable)
        let cloud = ScriptedService([], failing: APIClientError.noResponse)
        let (events, error) = await ask(.localFirst, local: local, cloud: cloud)
        #expect(events == [])
        let failure = try #require(error as? NoEngineAnswered)
        #expect(failure.lastError as? APIClientError == .noResponse)
        #expect(
            failure.localizedDescription == "No engine answered. On this device: The language model is not ready yet. "
                + "In the cloud: The server does not answer.")
    }

    @Test
    func `without a cloud service the policy's other engine answers, if it has one`() async throws {
        let (events, error) = await ask(.cloudFirst, local: ScriptedService([.text("on device")]), cloud: nil)
        #expect(error == nil)
        #expect(
            events == [
                .began(.local, passedOver: [.init(engine: .cloud, reason: "No cloud service is set up.")]),
                .text("on device"),
            ])
        let (_, failure) = await ask(.cloudOnly, local: ScriptedService([.text("on device")]), cloud: nil)
        #expect(failure is NoEngineAnswered)
    }

    @Test(arguments: [FallbackPolicy.localFirst, .localOnly])
    func `a message waits for a model that is being loaded, and does not leave the device`(
        policy: FallbackPolicy
    ) async {
        let local = ScriptedService([.text("on device")], loading: .seconds(2))
        let cloud = ScriptedService([.text("cloud")])
        let (events, error) = await ask(policy, local: local, cloud: cloud)
        #expect(error == nil)
        #expect(events == [.began(.local, passedOver: []), .text("on device")])
        #expect(cloud.questions == [])
    }

    @Test func `a message that waits too long for the model ends, and goes nowhere`() async {
        let local = ScriptedService([.text("on device")], loading: .seconds(600))
        let cloud = ScriptedService([.text("cloud")])
        let engine = DualEngine(local: local, cloud: cloud, loadLimit: .milliseconds(20))
        await #expect {
            for try await _ in engine.answer([.user("Hi")], policy: .localFirst) {}
        } throws: {
            ($0 as? LoadingTookTooLong)?.localizedDescription.contains("20 milliseconds") == true
        }
        #expect(local.questions + cloud.questions == [])
    }

    @Test func `a model that cannot be loaded is a failure, for which the policy names the next engine`() async {
        let local = ScriptedService([], loading: .milliseconds(1), failingToLoad: Failure("The file is damaged."))
        let (events, error) = await ask(.localFirst, local: local, cloud: ScriptedService([.text("cloud")]))
        #expect(error == nil)
        let reason = PassedOver(engine: .local, reason: "The file is damaged.")
        #expect(events == [.began(.cloud, passedOver: [reason]), .text("cloud")])
        #expect(local.questions == [])
    }

    @Test
    func `an empty answer is an answer`() async {
        let (events, error) = await ask(
            .localFirst, local: ScriptedService([]), cloud: ScriptedService([.text("cloud")]))
        #expect(error == nil)
        #expect(events == [.began(.local, passedOver: [])])
    }

    @Test
    func `a prompt by itself goes to where prompts go`() async throws {
        let local = ScriptedService([.text("answer")])
        for try await _ in DualEngine(local: local, cloud: nil).answer(prompt: "Once", policy: .localOnly) {}
        #expect(local.questions == ["prompt: Once"])
    }

    @Test
    func `giving up an answer ends the engine's work, and asks no other`() async {
        let local = ScriptedService([.text("first")], hangs: true)
        let cloud = ScriptedService([.text("cloud")])
        for policy in [FallbackPolicy.localFirst, .cloudFirst] {
            let engine = DualEngine(
                local: policy == .localFirst ? local : cloud, cloud: policy == .localFirst ? cloud : local)
            let task = Task { for try await _ in engine.answer([.user("Hi")], policy: policy) {} }
            let ended = local.ended.all.count
            #expect(await eventually { local.questions.count == ended + 1 })
            task.cancel()
            _ = await task.result
            #expect(await eventually { local.ended.all.count == ended + 1 })
        }
        #expect(cloud.questions == [])
    }
}

/// Answers by a script.
private final class ScriptedService: LocalLLMServiceProtocol {
    let availability: SystemLanguageModel.Availability
    private let pieces: [AnswerPiece]
    private let failure: (any Error)?
    private let hangs: Bool
    private let loading: Duration
    private let loadFailure: (any Error)?
    private let asked = Record<String>()
    /// One for each answer that its reader has given up.
    let ended = Record<Void>()

    init(
        _ pieces: [AnswerPiece], failing failure: (any Error)? = nil,
        availability: SystemLanguageModel.Availability = .available, hangs: Bool = false,
        loading: Duration = .zero, failingToLoad loadFailure: (any Error)? = nil
    ) {
        self.loading = loading
        self.loadFailure = loadFailure
        self.pieces = pieces
        self.failure = failure
        self.availability = availability
        self.hangs = hangs
    }

    var questions: [String] { asked.all }

    func prewarm() {}
    func load() async throws {
        try await Task.sleep(for: loading)
        if let loadFailure { throw loadFailure }
    }
    func resetSession() {}

    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        answer(messages.map(\.content).joined(separator: "|"))
    }

    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { answer("prompt: \(prompt)") }

    private func answer(_ question: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        asked.add(question)
        let (stream, continuation) = AsyncThrowingStream<AnswerPiece, any Error>.makeStream()
        continuation.onTermination = { [ended] in if case .cancelled = $0 { ended.add(()) } }
        for piece in pieces { continuation.yield(piece) }
        if !hangs { continuation.finish(throwing: failure) }
        return stream
    }
}
