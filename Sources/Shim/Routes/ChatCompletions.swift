import HTTP
import JSON
import LocalLLM
import Tokenizer
import Template
import Wire

/// `POST /v1/chat/completions`
///
/// Errors propagate to `errorResponse`, which makes a status and OpenAI's error body of them. If the client
/// disconnects, this task and its generations are cancelled.
@Sendable func createChatCompletion(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await converseHereOrUpstream(.chat, context, services, hasImage: \ChatCompletionRequest.hasImage) {
        try await ChatForm($0, isForwarded: $1, context, services)
    }
}

/// `POST /v1/chat/completions/input_tokens`, from llama.cpp's API: counts the tokens of a chat's prompt.
@Sendable func countChatTokens(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(ChatCompletionRequest.self, from: context.body)
    let form = try await ChatForm(body, context, services)
    return try .json(ResponseInputTokens(await form.countTokens(for: context, services)))
}

/// A chat, for all chat routes.
struct ChatForm: ForwardableForm {
    typealias Encoder = ChatEncoder

    private let body: ChatCompletionRequest
    private let tools: OfferedTools
    private let format: ContentFormat?
    private let rendering: ConversationRequest.Rendering

    /// - Parameter isForwarded: Whether the upstream answers.
    /// - Throws: `APIError` for a body that cannot be served.
    init(
        _ body: ChatCompletionRequest, isForwarded: Bool = false, _ context: RequestContext, _ services: Services
    ) async throws {
        let seesImages = services.models.seesImages(body.model) || isForwarded
        let body = try await services.fetchingImages(of: body, context).validated(seesImages: seesImages)
        self.body = body
        tools = try OfferedTools(body)
        format = try body.generation.requestedFormat().map { ContentFormat($0) }
        rendering = try .init(body)
    }

    var model: String? { body.model }
    var streams: Bool { body.stream == true }
    var promptField: String { "messages" }

    func request(for model: (any LanguageModel)?) throws -> ConversationRequest {
        var request = ConversationRequest(.messages(body.messages.map { ChatMessage($0) }))
        request.tools = tools.offer
        request.rendering = rendering
        request.format = format
        request.sampling = try SamplingOptions(
            body.sampling, topLogprobs: body.logprobs == true ? Int(body.topLogprobs?.value ?? 0) : nil, for: model)
        request.maximumThoughts = body.sampling.maximumThoughts.map { Int($0) }
        request.choices = body.generation.choices
        request.prediction = body.prediction?.content.text
        request.omitsReasoning = body.includeReasoning == false
        request.reportsUsage = body.sampling.timesTokens
        return request
    }

    func encoder(
        of _: Conversation, named name: String, _ model: (any LanguageModel)?
    ) throws -> ChatEncoder {
        try ChatEncoder(
            AnswerIdentity(prefix: "chatcmpl-", id: name, model: model), choices: body.generation.choices,
            form: tools.form, tokenizer: body.logprobs == true ? model?.tokenizer : nil,
            includeUsage: body.streamOptions?.includeUsage == true)
    }
}

extension ConversationRequest {
    /// What of a validated chat its rendering depends on.
    init(rendering body: ChatCompletionRequest) throws(APIError) {
        self.init(.messages(body.messages.map { ChatMessage($0) }))
        tools = try OfferedTools(body).offer
        rendering = try .init(body)
    }
}

extension ConversationRequest.Rendering {
    /// The rendering that a validated chat asks for.
    init(_ body: ChatCompletionRequest) throws(APIError) {
        self.init()
        variables = try TemplateObject(
            templateArguments: body.chatTemplateKwargs, reasoningEffort: body.reasoningEffort)
        ending = PromptEnding(
            addGenerationPrompt: body.addGenerationPrompt, continueFinalMessage: body.continueFinalMessage)
        template = try .requested(body.chatTemplate)
        keepsReasoning = body.reasoningFormat == "none"
    }
}

extension ChatCompletion.Choice {
    /// - Parameter hasLogprobs: Whether the client asked for probabilities; the list is empty here.
    fileprivate init(_ whole: ChoiceDelta, _ form: OfferedTools.Form, hasLogprobs: Bool) {
        let hasOnlyCalls = whole.content.isEmpty && !whole.calls.isEmpty
        var message = ChatCompletion.AssistantMessage(
            content: hasOnlyCalls ? nil : whole.content,
            reasoningContent: whole.reasoning.isEmpty ? nil : whole.reasoning)
        if let call = whole.calls.first {
            switch form {
            case .toolCalls: message.toolCalls = whole.calls.map { ToolCall($0, isWhole: true) }
            case .functionCall: message.functionCall = .init(name: call.name, arguments: call.arguments)
            }
        }
        self.init(
            index: whole.choice, message: message, finishReason: whole.finish?.reason(form) ?? "",
            logprobs: hasLogprobs ? ChatLogprobs(content: []) : nil)
    }
}

