/// An answer on its way into the history: stored after its first text, from then on every half second, and at its end.
///
/// So the end of the program, however it comes, costs half a second of an answer at most.
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

    /// - Parameter content: All of the answer so far.
    mutating func update(_ content: String, by engine: EngineKind?) async throws {
        var message = message ?? Message(isUser: false, messageContent: content, engine: engine, isComplete: false)
        message.messageContent = content
        self.message = message
        if content.isEmpty { return }
        if let storedAt, storedAt.duration(to: .now) < .milliseconds(500) { return }
        try await history.save(message, in: conversation)
        storedAt = .now
    }

    /// - Returns: The answer as it is stored; `nil` if there is none. An engine may have nothing to say, and then an
    ///   empty answer is complete.
    func finish(isComplete: Bool) async throws -> Message? {
        guard var message, isComplete || !message.messageContent.isEmpty else { return nil }
        message.isComplete = isComplete
        try await history.save(message, in: conversation)
        return message
    }
}
