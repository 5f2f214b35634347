public import Foundation
public import LocalLLM
import Wire

/// Client of any OpenAI-compatible server: streams `/v1/chat/completions`.
public struct OpenAIChatService: ChatServiceProtocol {
    private static let path = "/v1/chat/completions"

    private let client: APIClient
    private let model: String

    /// - Parameters:
    ///   - baseURL: URL of the server, without `/v1`.
    ///   - key: API key, sent as `Authorization: Bearer`; `nil` for a server without keys.
    ///   - patience: Maximum silence of the server.
    public init(
        baseURL: URL, key: String?, model: String, patience: Duration = .seconds(120),
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let authorization = key.map(Authorization.bearer) ?? .none
        self.init(APIClient(baseURL: baseURL, authorization: authorization, patience: patience, log: log), model: model)
    }

    /// - Parameter client: A client with authorization for the server, such as the app's backend.
    public init(_ client: APIClient, model: String) {
        self.client = client
        self.model = model
    }

    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { continuation in
            var usage: AnswerUsage?
            var isWhole = false
            let question = ChatQuestion(model: model, messages: messages.map(RequestMessage.init))
            try await client.events(Self.path, question) { event in
                if event == "[DONE]" { return isWhole = true }
                let chunk = try read(event)
                let choice = chunk.choices.first
                if let text = choice?.thought, !text.isEmpty { continuation.yield(.thought(text)) }
                if let text = choice?.content, !text.isEmpty { continuation.yield(.text(text)) }
                // Some servers send no [DONE].
                let reason = choice?.finishReason
                if reason == "content_filter" { throw ContentBlocked() }
                if reason != nil { isWhole = true }
                if let counts = chunk.usage {
                    usage = AnswerUsage(
                        promptTokens: counts.promptTokens, completionTokens: counts.completionTokens)
                }
            }
            guard isWhole else { throw client.brokenOff(Self.path, "it ended before it was finished") }
            if let usage { continuation.yield(.usage(usage)) }
        }
    }

    public func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { stream([.user(prompt)]) }

    private func read(_ event: String) throws -> ReceivedChat {
        let chunk: ReceivedChat
        do throws(APIError) {
            chunk = try JSON.decode(ReceivedChat.self, from: Array(event.utf8))
        } catch {
            throw client.unreadable(Self.path, "an event: \(error.message)")
        }
        if let error = chunk.error { throw client.brokenOff(Self.path, error.message ?? "an error without a message") }
        return chunk
    }
}

extension RequestMessage {
    /// A message with its role, text and images.
    fileprivate init(_ message: ChatMessage) {
        let parts = message.parts.map { part in
            switch part {
            case .text(let text): MessageContent.Part(type: "text", text: text)
            case .image(let file): MessageContent.Part(type: "image_url", imageURL: .init(url: file.imageDataURL))
            }
        }
        let hasImages = message.images?.isEmpty == false
        self.init(role: message.role.rawValue, content: hasImages ? .parts(parts) : .text(message.content))
    }
}
