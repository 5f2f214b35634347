public import Foundation
import JSON
public import LocalLLM
import Providers

/// Client of any OpenAI-compatible server: streams `/v1/chat/completions`.
public struct OpenAIChatService: ChatServiceProtocol, Provider {
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

    /// - Throws: `APIClientError`, `ContentBlocked`, `CancellationError`.
    public func begin(
        _ request: ConversationRequest, guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        try await Service(.openAI, model: model, over: client).begin(request, guardrail: guardrail)
    }
}
