public import LocalLLM

/// The chat app's backend: the whole history goes along to `/chatgpt`. Answers come in one piece.
public struct ChatService: ChatServiceProtocol {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    public func respond(to messages: [ChatMessage]) async throws -> ChatMessage {
        try await client.post("/chatgpt", Conversation(messages), as: Turn.self).message
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
        try await client.post("/chatgpt-simple", ["prompt": prompt], as: Turn.self).message
    }
}

/// What goes over the wire of a conversation.
struct Conversation: Encodable {
    let messages: [Turn]

    init(_ messages: [ChatMessage]) { self.messages = messages.map(Turn.init) }
}

/// A message's role and content, and nothing else that it may have.
struct Turn: Codable {
    let role: String
    let content: String

    init(_ message: ChatMessage) { (role, content) = (message.role.rawValue, message.content) }

    var message: ChatMessage { ChatMessage(role: .init(rawValue: role), content: content) }
}
