import Foundation
import HTTP
import JSON
import LocalLLM
import Template
import Tokenizer
import Wire

/// `POST /api/chat` of Ollama's API.
@Sendable func chatLikeOllama(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(OllamaChatRequest.self, from: context.body)
    return try await answer(
        body, .chat, generatesNothing: body.generatesNothing, hasImage: body.hasImage, context, services
    ) { model, isForwarded in
        try OllamaForm(chat: body, model: model, isForwarded: isForwarded, context, services)
    }
}

/// `POST /api/generate` of Ollama's API.
@Sendable func generateLikeOllama(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(OllamaGenerateRequest.self, from: context.body)
    return try await answer(
        body, .completion, generatesNothing: body.generatesNothing, hasImage: body.hasImage, context, services
    ) { model, isForwarded in
        try OllamaForm(completion: body, model: model, isForwarded: isForwarded, context, services)
    }
}

/// - Parameter form: The request in its form; takes the model's id here, and whether the upstream answers.
private func answer<Fields>(
    _ body: OllamaRequest<Fields>, _ kind: OllamaEncoder.Kind, generatesNothing: Bool, hasImage: Bool,
    _ context: RequestContext, _ services: Services, form: (String, _ isForwarded: Bool) throws -> OllamaForm
) async throws -> Response {
    let received = ContinuousClock.now
    let model = try services.id(ofTagged: body.model)
    if generatesNothing, services.models.has(model) {
        let reason = try await services.loadOrUnload(model, body.keepAlive, context)
        var answer = OllamaAnswer(model: body.model, createdAt: .timestamp(Date()), done: true)
        switch kind {
        case .chat: answer.message = OllamaMessage(role: "assistant", content: "")
        case .completion: answer.response = ""
        }
        answer.doneReason = reason
        answer.totalDuration = (ContinuousClock.now - received).nanoseconds
        return try .json(answer)
    }
    let bytes = context.body
    return try await converseHereOrUpstream(
        GenerationBody(body, model: model) { bytes }, passingOnTo: nil, context, services,
        hasImage: { _ in hasImage },
        form: { _, isForwarded in try form(model, isForwarded) })
}

extension RequestTrace {
    /// Names the options that have no effect.
    func warn(of options: OllamaOptions?) {
        guard let names = options?.withoutEffect, !names.isEmpty else { return }
        warn(
            "options without effect: \(names.joined(separator: ", ")) (how models are loaded is set by the server's "
                + "own options)")
    }
}

extension Services {
    /// The id of the model with this name in Ollama's form; the name itself if the upstream may have it.
    func id(ofTagged name: String) throws(APIError) -> String {
        if let id = models.id(ofTagged: name) { return id }
        guard upstream == nil else { return name }
        let ids = models.models.map(\.file.id)
        throw APIError(
            status: 404, kind: .invalidRequest,
            message: "model '\(name)' not found"
                + (ids.isEmpty ? "" : ": this server has \(ids.joined(separator: ", "))"),
            param: "model", code: "model_not_found")
    }

    /// Loads a model, or unloads it if it is to be kept for no time.
    ///
    /// - Returns: The `done_reason`.
    func loadOrUnload(
        _ name: String, _ keepAlive: KeepAlive?, _ context: RequestContext
    ) async throws -> String {
        if permitted(keepAlive, for: name, context) == .notAtAll {
            let model = try models.model(named: name)
            // A model that is answering is unloaded later.
            if !model.unload() { model.keep(for: keepAlive) }
            return "unload"
        }
        let lease = try await lease(name, for: context, takesAdapters: true, keepAlive: keepAlive)
        withExtendedLifetime(lease) {}
        return "load"
    }
}

/// A chat or a completion in Ollama's form.
private struct OllamaForm: ForwardableForm {
    typealias Encoder = OllamaEncoder

    private enum Input {
        case messages([ChatMessage])
        /// Continued as it is.
        case text(String)
        case gap(before: String, after: String)
    }

    let model: String?
    let streams: Bool
    let keepAlive: KeepAlive?
    private let name: String
    private let kind: OllamaEncoder.Kind
    private let input: Input
    private let tools: OfferedTools
    private let format: ContentFormat?
    private let sampling: SamplingFields
    private let thinking: OllamaThinking?
    private let alternatives: Int?
    private let received = ContinuousClock.now

    var promptField: String { kind == .chat ? "messages" : "prompt" }

    init(
        chat request: OllamaChatRequest, model: String, isForwarded: Bool, _ context: RequestContext,
        _ services: Services
    ) throws(APIError) {
        let body = try request.validated(seesImages: services.models.seesImages(model) || isForwarded)
        try self.init(
            body, .chat, .messages([ChatMessage](body.messages ?? [])), try OfferedTools(functions: body.tools),
            model: model, context)
    }

