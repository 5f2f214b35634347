public import Foundation

/// One message of a conversation.
public struct ChatMessage: Sendable, Equatable, Codable {
    /// The author's role. Templates compare roles as strings, so any string is allowed.
    public struct Role: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringLiteral {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        /// The app's instructions. For a template without this role they become the user's.
        public static let system: Role = "system"
        /// The person who asks.
        public static let user: Role = "user"
        /// The model.
        public static let assistant: Role = "assistant"
        /// The result of a tool call.
        public static let tool: Role = "tool"
    }

    /// A function that an assistant called.
    public struct ToolCall: Sendable, Equatable, Codable {
        /// Links the call with its result: `toolCallID` of that message.
        public var id: String
        /// The function's name, as the request offered it.
        public var name: String
        /// JSON text.
        public var arguments: String

        /// A call of an earlier turn, for a conversation that is continued.
        public init(id: String, name: String, arguments: String) {
            self.id = id
            self.name = name
            self.arguments = arguments
        }
    }

    /// Who wrote the message.
    public var role: Role
    /// The text; with `imagePlaceholder` where an image belongs.
    public var content: String
    /// The speaker's name where several speakers share a role; only some templates print it.
    public var name: String?
    /// The assistant's reasoning before the content; only some templates print it.
    public var reasoning: String?
    /// Calls that an assistant made.
    public var toolCalls: [ToolCall]?
    /// ID of the call that this result answers.
    public var toolCallID: String?
    /// PNG, JPEG, WebP or GIF files, one for each `imagePlaceholder` in `content`, in order. Without files, `imagePlaceholder` is plain text.
    public var images: [Data]?

    /// Marks the place of an image in `content`: U+FFFC, Unicode's object replacement character.
    public static let imagePlaceholder: Character = "\u{FFFC}"

    /// A message without calls and images, which can be set afterwards.
    public init(role: Role, content: String, name: String? = nil, reasoning: String? = nil) {
        self.role = role
        self.content = content
        self.name = name
        self.reasoning = reasoning
    }

    /// Instructions of the app.
    public static func system(_ content: String) -> Self { .init(role: .system, content: content) }
    /// A question or request.
    public static func user(_ content: String) -> Self { .init(role: .user, content: content) }
    /// A message with images before its text.
    public static func user(_ content: String, images: [Data]) -> Self {
        var message = Self(role: .user, content: content.filter { $0 != imagePlaceholder })
        message.content = String(repeating: imagePlaceholder, count: images.count) + "\n" + message.content
        message.images = images
        return message
    }
    /// An answer of an earlier turn, without its reasoning.
    public static func assistant(_ content: String) -> Self { .init(role: .assistant, content: content) }
}
