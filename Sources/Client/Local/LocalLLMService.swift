public import LocalLLM
import Synchronization

/// The model of this device. It keeps one session, and with it what was computed of the conversation, as long as each
/// question goes on where the last answer ended; a history that differs, for instance by an answer from the cloud, begins another.
public final class LocalLLMService: LocalLLMServiceProtocol {
    private let model: SystemLanguageModel
    private let instructions: String?
    private let options: GenerationOptions
    let session = Mutex<LanguageModelSession?>(nil)

    /// - Parameter instructions: What the model is told before each conversation.
    public init(
        model: SystemLanguageModel = .default, instructions: String? = nil, options: GenerationOptions = .init()
    ) {
        self.model = model
        self.instructions = instructions
        self.options = options
    }

    public var availability: SystemLanguageModel.Availability { model.availability }
    public var statusMessage: String { model.status.statusMessage }

    public func prewarm() {
        let session = session.withLock { kept in
            let session = kept ?? newSession([])
            kept = session
            return session
        }
        session.prewarm()
    }

    public func load() async throws { try await model.load() }

    public func resetSession() { session.withLock { $0 = nil } }

    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        let history = Array(messages.dropLast())
        return session.withLock { kept in
            let session = kept.flatMap { $0.goesOn(from: history) ? $0 : nil } ?? newSession(history)
            kept = session
            // Begins here, so that no other question can get between.
            return pieces(session, session.streamResponse(to: messages.last?.content ?? "", options: options))
        }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        let session = newSession([])
        return pieces(session, session.streamResponse(to: prompt, options: options))
    }

    private func newSession(_ history: [ChatMessage]) -> LanguageModelSession {
        let told = instructions.map { [ChatMessage.system($0)] } ?? []
        return LanguageModelSession(model: model, transcript: Transcript(entries: (told + history).map(\.entry)))
    }

    /// Snapshots grow: what each adds is a piece.
    private func pieces(
        _ session: LanguageModelSession, _ answer: LanguageModelSession.ResponseStream<String>
    ) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { [model] continuation in
            do {
                var count = 0
                for try await snapshot in answer {
                    let bytes = snapshot.content.utf8
                    let more = String(decoding: bytes.dropFirst(count), as: UTF8.self)
                    if !more.isEmpty { continuation.yield(.text(more)) }
                    count = bytes.count
                }
                let usage = AnswerUsage(
                    try await answer.collect().usage, contextSize: model.contextSize,
                    omittedTurns: session.transcript.omittedTurns)
                continuation.yield(.usage(usage))
            } catch LanguageModelSession.GenerationError.guardrailViolation(let context) {
                throw ContentBlocked(context.debugDescription)
            }
        }
    }
}

extension AnswerUsage {
    /// The first token came with the prompt: `decodeSeconds` is for those after it.
    fileprivate init(_ usage: Usage, contextSize: Int, omittedTurns: Int) {
        let isTimed = usage.completionTokens > 1 && usage.decodeSeconds > 0
        self.init(
            promptTokens: usage.promptTokens, completionTokens: usage.completionTokens,
            tokensPerSecond: isTimed ? Double(usage.completionTokens - 1) / usage.decodeSeconds : nil,
            contextSize: contextSize, omittedTurns: omittedTurns)
    }
}

extension Transcript {
    /// Turns that the model does not see any more.
    fileprivate var omittedTurns: Int {
        let omitted = Set(omissions.flatMap(\.entryIDs))
        return count { if case .prompt = $0 { omitted.contains($0.id) } else { false } }
    }
}

extension LanguageModelSession {
    /// Whether the session is free, and has heard and said just this.
    fileprivate func goesOn(from history: [ChatMessage]) -> Bool {
        let said = transcript.filter { if case .instructions = $0 { false } else { true } }
        return !isResponding && said.count == history.count && zip(said, history).allSatisfy { $0.says($1) }
    }
}

extension Transcript.Entry {
    fileprivate func says(_ message: ChatMessage) -> Bool {
        let (role, segments): (ChatMessage.Role, [Transcript.Segment]) =
            switch self {
            case .instructions(let instructions): (.system, instructions.segments)
            case .prompt(let prompt): (.user, prompt.segments)
            case .response(let response): (.assistant, response.segments)
            // This service's sessions have no tools.
            case .toolCalls, .toolOutput: (.tool, [])
            }
        let text = segments.map(\.description).joined(separator: "\n")
        return role == message.role && text.utf8.elementsEqual(message.content.utf8)
    }
}

extension ChatMessage {
    fileprivate var entry: Transcript.Entry {
        let segments = [Transcript.Segment.text(.init(content: content))]
        switch role {
        case .assistant: return .response(.init(assetIDs: [], segments: segments))
        case .system: return .instructions(.init(segments: segments))
        default: return .prompt(.init(segments: segments))
        }
    }
}
