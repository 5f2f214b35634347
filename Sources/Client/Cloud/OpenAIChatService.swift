public import Foundation
public import LocalLLM
import Wire

/// Any server of OpenAI's API: streams `/v1/chat/completions`.
public struct OpenAIChatService: ChatServiceProtocol {
    private static let path = "/v1/chat/completions"

    private let client: APIClient
    private let model: String

    /// - Parameters:
    ///   - baseURL: Without the `/v1` of the paths.
    ///   - key: Sent as `Authorization: Bearer`; `nil` for a server that lets everybody in.
    ///   - patience: How long the server may be silent.
    public init(
        baseURL: URL, key: String?, model: String, patience: Duration = .seconds(120),
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let authorization = key.map(Authorization.bearer) ?? .none
        self.init(APIClient(baseURL: baseURL, authorization: authorization, patience: patience, log: log), model: model)
    }

    /// - Parameter client: Of a server that lets its requests in, such as the app's backend.
    public init(_ client: APIClient, model: String) {
        self.client = client
        self.model = model
    }

    public func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        .task { continuation in
            var usage: AnswerUsage?
            var isWhole = false
            let question = Question(model: model, messages: messages.map(QuestionMessage.init))
            try await client.events(Self.path, question) { event in
                if event == "[DONE]" { return isWhole = true }
                let chunk = try read(event)
                let delta = chunk.choices?.first?.delta
                if let text = delta?.thought, !text.isEmpty { continuation.yield(.thought(text)) }
                if let text = delta?.content, !text.isEmpty { continuation.yield(.text(text)) }
                // Some servers send no [DONE].
                let reason = chunk.choices?.first?.finishReason
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

    private func read(_ event: String) throws -> Chunk {
        let chunk: Chunk
        do throws(APIError) {
            chunk = try JSON.decode(Chunk.self, from: Array(event.utf8))
        } catch {
            throw client.unreadable(Self.path, "an event: \(error.message)")
        }
        if let error = chunk.error { throw client.brokenOff(Self.path, error.text) }
        return chunk
    }
}

private struct Question: Encodable {
    let model: String
    let messages: [QuestionMessage]
    let stream = true
    let streamOptions = ["include_usage": true]

    enum CodingKeys: String, CodingKey {
        case model, messages, stream
        case streamOptions = "stream_options"
    }
}

/// A message whose content is a text, or parts where it has pictures.
private struct QuestionMessage: Encodable {
    private struct Part: Encodable {
        let type: String
        var text: String?
        var imageURL: [String: String]?

        enum CodingKeys: String, CodingKey {
            case type, text
            case imageURL = "image_url"
        }
    }

    let message: ChatMessage

    init(_ message: ChatMessage) { self.message = message }

    private enum CodingKeys: String, CodingKey { case role, content }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(message.role.rawValue, forKey: .role)
        guard let images = message.images, !images.isEmpty else {
            return try container.encode(message.content, forKey: .content)
        }
        var parts: [Part] = []
        let texts = message.content.split(separator: ChatMessage.picture, omittingEmptySubsequences: false)
        for (index, text) in texts.enumerated() {
            if index > 0, images.indices.contains(index - 1) {
                let image = images[index - 1]
                let address = "data:\(image.mediaType);base64,\(image.base64EncodedString())"
                parts.append(Part(type: "image_url", imageURL: ["url": address]))
            }
            let text = text.trimmingCharacters(in: .newlines)
            if !text.isEmpty { parts.append(Part(type: "text", text: text)) }
        }
        try container.encode(parts, forKey: .content)
    }
}

extension Data {
    /// Of a picture, by its first bytes.
    fileprivate var mediaType: String {
        if starts(with: [0x89, 0x50]) { return "image/png" }
        return starts(with: Array("RIFF".utf8)) ? "image/webp" : "image/jpeg"
    }
}

/// What is looked at of an event: servers differ in what else they send.
private struct Chunk: Decodable {
    struct Choice: Decodable {
        let delta: Delta?
        let finishReason: String?

        enum CodingKeys: String, CodingKey {
            case delta
            case finishReason = "finish_reason"
        }
    }
    struct Delta: Decodable {
        let content: String?
        /// Servers have two names for thoughts, and the second can also stand for something else.
        private let reasoningContent: String?
        private let reasoning: JSONValue?

        var thought: String? {
            if let reasoningContent { return reasoningContent }
            return if case .string(let text) = reasoning { text } else { nil }
        }

        enum CodingKeys: String, CodingKey {
            case content, reasoning
            case reasoningContent = "reasoning_content"
        }
    }
    struct Usage: Decodable {
        let promptTokens: Int
        let completionTokens: Int

        enum CodingKeys: String, CodingKey {
            case promptTokens = "prompt_tokens"
            case completionTokens = "completion_tokens"
        }
    }

    let choices: [Choice]?
    let usage: Usage?
    let error: JSONValue?
}

extension JSONValue {
    /// An error's message, wherever the server puts it.
    fileprivate var text: String {
        switch self {
        case .string(let text): text
        case .object(let members): members["message"]?.text ?? "an error without a message"
        default: "an error without a message"
        }
    }
}
