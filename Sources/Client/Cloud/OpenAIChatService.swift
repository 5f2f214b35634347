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
            let question = Question(model: model, messages: messages.map(RoleAndContent.init))
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
    let messages: [RoleAndContent]
    let stream = true
    let streamOptions = ["include_usage": true]

    enum CodingKeys: String, CodingKey {
        case model, messages, stream
        case streamOptions = "stream_options"
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
