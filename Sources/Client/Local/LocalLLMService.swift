import Foundation
public import FoundationModels
public import LocalLLM
import Providers
import Synchronization

/// The model of this device. Keeps one session, and with it the KV cache of the conversation, as long as each question
/// continues it. A different history, for instance with an answer from the cloud, starts a new session.
public final class LocalLLMService: LocalLLMServiceProtocol {
    private let model: SystemLanguageModel
    private let instructions: String?
    private let options: GenerationOptions
    private let tools: [any Tool]
    let session = Mutex<LanguageModelSession?>(nil)

    /// - Parameters:
    ///   - instructions: System message of each conversation.
    ///   - tools: Tools that the model may call.
    public init(
        model: SystemLanguageModel = .default, instructions: String? = nil, options: GenerationOptions = .init(),
        tools: [any Tool] = []
    ) {
        self.tools = tools
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
            // Starts within the lock, so that no other question gets in between.
            return pieces(session, session.streamResponse(to: messages.last?.prompt ?? Prompt(""), options: options))
        }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        let session = newSession([])
        return pieces(session, session.streamResponse(to: prompt, options: options))
    }

    private func newSession(_ history: [ChatMessage]) -> LanguageModelSession {
        let told = instructions.map { [ChatMessage.system($0)] } ?? []
        return LanguageModelSession(
            model: model, tools: tools, transcript: Transcript(entries: (told + history).map(\.entry)))
    }

    /// Turns cumulative snapshots into pieces.
    private func pieces(
        _ session: LanguageModelSession, _ answer: LanguageModelSession.ResponseStream<String>
    ) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { [model] continuation in
            do {
                var (thoughts, text) = (Growing(), Growing())
                var calls = 0
                for try await snapshot in answer {
                    if let more = thoughts.add(snapshot.reasoning) { continuation.yield(.thought(more)) }
                    if let more = text.add(snapshot.wholeText) { continuation.yield(.text(more)) }
                    if snapshot.callCount > calls {
                        continuation.yield(.toolCalls(snapshot.callCount - calls))
                        calls = snapshot.callCount
                    }
                }
                let usage = AnswerUsage(
                    try await answer.collect().usage, contextSize: model.contextSize,
                    omittedTurns: session.transcript.omittedTurns)
                continuation.yield(.usage(usage))
            } catch LanguageModelError.guardrailViolation(let details) {
                throw ContentBlocked(details.debugDescription)
            }
        }
    }
}

/// Extracts the new part of cumulative snapshots.
private struct Growing {
    private var bytes = 0

    /// - Returns: The new part of the text; `nil` if there is none.
    mutating func add(_ text: String) -> String? {
        let count = text.utf8.count
        guard count > bytes else { return nil }
        defer { bytes = count }
        return String(decoding: text.utf8.dropFirst(bytes), as: UTF8.self)
    }
}

extension LanguageModelSession.ResponseStream<String>.Snapshot {
    /// The answer, including text beside tool calls.
    fileprivate var wholeText: String { [earlierText, content].filter { !$0.isEmpty }.joined(separator: "\n\n") }
}

extension AnswerUsage {
    /// The usage of an answer that a model of this machine gave without a session.
    public init(_ usage: Usage, contextSize: Int) {
        self.init(
            usage.promptTokens, usage.completionTokens, seconds: usage.decodeSeconds, contextSize: contextSize,
            omittedTurns: 0)
    }

    fileprivate init(_ usage: LanguageModelSession.Usage, contextSize: Int, omittedTurns: Int) {
        self.init(
            usage.input.totalTokenCount, usage.output.totalTokenCount, seconds: usage.measured?.decodeSeconds ?? 0,
            contextSize: contextSize, omittedTurns: omittedTurns)
    }

    /// - Parameter seconds: From the first token to the last.
    private init(_ promptTokens: Int, _ tokens: Int, seconds: Double, contextSize: Int, omittedTurns: Int) {
        self.init(
            promptTokens: promptTokens, completionTokens: tokens,
            tokensPerSecond: tokens > 1 && seconds > 0 ? Double(tokens - 1) / seconds : nil,
            contextSize: contextSize, omittedTurns: omittedTurns)
    }
}

extension Transcript {
    /// Number of user turns left out of the model's context.
    fileprivate var omittedTurns: Int {
        let omitted = Set(omissions.flatMap(\.entryIDs))
        return count { if case .prompt = $0 { omitted.contains($0.id) } else { false } }
    }
}

extension LanguageModelSession {
    /// Whether the session is idle and its transcript equals `history`.
    fileprivate func goesOn(from history: [ChatMessage]) -> Bool {
        let said = transcript.said
        return !isResponding && said.count == history.count
            && zip(said, history).allSatisfy { said, message in
                said.role == message.role && said.segments.matches(message.segments)
            }
    }
}

extension Transcript {
    /// Messages of user and model without reasoning and calls. Text beside calls is part of the answer.
    fileprivate var said: [(role: ChatMessage.Role, segments: [Segment])] {
        reduce(into: []) { said, entry in
            switch entry {
            case .prompt(let prompt): said.append((.user, prompt.segments))
            case .response(let response) where said.last?.role == .assistant:
                let text = said[said.count - 1].segments.said + "\n\n" + response.segments.said
                said[said.count - 1].segments = [.text(.init(content: text))]
            case .response(let response): said.append((.assistant, response.segments))
            case .instructions, .reasoning, .toolCalls, .toolOutput: break
            }
        }
    }
}

extension [Transcript.Segment] {
    fileprivate var said: String { map(\.description).joined(separator: "\n") }

    private var images: [Transcript.Attachment] {
        compactMap { if case .attachment(let attachment) = $0 { attachment.content } else { nil } }
    }

    /// Whether the texts and the images are the same.
    fileprivate func matches(_ other: Self) -> Bool {
        said.utf8.elementsEqual(other.said.utf8) && images == other.images
    }
}

extension ChatMessage {
    /// The text and images as a prompt for a session.
    public var prompt: Prompt {
        Prompt(
            parts: segments.map { segment in
                if case .attachment(let attachment) = segment {
                    .attachment(attachment)
                } else {
                    .text(segment.description)
                }
            })
    }

    fileprivate var segments: [Transcript.Segment] {
        parts.map { part in
            switch part {
            case .text(let text): .text(.init(content: text))
            case .image(let file): .attachment(.init(content: .image(.init(data: file))))
            }
        }
    }

    /// The message as an entry of a transcript, by its role. Calls of tools and reasoning are left out.
    public var entry: Transcript.Entry {
        switch role {
        case .assistant: return .response(.init(assetIDs: [], segments: segments))
        case .system: return .instructions(.init(segments: segments))
        default: return .prompt(.init(segments: segments))
        }
    }
}