    init(
        completion request: OllamaGenerateRequest, model: String, isForwarded: Bool, _ context: RequestContext,
        _ services: Services
    ) throws(APIError) {
        let body = try request.validated(seesImages: services.models.seesImages(model) || isForwarded)
        let prompt = body.prompt ?? ""
        let input: Input
        if body.fillsIn {
            input = .gap(before: prompt, after: body.suffix ?? "")
        } else if body.raw == true {
            input = .text(prompt)
        } else {
            let system = body.system.flatMap { $0.isEmpty ? nil : [ChatMessage.system($0)] } ?? []
            let files = OllamaMessage.files(of: body.images)
            input = .messages(system + [files.isEmpty ? .user(prompt) : .user(prompt, images: files)])
        }
        try self.init(body, .completion, input, try OfferedTools(functions: nil), model: model, context)
    }

    private init<Fields>(
        _ body: OllamaRequest<Fields>, _ kind: OllamaEncoder.Kind, _ input: Input, _ tools: OfferedTools,
        model: String, _ context: RequestContext
    ) throws(APIError) {
        (self.model, name, streams, keepAlive) = (model, body.model, body.streams, body.keepAlive)
        (self.kind, self.input, self.tools) = (kind, input, tools)
        format = try body.requestedFormat().map { ContentFormat($0) }
        (sampling, thinking, alternatives) = (body.sampling, body.think, body.alternatives)
        context.trace.warn(of: body.options)
    }

    func request(for model: (any LanguageModel)?) throws -> ConversationRequest {
        var request = ConversationRequest(try input(for: model))
        request.tools = tools.offer
        request.format = format
        request.sampling = try SamplingOptions(sampling, topLogprobs: alternatives, for: model)
        request.maximumThoughts = sampling.maximumThoughts.map { Int($0) }
        switch thinking {
        case nil: break
        case .switched(let isOn)?:
            request.rendering.variables.switchThoughts(on: isOn)
            request.omitsReasoning = !isOn
        case .level(let level)?:
            request.rendering.variables = try TemplateObject(templateArguments: nil, reasoningEffort: level)
        }
        return request
    }

    private func input(for model: (any LanguageModel)?) throws -> ConversationRequest.Input {
        if case .messages(let messages) = input { return .messages(messages) }
        guard let model else {
            throw APIError.invalid("model", "only this server's models continue a prompt with raw or suffix")
        }
        switch input {
        case .messages(let messages): return .messages(messages)
        case .text(let text): return .texts([TextPrompt(text: text, tokens: try model.tokens(of: text))])
        case .gap(let before, let after):
            let tokenizer = try model.tokenizer
            let gap = Gap(before: tokenizer.encode(plain: before), after: tokenizer.encode(plain: after))
            let limit = Int(clamping: sampling.maximumTokens ?? 0)
            guard let ids = try model.tokens(around: gap, maximumTokens: limit) else {
                throw APIError.invalid("suffix", "this model's vocabulary has no fill-in-the-middle tokens")
            }
            return .texts([TextPrompt(text: before + after, tokens: ids)])
        }
    }

    func encoder(of _: Conversation, named _: String, _ model: (any LanguageModel)?) throws -> OllamaEncoder {
        try OllamaEncoder(
            kind, model: name, tokenizer: alternatives == nil ? nil : model?.tokenizer, received: received)
    }
}

extension [ChatMessage] {
    /// The messages of a validated chat. Calls without an id get one, and results refer to it.
    fileprivate init(_ messages: [OllamaMessage]) {
        var calls = 0
        /// Calls without a result.
        var open: [ChatMessage.ToolCall] = []
        self = messages.map { message in
            var result = ChatMessage(
                role: .init(rawValue: message.role), content: message.content ?? "", reasoning: message.thinking)
            let files = message.imageFiles
            if !files.isEmpty {
                let shown = ChatMessage.user(result.content, images: files)
                (result.content, result.images) = (shown.content, shown.images)
            }
            let made = (message.toolCalls ?? []).map { call in
                calls += 1
                let arguments = call.function.arguments
                return ChatMessage.ToolCall(
                    id: call.id ?? "call_\(calls)", name: call.function.name,
                    arguments: arguments.map { $0.string ?? ($0.isNull ? "{}" : $0.text) } ?? "{}")
            }
            if !made.isEmpty { (result.toolCalls, open) = (made, made) }
            if message.role == "tool" {
                let index =
                    open.firstIndex { $0.id == message.toolCallID } ?? open.firstIndex { $0.name == message.toolName }
                    ?? open.indices.first
                let call = index.map { open.remove(at: $0) }
                result.toolCallID = message.toolCallID ?? call?.id
                result.name = message.toolName ?? call?.name
            }
            return result
        }
    }
}
