public import LocalLLM
import Wire

/// The chat app's backend: the whole history goes along to `/chatgpt`. Answers come in one piece.
public struct ChatService: ChatServiceProtocol {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    public func respond(to messages: [ChatMessage]) async throws -> ChatMessage {
        try await client.post("/chatgpt", Conversation(messages), as: RoleAndContent.self).message
    }

    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { $0.yield(.text(try await respond(to: messages).content)) }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { $0.yield(.text(try await ChatSimpleService(client).respond(to: prompt).content)) }
    }
}

/// The chat app's backend for one prompt without a history: `/chatgpt-simple`.
public struct ChatSimpleService: Sendable {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    public func respond(to prompt: String) async throws -> ChatMessage {
        try await client.post("/chatgpt-simple", ["prompt": prompt], as: RoleAndContent.self).message
    }
}

/// What goes over the wire of a conversation.
struct Conversation: Encodable {
    let messages: [RoleAndContent]

    init(_ messages: [ChatMessage]) { self.messages = messages.map(RoleAndContent.init) }
}

extension RoleAndContent {
    /// Leaves out whatever else a message may have.
    init(_ message: ChatMessage) { self.init(role: message.role.rawValue, content: message.content) }

    var message: ChatMessage { ChatMessage(role: .init(rawValue: role), content: content) }
}
