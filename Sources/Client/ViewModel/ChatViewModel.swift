public import Foundation
public import FoundationModels
public import Observation

/// The view model of a chat: a conversation, the input, the streamed answer and the choice of engine.
///
/// Questions are stored before they are sent, and answers while they arrive, so that a conversation survives a crash.
@MainActor @Observable
public final class ChatViewModel {
    /// The conversation, oldest first. An answer is added when it is complete or interrupted.
    public private(set) var messages: [Message] = []
    /// The input. A failed request puts its text back here.
    public var inputText = ""
    /// Images that go with the next message: PNG, JPEG, WebP or GIF files. A failed request puts its own back here.
    public var attachedImages: [Data] = []
    /// The answer so far, while `isResponding`.
    public private(set) var currentStreamingContent = ""
    /// Reasoning of the latest answer, kept until the next request and not stored.
    public private(set) var thoughts = ""
    /// Number of tool calls in the answer so far. The text that precedes them is in `currentStreamingContent`.
    public private(set) var toolCallCount = 0
    /// Whether an answer is running.
    public private(set) var isResponding = false
    /// Error of the last action, as text to show; `nil` if it succeeded.
    public private(set) var errorMessage: String?

    /// The answer to the latest single prompt, as it arrives.
    public private(set) var response = ""
    /// Whether `response` is complete.
    public private(set) var finished = false

    /// Engine of the latest answer.
    public private(set) var answeredBy: EngineKind?
    /// Engines that were tried before it, and why they did not answer.
    public private(set) var passedOver: [PassedOver] = []
    /// Token counts and speed of the latest answer; `nil` if not reported.
    public private(set) var usage: AnswerUsage?

    /// Engines to ask, in order; stored with the conversation.
    public private(set) var policy: FallbackPolicy
    /// `nil` until a new conversation gets its first message.
    public private(set) var conversation: ConversationID?

    /// The history, for listing and searching conversations.
    @ObservationIgnored public let history: ChatRepository
    @ObservationIgnored private let engine: any AnswerEngine
    @ObservationIgnored private let local: any LocalLLMServiceProtocol
    @ObservationIgnored private var work: Task<Void, Never>?

    /// - Parameters:
    ///   - local: The engine's local service, for its availability and for prewarming.
    ///   - policy: Policy of new conversations.
    public init(
        engine: any AnswerEngine, local: any LocalLLMServiceProtocol, history: ChatRepository,
        policy: FallbackPolicy = .localFirst
    ) {
        self.engine = engine
        self.local = local
        self.history = history
        self.policy = policy
    }

    // MARK: Engines

    /// Availability of the local engine; has an `iconName` to show.
    public var availability: SystemLanguageModel.Availability { local.availability }

    /// Availability as text to show, with details.
    public var statusMessage: String { local.statusMessage }

    /// Whether the local engine is asked first. If it is unavailable, the cloud is, if the policy allows it.
    public var isLocalOn: Bool { policy == .localFirst || policy == .localOnly }

    /// The engine that would get the next message, to show before it is sent.
    public var nextEngine: EngineKind {
        switch policy {
        case .localFirst: local.availability == .available ? .local : .cloud
        case .localOnly: .local
        case .cloudFirst, .cloudOnly: .cloud
        }
    }

    /// Switches the preferred engine and keeps whether to fall back to the other one.
    ///
    /// - Returns: Whether it was switched: to the local engine only if that is available.
    @discardableResult
    public func setLocal(on isOn: Bool) async -> Bool {
        errorMessage = nil
        if isOn, local.availability != .available {
            errorMessage = local.statusMessage
            return false
        }
        let fallsBack = policy == .localFirst || policy == .cloudFirst
        await setPolicy(isOn ? (fallsBack ? .localFirst : .localOnly) : (fallsBack ? .cloudFirst : .cloudOnly))
        return true
    }

    /// Sets and stores the policy; prewarms the local model if it comes first.
    public func setPolicy(_ policy: FallbackPolicy) async {
        self.policy = policy
        // The first answer begins sooner if the model is already loaded.
        if isLocalOn, local.availability == .available { local.prewarm() }
        await attempt { if let conversation { try await history.setPolicy(policy, of: conversation) } }
    }

    // MARK: Asking

    /// Sends the input with the conversation and waits for the answer. Does nothing while `isResponding`.
    ///
    /// If the request fails, its text goes back into the input and `errorMessage` is set. If it is cancelled, a partial
    /// answer stays; without one, the text goes back into the input.
    ///
    /// - Returns: The answer; `nil` if there is none.
    @discardableResult
    public func send() async -> Message? {
        let text = inputText
        guard !isResponding, text.contains(where: { !$0.isWhitespace }) || !attachedImages.isEmpty else { return nil }
        let images = attachedImages
        (inputText, attachedImages) = ("", [])
        var whole: Message?
        await respond { [self] in
            let question = Message(isUser: true, messageContent: text, images: images)
            messages.append(question)
            var answer: AnswerWriter?
            do {
                answer = AnswerWriter(history: history, conversation: try await store(question))
                try await show(engine.answer(messages.turns, policy: policy)) {
                    try await answer?.update(currentStreamingContent, by: answeredBy)
                }
                whole = try await answer?.finish(isComplete: !Task.isCancelled)
                if let whole {
                    messages.append(whole)
                } else {
                    await takeBack(question)
                }
            } catch {
                report(error)
                await takeBack(question, answer?.message)
            }
        }
        return whole
    }

