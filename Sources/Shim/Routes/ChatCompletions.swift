import HTTP
import LocalLLM
import Tokenizer
import Template
import Wire

/// `POST /v1/chat/completions`
///
/// Errors propagate to `errorResponse`, which makes a status and OpenAI's error body of them. If the client
/// disconnects, this task and its generations are cancelled.
@Sendable func createChatCompletion(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.chat, context, services, hasImage: \ChatCompletionRequest.hasImage) { body in
        let events = try await chatEvents(body, context, services)
        return try await .answer(events, streams: body.stream == true, context.trace)
    }
}

/// Answers a chat with a local model, for all chat routes.
func chatEvents(
    _ body: ChatCompletionRequest, _ context: RequestContext, _ services: Services
) async throws -> ProgressStream<ChatEncoder> {
    let body = try await services.fetchingImages(of: body, context).validated(seesImages: services.seesImages)
    let tools = try OfferedTools(body)
        .readingBareCalls(services.readsBareCalls, in: body.generation.requestedFormat())
    let form = ChatForm(
        variables: try TemplateObject(
            templateArguments: body.chatTemplateKwargs, reasoningEffort: body.reasoningEffort),
        ending: PromptEnding(
            addGenerationPrompt: body.addGenerationPrompt, continueFinalMessage: body.continueFinalMessage),
        template: try .requested(body.chatTemplate), keepsReasoning: body.reasoningFormat == "none")
    return answers(to: context, services, promptField: "messages") {
        try await beginChat(body, tools, form, context, services)
    }
}

private func beginChat(
    _ body: ChatCompletionRequest, _ tools: OfferedTools, _ form: ChatForm, _ context: RequestContext,
    _ services: Services
) async throws -> Answer<ChatEncoder> {
    let lease = try await services.lease(body.model, for: context, takesAdapters: true)
    let model = lease.model
    let messages = body.messages.map { ChatMessage($0) }
    try services.review(messages)
    let images = try await model.read(messages, cacheSalt: body.samplers.clientsCacheSalt)
    let prompt = try model.prompt(messages, tools: tools, form, images: images)
    context.trace.addPromptTokens(prompt.tokens.count)
    let wantsLogprobs = body.logprobs == true
    var options = try SamplingOptions(
        body.generation, body.samplers,
        maximumTokens: (body.maxCompletionTokens ?? body.maxTokens ?? body.nPredict)?.limit,
        topLogprobs: wantsLogprobs ? Int(body.topLogprobs?.value ?? 0) : nil, for: model)
    options.adapterScales = options.adapterScales ?? lease.adapterScales
    options.shownTokens = model.markerTokens
    options.thoughtLimit = model.thoughtLimit(body.samplers.maximumThoughts, prompt)
    options.constraint = try model.constraint(on: prompt, body.generation.requestedFormat(), tools, context.trace)

    let tokenizer = try model.tokenizer
    if let prediction = body.prediction {
        let tokens = tokenizer.encode(prediction.content.text, addSpecial: false, parseSpecial: false)
        options.expectedTokens = Array(tokens.prefix(model.contextSize))
    }
    let isEmpty = options.readsPromptOnly()
    let count = body.generation.choices
    let encoder = try ChatEncoder(
        AnswerIdentity(prefix: "chatcmpl-", id: lease.id, model: model), choices: count,
        form: tools.form, tokenizer: wantsLogprobs ? tokenizer : nil,
        includeUsage: body.streamOptions?.includeUsage == true)
    let group = GenerationGroup(size: count)
    let choices = (0..<count).map { index in
        Choice(
            generation: model.generate(prompt.prompt, options: options.forChoice(index), group: group),
            reader: ChoiceReader(
                choice: index, countsPrompt: index == 0, prompt: prompt, tools: tools,
                list: wantsLogprobs ? TokenList(tokenizer, showing: model.markerTokens) : nil,
                wantsTimings: body.timingsPerToken == true, isEmpty: isEmpty,
                omitsReasoning: body.includeReasoning == false, guardrail: services.guardrail))
    }
    return Answer(lease: lease, form: encoder, choices: choices)
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
        completion.timings = choices.first?.timings
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
        if let progress = delta.progress {
            return try chunks.progress(PromptProgressFields(progress), choice: delta.choice)
        }
        var events: [UInt8] = []
        if !delta.reasoning.isEmpty {
            events += try chunks.delta(
                .init(reasoningContent: delta.reasoning), timings: delta.timings, choice: delta.choice)
        }
        if (tokenizer != nil || delta.timings != nil) && (!delta.content.isEmpty || !delta.tokens.isEmpty) {
            events += try chunks.delta(
                .init(content: delta.content), logprobs: tokenizer.map { ChatLogprobs(delta.tokens, $0) },
                timings: delta.timings, choice: delta.choice)
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
            events += try chunks.finish(finish.reason(form), timings: delta.timings, choice: delta.choice)
        }
        return events
    }

    func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8] {
        guard includeUsage else { return ServerSentEvent.done }
        return try chunks.usage(choices.reduce(TokenUsage()) { $0 + $1.usage }) + ServerSentEvent.done
    }
}
