public import Foundation
public import LocalLLM
import Providers

/// Client of any server of Anthropic's API: streams `/v1/messages`.
public struct AnthropicChatService: ChatServiceProtocol, Provider {
    /// The version of the API.
    private static let version = ["anthropic-version": "2023-06-01"]

    private let client: APIClient
    private let model: String

    /// - Parameters:
    ///   - baseURL: URL of the server, without `/v1`.
    ///   - key: API key, sent as `x-api-key`; `nil` for a server without keys.
    ///   - patience: Maximum silence of the server.
    public init(
        baseURL: URL, key: String?, model: String, patience: Duration = .seconds(120),
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        client = APIClient(
            baseURL: baseURL, authorization: key.map(Authorization.apiKey) ?? .none, headers: Self.version,
            patience: patience, log: log)
        self.model = model
    }

    /// - Throws: `APIClientError`, `ContentBlocked`, `CancellationError`.
    public func begin(
        _ request: ConversationRequest, guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        try await Service(.anthropic, model: model, over: client).begin(request, guardrail: guardrail)
    }
}