    /// Sends a single prompt without the conversation, which stays unchanged.
    ///
    /// - Returns: The answer, partial after `cancel()`; `nil` if it failed.
    public func ask(_ prompt: String) async -> String? {
        guard !isResponding else { return nil }
        (response, finished) = ("", false)
        var answer: String?
        await respond { [self] in
            await attempt {
                try await show(engine.answer(prompt: prompt, policy: policy)) { response = currentStreamingContent }
                answer = currentStreamingContent
            }
        }
        finished = answer != nil
        return answer
    }

    /// Cancels the running answer, if any, and returns when it has ended.
    public func cancel() async {
        work?.cancel()
        await work?.value
    }

    /// Sends the input as a single prompt, for a screen with one question and one answer: updates `response`, then sets
    /// `finished`.
    ///
    /// If the request fails, its text goes back into the input and `errorMessage` is set.
    public func sendPrompt() async {
        let prompt = inputText
        guard !isResponding, prompt.contains(where: { !$0.isWhitespace }) else { return }
        inputText = ""
        if await ask(prompt) == nil, inputText.isEmpty { inputText = prompt }
    }

    // MARK: Conversations

    /// Opens the most recently used conversation, if any.
    public func resume() async {
        await attempt { if let latest = try await history.conversations().first { try await show(latest) } }
    }

    /// - Returns: Whether the conversation was opened.
    @discardableResult
    public func open(_ id: ConversationID) async -> Bool {
        await cancel()
        return await attempt {
            try await history.touch(id)
            if let found = try await history.conversations().first(where: { $0.id == id }) { try await show(found) }
        }
    }

    /// Starts a new conversation; the previous one stays in the history.
    public func startConversation() async {
        await cancel()
        errorMessage = nil
        conversation = nil
        messages = []
        local.resetSession()
    }

    /// Deletes a message of this conversation.
    public func delete(_ id: Message.ID) async {
        await attempt {
            try await history.delete(id)
            messages.removeAll { $0.id == id }
        }
    }

    /// Deletes every message of this conversation.
    public func deleteAll() async {
        await cancel()
        await attempt {
            if let conversation { try await history.deleteMessages(of: conversation) }
            messages = []
            local.resetSession()
        }
    }

    private func show(_ conversation: ConversationSummary) async throws {
        messages = try await history.messages(of: conversation.id)
        policy = conversation.policy
        self.conversation = conversation.id
        local.resetSession()
    }

    // MARK: One answer

    /// Runs the task of one answer, which `cancel()` or cancelling the caller's task cancels.
    private func respond(_ body: @escaping @MainActor () async -> Void) async {
        isResponding = true
        errorMessage = nil
        answeredBy = nil
        passedOver = []
        usage = nil
        thoughts = ""
        toolCallCount = 0
        let work = Task { await body() }
        self.work = work
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        self.work = nil
        currentStreamingContent = ""
        isResponding = false
    }

    /// Shows an answer as it arrives. Returns normally on cancellation.
    ///
    /// - Parameter more: Called after each event.
    private func show(
        _ answer: AsyncThrowingStream<AnswerEvent, any Error>, more: () async throws -> Void
    ) async throws {
        do {
            for try await event in answer {
                switch event {
                case .began(let engine, let passedOver): (answeredBy, self.passedOver) = (engine, passedOver)
                case .finished(let usage): self.usage = usage
                case .thought(let text): thoughts += text
                case .text(let text): currentStreamingContent += text
                case .toolCalls(let count): toolCallCount += count
                }
                try await more()
            }
        } catch  where Task.isCancelled {}
    }

    private func store(_ question: Message) async throws -> ConversationID {
        let id: ConversationID
        if let conversation { id = conversation } else { id = try await history.newConversation(policy: policy) }
        conversation = id
        try await history.save(question, in: id)
        return id
    }

    /// Removes a question and puts its text before what the user has typed since.
    private func takeBack(_ question: Message, _ answer: Message? = nil) async {
        guard messages.contains(where: { $0.id == question.id }) else { return }
        messages.removeAll { $0.id == question.id }
        attachedImages = question.images + attachedImages
        inputText = inputText.isEmpty ? question.messageContent : question.messageContent + "\n" + inputText
        do {
            try await history.delete(question.id)
            if let answer { try await history.delete(answer.id) }
        } catch {
            report(error)
        }
    }

    /// - Returns: Whether it succeeded; if not, `errorMessage` says why.
    @discardableResult
    private func attempt(_ body: () async throws -> Void) async -> Bool {
        errorMessage = nil
        do { try await body() } catch { report(error) }
        return errorMessage == nil
    }

    private func report(_ error: any Error) {
        let words = Self.words(for: error)
        errorMessage = errorMessage.map { $0 + "\n" + words } ?? words
    }

    /// Description, reason and recovery suggestion of an error.
    private static func words(for error: any Error) -> String {
        guard let error = error as? any LocalizedError else { return "\(error)" }
        let reason = error.failureReason == error.errorDescription ? nil : error.failureReason
        let words = [error.errorDescription, reason, error.recoverySuggestion].compactMap(\.self)
        return words.isEmpty ? "\(error)" : words.joined(separator: " ")
    }
}
