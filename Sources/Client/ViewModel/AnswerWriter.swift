/// Stores a growing answer in the history: after its first text, then every half second, and at its end.
///
/// A crash thus loses at most half a second of an answer.
@MainActor
struct AnswerWriter {
    let history: ChatRepository
    let conversation: ConversationID
    /// `nil` until an engine answers.
    private(set) var message: Message?
    private var storedAt: ContinuousClock.Instant?

    init(history: ChatRepository, conversation: ConversationID) {
        self.history = history
        self.conversation = conversation
    }

    /// - Parameter content: The whole answer so far.
    mutating func update(_ content: String, by engine: EngineKind?) async throws {
        var message = message ?? Message(isUser: false, messageContent: content, engine: engine, isComplete: false)
        message.messageContent = content
        self.message = message
        if content.isEmpty { return }
        if let storedAt, storedAt.duration(to: .now) < .milliseconds(500) { return }
        try await history.save(message, in: conversation)
        storedAt = .now
    }

    /// - Returns: The stored answer; `nil` if there is none. An empty answer can be complete.
    func finish(isComplete: Bool) async throws -> Message? {
        guard var message, isComplete || !message.messageContent.isEmpty else { return nil }
        message.isComplete = isComplete
        try await history.save(message, in: conversation)
        return message
    }
}
