import JSON
package import LocalLLM
import Wire

/// The APIs of services that answer chats.
package enum ServiceAPI: String, Sendable, CaseIterable {
    case openAI = "openai"
    case anthropic

    /// Path behind `/v1` that conversations are sent to.
    package var path: String {
        switch self {
        case .openAI: "/chat/completions"
        case .anthropic: "/messages"
        }
    }
}

/// A model of a service, as a provider.
package struct Service<Transport: ServiceTransport>: Provider {
    private let api: ServiceAPI
    private let model: String
    private let transport: Transport

    package init(_ api: ServiceAPI, model: String, over transport: Transport) {
        (self.api, self.model, self.transport) = (api, model, transport)
    }

    /// - Throws: `NotSentError`; `GuardrailViolation`; the transport's errors; `CancellationError`.
    package func begin(
        _ request: ConversationRequest, guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        switch api {
        case .openAI: try await begin(ChatsDialect.self, request, guardrail)
        case .anthropic: try await begin(MessagesDialect.self, request, guardrail)
        }
    }

    private func begin<Dialect: ServiceDialect>(
        _: Dialect.Type, _ request: ConversationRequest, _ guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        guard case .messages(let messages) = request.input else {
            throw NotSentError("prompt", "the service takes conversations only")
        }
        try guardrail?.check(prompts: messages.filter { $0.role == .user }.map(\.content))
        let written = try Dialect.body(request, model: model)
        let bytes = written.body.bytes
        return try await Conversation(
            request.sampling, count: request.choices, warnings: written.warnings
        ) { [transport, api] send in
            var reader = Dialect.reader(for: request)
            var guards = guardrail.map { Array(repeating: ChoiceGuard($0), count: request.choices) }
            func pass(_ deltas: [ChoiceDelta]) throws {
                for var delta in deltas {
                    try guards?[delta.choice].pass(&delta)
                    send(delta)
                }
            }
            try await transport.events(api, bytes) { event in
                let deltas: [ChoiceDelta]
                do throws(ServiceProblem) { deltas = try reader.read(event) } catch {
                    throw transport.error(error, of: api)
                }
                try pass(deltas)
            }
            guard reader.isWhole else { throw transport.error(.brokenOff, of: api) }
            try pass(reader.finish())
        }
    }
}

/// How requests and the events of answers are written.
protocol ServiceDialect: Sendable {
    associatedtype Reader: AnswerEventReader

    /// - Throws: `NotSentError`.
    static func body(_ request: ConversationRequest, model: String) throws -> WrittenRequest
    static func reader(for request: ConversationRequest) -> Reader
}

/// Turns the events of an answer into deltas.
protocol AnswerEventReader: Sendable {
    /// Whether the last event has come.
    var isWhole: Bool { get }
    mutating func read(_ event: String) throws(ServiceProblem) -> [ChoiceDelta]
    /// The deltas that end the choices.
    mutating func finish() -> [ChoiceDelta]
}

/// A request as a service takes it.
struct WrittenRequest {
    var body: JSON
    /// What of the request is left out because the API has no such field.
    var warnings: [String]
}
