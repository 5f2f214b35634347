import Client
import FoundationModels
import LocalLLM
import Observation
import Synchronization

/// Answers by a script, and keeps what it was asked.
final class ScriptedEngine: AnswerEngine {
    enum Step {
        case event(AnswerEvent)
        case fail(any Error)
        /// No more comes, and no end either.
        case hang
    }

    struct Question: Equatable {
        /// `nil` for a prompt by itself.
        var messages: [ChatMessage]?
        var prompt: String?
        var policy: FallbackPolicy
    }

    private struct State {
        var scripts: [[Step]]
        var questions: [Question] = []
        var cancelled = 0
    }

    private let state: Mutex<State>

    /// - Parameter scripts: One an answer.
    init(_ scripts: [[Step]]) { state = Mutex(State(scripts: scripts)) }

    var questions: [Question] { state.withLock(\.questions) }
    /// How many answers their reader gave up.
    var cancelled: Int { state.withLock(\.cancelled) }

    func answer(_ messages: [ChatMessage], policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error> {
        play(Question(messages: messages, policy: policy))
    }

    func answer(prompt: String, policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error> {
        play(Question(prompt: prompt, policy: policy))
    }

    private func play(_ question: Question) -> AsyncThrowingStream<AnswerEvent, any Error> {
        let (stream, continuation) = AsyncThrowingStream<AnswerEvent, any Error>.makeStream()
        continuation.onTermination = { [self] reason in
            if case .cancelled = reason { state.withLock { $0.cancelled += 1 } }
        }
        let script = state.withLock { state in
            state.questions.append(question)
            return state.scripts.removeFirst()
        }
        for step in script {
            switch step {
            case .event(let event): continuation.yield(event)
            case .fail(let error): continuation.finish(throwing: error)
            case .hang: return stream
            }
        }
        continuation.finish()
        return stream
    }
}

extension [ScriptedEngine.Step] {
    static func answer(_ texts: String..., by engine: EngineKind = .local) -> Self {
        [.event(.began(engine, passedOver: []))] + texts.map { .event(.text($0)) }
    }
}

/// A local half that is available or not, as the test says.
final class ScriptedLocal: LocalLLMServiceProtocol {
    private let state: Mutex<(availability: SystemLanguageModel.Availability, prewarms: Int, resets: Int)>

    init(_ availability: SystemLanguageModel.Availability = .available) { state = Mutex((availability, 0, 0)) }

    var availability: SystemLanguageModel.Availability {
        get { state.withLock(\.availability) }
        set { state.withLock { $0.availability = newValue } }
    }
    var prewarms: Int { state.withLock(\.prewarms) }
    var resets: Int { state.withLock(\.resets) }

    func stream(_: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> { .init { $0.finish() } }
    func stream(prompt _: String) -> AsyncThrowingStream<AnswerPiece, any Error> { .init { $0.finish() } }

    func prewarm() { state.withLock { $0.prewarms += 1 } }
    func resetSession() { state.withLock { $0.resets += 1 } }
}

/// Returns when a condition on observed properties holds.
@MainActor func until(_ condition: @escaping @MainActor () -> Bool) async {
    while true {
        let (changes, changed) = AsyncStream<Void>.makeStream()
        if withObservationTracking(condition, onChange: { changed.yield() }) { return }
        for await _ in changes { break }
    }
}
