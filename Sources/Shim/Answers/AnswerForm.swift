import HTTP
import LocalLLM
import Wire

/// A validated request in the form of one endpoint: what it asks a model, and how the answer is written.
///
/// A further endpoint needs a type that conforms to this, and a row in the route table.
protocol AnswerForm: Sendable {
    associatedtype Encoder: AnswerEncoder

    /// The name of a model or an adapter; `nil`: the server's only model.
    var model: String? { get }
    var streams: Bool { get }
    /// Field to name in the error if the prompt is too long.
    var promptField: String { get }
    /// How long the model stays in memory after the answer; `nil`: as the server was told.
    var keepAlive: KeepAlive? { get }
    /// - Parameter model: Tells what ids in the request mean: of tokens and of adapters.
    func conversation(for model: any LanguageModel) throws -> ConversationRequest
    func encoder(of conversation: Conversation, by lease: ModelLease) throws -> Encoder
    /// Answers with a local model.
    func response(to context: RequestContext, _ services: Services) async throws -> Response
}

extension AnswerForm {
    var keepAlive: KeepAlive? { nil }

    func response(to context: RequestContext, _ services: Services) async throws -> Response {
        try await answer(to: context, services)
    }

    /// Answers with a local model, in the request's own connection.
    func answer(to context: RequestContext, _ services: Services) async throws -> Response {
        try await .answer(events(for: context, services), streams: streams, context.trace)
    }

    func events(for context: RequestContext, _ services: Services) -> ProgressStream<Encoder> {
        answers(to: context, services, promptField: promptField) {
            context.trace.engine = .local
            let (lease, request) = try await begin(context, services)
            let conversation = try await begin(request, lease.model, services)
            context.trace.addPromptTokens(conversation.promptTokens)
            for warning in conversation.warnings { context.trace.warn(warning) }
            return Answer(
                lease: lease, form: try encoder(of: conversation, by: lease), conversation: conversation)
        }
    }

    /// Number of tokens of a conversation's prompt.
    func countTokens(for context: RequestContext, _ services: Services) async throws -> Int {
        let (lease, request) = try await begin(context, services)
        defer { withExtendedLifetime(lease) {} }
        return try await preparing(context) { try await lease.model.prompt(for: request).tokens.count }
    }

    private func begin(
        _ context: RequestContext, _ services: Services
    ) async throws -> (ModelLease, ConversationRequest) {
        let lease = try await services.lease(model, for: context, takesAdapters: true, keepAlive: keepAlive)
        var request = try conversation(for: lease.model)
        request.sampling.adapterScales = request.sampling.adapterScales ?? lease.adapterScales
        request.tools.readsBareCalls = services.readsBareCalls
        return (lease, request)
    }

    private func begin(
        _ request: ConversationRequest, _ model: any LanguageModel, _ services: Services
    ) async throws -> Conversation {
        guard request.echoesPrompt, request.sampling.topLogprobs != nil else {
            return try await model.begin(request, guardrail: services.guardrail)
        }
        // The prompt's probabilities take as long as an answer.
        return try await within(services.requestTimeout) {
            try await model.begin(request, guardrail: services.guardrail)
        }
    }
}

/// A form whose conversations the upstream can answer as well.
protocol ForwardableForm: AnswerForm {
    /// - Parameter model: `nil` if the upstream answers: ids of tokens and adapters then mean nothing.
    func request(for model: (any LanguageModel)?) throws -> ConversationRequest
    /// - Parameters:
    ///   - name: The model's name for the client.
    ///   - model: `nil` if the upstream answers.
    func encoder(of conversation: Conversation, named name: String, _ model: (any LanguageModel)?) throws -> Encoder
}

extension ForwardableForm {
    func conversation(for model: any LanguageModel) throws -> ConversationRequest { try request(for: model) }

    func encoder(of conversation: Conversation, by lease: ModelLease) throws -> Encoder {
        try encoder(of: conversation, named: lease.id, lease.model)
    }
}
