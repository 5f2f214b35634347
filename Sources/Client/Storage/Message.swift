public import Foundation

/// A message of a conversation.
public struct Message: Identifiable, Sendable, Equatable {
    public let id: UUID
    /// Whether the user wrote it; otherwise an engine did.
    public let isUser: Bool
    public var messageContent: String
    /// When it was sent or began to arrive, in whole milliseconds as stored.
    public let timestamp: Date
    /// The engine that answered; `nil` for user messages.
    public var engine: EngineKind?
    /// `false` while an answer arrives, and if it was interrupted.
    public var isComplete: Bool
    /// PNG, JPEG, WebP or GIF files that go with the text.
    public var images: [Data]

    public init(
        id: UUID = UUID(), isUser: Bool, messageContent: String, timestamp: Date = Date(), engine: EngineKind? = nil,
        isComplete: Bool = true, images: [Data] = []
    ) {
        self.id = id
        self.isUser = isUser
        self.messageContent = messageContent
        self.timestamp = Date(milliseconds: timestamp.milliseconds)
        self.engine = engine
        self.isComplete = isComplete
        self.images = images
    }
}

/// Identifies a conversation of the history.
public typealias ConversationID = Int64

/// A conversation of the history, without its messages.
public struct ConversationSummary: Identifiable, Sendable, Equatable {
    public let id: ConversationID
    /// Engines to ask in this conversation.
    public let policy: FallbackPolicy
    /// When it was last opened or written to.
    public let usedAt: Date
    /// The first characters of its first message, at most `beginningLength`; `nil` without messages.
    public let beginning: String?

    /// Unicode scalars of a beginning.
    public static let beginningLength = 80
}

/// A message found by a search, and its conversation.
public struct SearchResult: Sendable, Equatable {
    public let conversation: ConversationID
    public let message: Message
}

extension Date {
    /// Milliseconds since 1970, clamped to `Int64`.
    var milliseconds: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