extension ChoiceDelta.Finish {
    /// The chat endpoint's `finish_reason`.
    fileprivate func reason(_ form: OfferedTools.Form) -> String {
        guard hasCalls, reason == .stop else { return reason.rawValue }
        return form == .toolCalls ? "tool_calls" : "function_call"
    }
}

extension ToolCall {
    /// - Parameter isWhole: Whether the call is part of a whole message, where calls have no index.
    fileprivate init(_ call: CallDelta, isWhole: Bool) {
        let type = call.name == nil ? nil : call.isCustom ? "custom" : "function"
        self.init(
            index: isWhole ? nil : call.index, id: call.id, type: type,
            function: call.isCustom ? nil : .init(name: call.name, arguments: call.arguments),
            custom: call.isCustom ? .init(name: call.name, input: call.arguments) : nil)
    }
}

/// Encodes a completion, or chunks followed by the usage if requested and `[DONE]`.
struct ChatEncoder: AnswerEncoder {
    private let identity: AnswerIdentity
    private let chunks: ChatCompletionChunkEncoder
    private let choices: Int
    private let form: OfferedTools.Form
    private let tokenizer: TextTokenizer?
    private let includeUsage: Bool

    init(
        _ identity: AnswerIdentity, choices: Int, form: OfferedTools.Form, tokenizer: TextTokenizer?, includeUsage: Bool
    ) throws {
        self.form = form
        self.identity = identity
        chunks = try ChatCompletionChunkEncoder(identity, choices: choices, includeUsage: includeUsage)
        self.choices = choices
        self.tokenizer = tokenizer
        self.includeUsage = includeUsage
    }

    func whole(_ choices: [ChoiceDelta]) -> ChatCompletion {
        var completion = ChatCompletion(
            identity, choices: choices.map { .init($0, form, hasLogprobs: tokenizer != nil) }, usage: choices.usage)
        completion.timings = choices.first?.usage.map { Timings($0) }
        return completion
    }

    func lists(_ choices: [ChoiceDelta]) -> [String: [LongList]] {
        guard let tokenizer else { return [:] }
        return [
            "content": choices.map { choice in
                LongList(count: choice.tokens.count, values: choice.valuesPerToken) { range in
                    ChatLogprobs(Array(choice.tokens[range]), tokenizer).content
                }
            }
        ]
    }

    func begin() throws -> [UInt8] { try (0..<choices).flatMap { try chunks.role(choice: $0) } }

    func encode(_ delta: ChoiceDelta) throws -> [UInt8] {
        let timings = delta.usage.map { Timings($0) }
        if let progress = delta.progress {
            return try chunks.progress(PromptProgressFields(progress), choice: delta.choice)
        }
        var events: [UInt8] = []
        if !delta.reasoning.isEmpty {
            events += try chunks.delta(
                .init(reasoningContent: delta.reasoning), timings: timings, choice: delta.choice)
        }
        if (tokenizer != nil || timings != nil) && (!delta.content.isEmpty || !delta.tokens.isEmpty) {
            events += try chunks.delta(
                .init(content: delta.content), logprobs: tokenizer.map { ChatLogprobs(delta.tokens, $0) },
                timings: timings, choice: delta.choice)
        } else if !delta.content.isEmpty {
            events += try chunks.text(delta.content, choice: delta.choice)
        }
        for call in delta.calls {
            let piece =
                form == .toolCalls
                ? ChatCompletionChunk.Delta(toolCall: ToolCall(call, isWhole: false))
                : .init(functionCall: .init(name: call.name, arguments: call.arguments))
            events += try chunks.delta(piece, choice: delta.choice)
        }
        if let finish = delta.finish {
            events += try chunks.finish(finish.reason(form), timings: timings, choice: delta.choice)
        }
        return events
    }

    func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8] {
        guard includeUsage else { return ServerSentEvent.done }
        return try chunks.usage(choices.usage) + ServerSentEvent.done
    }
}
