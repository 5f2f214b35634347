public import Foundation
public import LocalLLM
public import Observation

/// What a chat shows and does: one conversation, the input, the answer as it comes, and the toggle between engines.
///
/// Every message is stored before it is asked, and an answer as it comes, so that a conversation goes on where it was
/// however the app ended.
@MainActor @Observable
public final class ChatViewModel {
    /// The conversation, oldest first. An answer joins it when it is complete, or interrupted.
    public private(set) var messages: [Message] = []
    /// What the user is typing. A failed request puts its text back here.
    public var inputText = ""
    /// Pictures that go with the next message: PNG, JPEG or WebP files. A failed request puts its own back here.
    public var attachedImages: [Data] = []
    /// The answer so far, while `isResponding`.
    public private(set) var currentStreamingContent = ""
    /// What the model has thought for the latest answer. It stays until the next is asked for, and is not stored.
    public private(set) var thoughts = ""
    public private(set) var isResponding = false
    /// Why the last thing the user asked for was not done, in words to show; `nil` if it was.
    public private(set) var errorMessage: String?

    /// The answer to the latest prompt that was asked by itself, as it comes.
    public private(set) var response = ""
    /// Whether `response` is all there.
    public private(set) var finished = false

    /// Who gives, or gave, the latest answer.
    public private(set) var answeredBy: EngineKind?
    /// Who should have, and why it did not.
    public private(set) var passedOver: [PassedOver] = []
    /// What the latest answer took, where its engine said so.
    public private(set) var usage: AnswerUsage?

    /// Who is asked, and who if that one cannot answer; kept with the conversation.
    public private(set) var policy: FallbackPolicy
    /// `nil` until a new conversation gets its first message.
    public private(set) var conversation: ConversationID?

    /// Every conversation, to list and to search.
    @ObservationIgnored public let history: ChatRepository
    @ObservationIgnored private let engine: any AnswerEngine
    @ObservationIgnored private let local: any LocalLLMServiceProtocol
    @ObservationIgnored private var work: Task<Void, Never>?

    /// - Parameters:
    ///   - local: The engine's local half: whether it is available, and a way to warm it up.
    ///   - policy: That of new conversations.
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

    /// Of the local engine; has an `iconName` to show.
    public var availability: SystemLanguageModel.Availability { local.availability }

    /// The same in words to show, with the details.
    public var statusMessage: String { local.statusMessage }

    /// The toggle: whether the local engine is asked first. Where it is not available, the cloud is.
    public var isLocalOn: Bool { policy == .localFirst || policy == .localOnly }

    /// Who the next message goes to, as things stand: to show before it is sent.
    public var nextEngine: EngineKind {
        switch policy {
        case .localFirst: local.availability == .available ? .local : .cloud
        case .localOnly: .local
        case .cloudFirst, .cloudOnly: .cloud
        }
    }

    /// Turns the toggle, and leaves as it is whether the other engine may step in.
    ///
    /// - Returns: Whether it was turned: to the local engine only if that is available.
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

    public func setPolicy(_ policy: FallbackPolicy) async {
        self.policy = policy
        // The first answer begins sooner if the model is in memory by then.
        if isLocalOn, local.availability == .available { local.prewarm() }
        await attempt { if let conversation { try await history.setPolicy(policy, of: conversation) } }
    }

    // MARK: Asking

    /// Sends the input with all of the conversation, and waits for the answer; does nothing while another comes.
    ///
    /// A request that fails leaves nothing but its text in the input, and `errorMessage`. Interrupted, what came of the
    /// answer stays; if nothing did, the text goes back into the input.
    ///
    /// - Returns: The answer, if there is one.
    @discardableResult
    public func send() async -> Message? {
        let text = inputText
        guard !isResponding, text.contains(where: { !$0.isWhitespace }) else { return nil }
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

    /// Asks a prompt by itself. The conversation does not go along and stays as it is.
    ///
    /// - Returns: The answer, or as much as came before `cancel()`; `nil` if it failed.
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

    /// Interrupts the answer that is coming, if one is, and returns when that has ended.
    public func cancel() async {
        work?.cancel()
        await work?.value
    }

    /// Asks the input by itself, for a screen with one question and one answer: `response` grows, `finished` ends it.
    ///
    /// A request that fails leaves its text in the input, and `errorMessage`.
    public func sendPrompt() async {
        let prompt = inputText
        guard !isResponding, prompt.contains(where: { !$0.isWhitespace }) else { return }
        inputText = ""
        if await ask(prompt) == nil, inputText.isEmpty { inputText = prompt }
    }

    // MARK: Conversations

    /// Goes on with the conversation used last, if there is one.
    public func resume() async {
        await attempt { if let latest = try await history.conversations().first { try await show(latest) } }
    }

    /// - Returns: Whether there is such a conversation.
    @discardableResult
    public func open(_ id: ConversationID) async -> Bool {
        await cancel()
        return await attempt {
            try await history.touch(id)
            if let found = try await history.conversations().first(where: { $0.id == id }) { try await show(found) }
        }
    }

    /// Begins a new conversation; the one before stays in the history.
    public func startConversation() async {
        await cancel()
        errorMessage = nil
        conversation = nil
        messages = []
        local.resetSession()
    }

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

    /// Runs the work of one answer where `cancel()` reaches it; so does cancelling the caller's task.
    private func respond(_ body: @escaping @MainActor () async -> Void) async {
        isResponding = true
        errorMessage = nil
        answeredBy = nil
        passedOver = []
        usage = nil
        thoughts = ""
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

    /// Shows an answer as it comes. An interruption ends it like any other end.
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

    /// Takes a question out again, and puts its text before what the user has typed since.
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

    /// What happened, why, and what helps, as far as the error says.
    private static func words(for error: any Error) -> String {
        guard let error = error as? any LocalizedError else { return "\(error)" }
        let reason = error.failureReason == error.errorDescription ? nil : error.failureReason
        let words = [error.errorDescription, reason, error.recoverySuggestion].compactMap(\.self)
        return words.isEmpty ? "\(error)" : words.joined(separator: " ")
    }
}
