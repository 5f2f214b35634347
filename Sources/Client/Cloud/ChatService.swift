public import Foundation
public import LocalLLM
import Wire

/// Client of the backend's `/chatgpt`: sends the whole history; answers are not streamed.
public struct ChatService: ChatServiceProtocol {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    /// - Throws: `ImagesNotAccepted` for messages with images.
    public func respond(to messages: [ChatMessage]) async throws -> ChatMessage {
        guard messages.allSatisfy({ $0.images?.isEmpty ?? true }) else { throw ImagesNotAccepted() }
        return try await client.post("/chatgpt", AppConversationBody(messages), as: RoleAndContent.self).message
    }

    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { $0.yield(.text(try await respond(to: messages).content)) }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { $0.yield(.text(try await ChatSimpleService(client).respond(to: prompt).content)) }
    }
}

/// A message with images went to a service that takes text only.
public struct ImagesNotAccepted: LocalizedError {
    public var errorDescription: String? { "The chat app's server accepts no images in a conversation." }
    public var recoverySuggestion: String? { "Send the message without the image, or choose another engine." }
}

/// Client of the backend's `/chatgpt-simple`: one prompt without history.
public struct ChatSimpleService: Sendable {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    public func respond(to prompt: String) async throws -> ChatMessage {
        try await client.post("/chatgpt-simple", ["prompt": prompt], as: RoleAndContent.self).message
    }
}

/// Body of a request to `/chatgpt`.
struct AppConversationBody: Encodable {
    let messages: [RoleAndContent]

    init(_ messages: [ChatMessage]) { self.messages = messages.map(RoleAndContent.init) }
}

extension RoleAndContent {
    /// Keeps only role and content.
    init(_ message: ChatMessage) { self.init(role: message.role.rawValue, content: message.content) }

    var message: ChatMessage { ChatMessage(role: .init(rawValue: role), content: content) }
}
