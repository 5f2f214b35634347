public import Foundation

/// A message of a conversation, as it is shown and stored.
public struct Message: Identifiable, Sendable, Equatable {
    public let id: UUID
    /// Whether the user wrote it; otherwise an engine did.
    public let isUser: Bool
    public var messageContent: String
    /// When it was sent or began to arrive, to the millisecond, which is what is stored.
    public let timestamp: Date
    /// Who answered; `nil` for the user's messages.
    public var engine: EngineKind?
    /// Whether it is all there: `false` while an answer arrives, and for ever if it was interrupted.
    public var isComplete: Bool
    /// PNG, JPEG or WebP files that go with the text. A history keeps them for as long as it is open; its file does not.
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

/// Which conversation of the history.
public typealias ConversationID = Int64

/// A conversation of the history, without its messages.
public struct ConversationSummary: Identifiable, Sendable, Equatable {
    public let id: ConversationID
    /// Who is asked in it.
    public let policy: FallbackPolicy
    /// When it was last opened or written to.
    public let usedAt: Date
    /// How it begins: its first message, cut to 80 characters; `nil` if it has none.
    public let beginning: String?
}

/// A message that a search found, and where.
public struct SearchResult: Sendable, Equatable {
    public let conversation: ConversationID
    public let message: Message
}

extension Date {
    /// Since 1970. A date out of the range of `Int64` becomes its nearest end.
    var milliseconds: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
