import HTTP
import LocalLLM
import Template
import Tokenizer
import Wire

/// `POST /v1/responses`
@Sendable func createResponse(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.responses, context, services, hasImage: \ResponseRequest.hasImage) { body in
        let body = try await services.fetchingImages(of: body, context).validated(seesImages: services.seesImages)
        let conversation =
            try conversation(before: body.previousResponseID, services.responses)
            + body.input.messages.map { ChatMessage($0) }
        let tools = try OfferedTools(body, refusesHosted: services.refusesHostedTools)
            .readingBareCalls(services.readsBareCalls, in: body.requestedFormat())
        context.trace.note = body.leftOut(tools)
        let events = answers(to: context, services, promptField: "input") {
            try await beginResponse(body, tools, conversation, context, services)
        }
        return try await .answer(events, streams: body.stream == true, context.trace)
    }
}

private func beginResponse(
    _ body: ResponseRequest, _ tools: OfferedTools, _ conversation: [ChatMessage], _ context: RequestContext,
    _ services: Services
) async throws -> Answer<ResponseEncoder> {
    let lease = try await services.lease(body.model, for: context, takesAdapters: true)
    let model = lease.model
    try services.review(conversation)
    let prompt = try await chatPrompt(for: body, tools, conversation, model)
    context.trace.addPromptTokens(prompt.tokens.count)
    var options = try SamplingOptions(
        body.generation, body.samplers, maximumTokens: body.maxOutputTokens?.value ?? body.samplers.maximumTokens,
        topLogprobs: body.wantsLogprobs ? Int(body.topLogprobs?.value ?? 0) : nil, for: model)
    options.adapterScales = options.adapterScales ?? lease.adapterScales
    options.shownTokens = model.markerTokens
    options.thoughtLimit = model.thoughtLimit(body.samplers.maximumThoughts, prompt)
    options.constraint = try model.constraint(on: prompt, body.requestedFormat(), tools, context.trace)
    let isEmpty = options.readsPromptOnly()
    let lister = body.wantsLogprobs ? try model.tokenizer : nil
    let choice = Choice(
        generation: model.generate(prompt.prompt, options: options, group: nil),
        reader: ChoiceReader(
            choice: 0, countsPrompt: true, prompt: prompt, tools: tools,
            list: lister.map { TokenList($0, showing: model.markerTokens) }, isEmpty: isEmpty,
            guardrail: services.guardrail))

    let identity = AnswerIdentity(prefix: "resp_", id: lease.id, model: model)
    let settled = model.settled(options)
    var response = ModelResponse(
        identity, for: body,
        sampling: .init(
            temperature: settled.temperature ?? 0, topP: settled.topP ?? 1, presencePenalty: settled.presencePenalty,
            frequencyPenalty: settled.frequencyPenalty, topLogprobs: Int(body.topLogprobs?.value ?? 0)))
    if let note = context.trace.note, response.metadata["left_out"] == nil {
        // The longest value that the specification allows.
        response.metadata["left_out"] = String(note.prefix(512))
    }
    let encoder = ResponseEncoder(response, tokenizer: lister, namespaced: tools.namespaced) { whole in
        guard whole.store else { return }
        do {
            try services.responses.insert(
                .init(whole, conversation: conversation + [whole.message], client: context.client))
        } catch {
            // The answer is complete; only the log tells that it will not survive a restart.
            context.trace.error = "\(error)"
        }
    }
    return Answer(lease: lease, form: encoder, choices: [choice])
}

extension ResponseRequest {
    /// The hosted tools and the items that the model does not see, as a note for the log and the response's metadata.
    fileprivate func leftOut(_ tools: OfferedTools) -> String? {
        var types: [String] = []
        for type in fields.input.hiddenTypes where !types.contains(type) { types.append(type) }
        let parts = [("tools", tools.leftOut), ("items", types)].filter { !$0.1.isEmpty }
        return parts.isEmpty ? nil : parts.map { "\($0.0): \($0.1.joined(separator: ", "))" }.joined(separator: "; ")
    }
}

private func chatPrompt(
    for body: ResponseRequest, _ tools: OfferedTools, _ conversation: [ChatMessage], _ model: any LanguageModel
) async throws -> ChatPrompt {
    let instructions = body.instructions.map { [ChatMessage.system($0)] } ?? []
    return try model.prompt(
        instructions + conversation, tools: tools,
        ChatForm(variables: try TemplateObject(templateArguments: nil, reasoningEffort: body.reasoning?.effort)),
        images: try await model.read(conversation, cacheSalt: body.samplers.clientsCacheSalt))
}

private func conversation(before id: String?, _ responses: ResponseStore) throws(APIError) -> [ChatMessage] {
    guard let id else { return [] }
    guard let entry = responses[id] else {
        throw APIError(
            status: 400, kind: .invalidRequest,
            message: "Previous response with id '\(id)' not found. The server keeps only recent responses.",
            param: "previous_response_id", code: "previous_response_not_found")
    }
    return entry.conversation
}

/// `GET /v1/responses/{id}`; with `stream=true` as its events.
@Sendable func showResponse(_ context: RequestContext, _ services: Services) throws -> Response {
    let response = try storedResponse(context, services).response
    guard let stream = context.query("stream"), stream != "false" else { return try .json(response) }
    let startingAfter = try context.wholeNumber("starting_after", 0...Int(Int32.max)) ?? -1
    let events = try ResponseEncoder.replay(response, startingAfter: startingAfter)
    return Response(status: 200, headers: .ofEventStream, body: .bytes(events))
}

/// `DELETE /v1/responses/{id}`
@Sendable func deleteResponse(_ context: RequestContext, _ services: Services) throws -> Response {
    let id = context.parameter("id")
    guard try services.responses.remove(id) else { throw responseNotFound(id) }
    return try .json(Deletion(id: id))
}

/// `GET /v1/responses/{id}/input_items`: the input of a response, including the previous responses.
@Sendable func listInputItems(_ context: RequestContext, _ services: Services) throws -> Response {
    let entry = try storedResponse(context, services)
    var items = entry.conversation.dropLast().enumerated().flatMap { index, message in
        message.items(named: "\(entry.response.id.dropFirst("resp_".count))_\(index)")
    }
    switch context.query("order") ?? "desc" {
    case "asc": break
    case "desc": items.reverse()
    case let order: throw APIError.invalid("order", "expected asc or desc, found \"\(order)\"")
    }
    let limit = try context.wholeNumber("limit", 1...100) ?? 20
    guard let page = ResponseItemList(items, after: context.query("after"), limit: limit) else {
        throw APIError.invalid("after", "expected the id of one of the response's input items")
    }
    return try .json(page)
}

/// `POST /v1/responses/input_tokens`: counts the tokens of a request's prompt.
@Sendable func countInputTokens(_ context: RequestContext, _ services: Services) async throws -> Response {
    let request = try JSON.decode(ResponseRequest.self, from: context.request.body)
    let body = try await services.fetchingImages(of: request, context).validated(seesImages: services.seesImages)
    let conversation =
        try conversation(before: body.previousResponseID, services.responses)
        + body.input.messages.map { ChatMessage($0) }
    let model = try await services.lease(body.model, for: context, takesAdapters: true).model
    let prompt = try await preparing(context) {
        try await chatPrompt(
            for: body, try OfferedTools(body, refusesHosted: services.refusesHostedTools), conversation, model)
    }
    return try .json(ResponseInputTokens(prompt.tokens.count))
}

/// `POST /v1/responses/{id}/cancel`: always refused, since stored responses are complete.
@Sendable func cancelResponse(_ context: RequestContext, _ services: Services) throws -> Response {
    _ = try storedResponse(context, services)
    throw APIError(
        status: 400, kind: .invalidRequest,
        message: "Only background responses can be cancelled, and this server does not support them. Close the "
            + "connection to cancel a response.", code: "not_cancellable")
}

/// `POST /v1/responses/compact`
@Sendable func compactResponse(_: RequestContext, _: Services) throws -> Response {
    throw APIError(
        status: 501, kind: .server, message: "Compacting a conversation is not supported by this server.",
        code: "not_supported")
}

private func storedResponse(_ context: RequestContext, _ services: Services) throws -> ResponseStore.Entry {
    let id = context.parameter("id")
    guard let entry = services.responses[id] else { throw responseNotFound(id) }
    return entry
}

extension RequestContext {
    /// A whole number in the query; `nil` if absent.
    fileprivate func wholeNumber(_ name: String, _ range: ClosedRange<Int>) throws(APIError) -> Int? {
        guard let text = query(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(name, "expected a whole number in \(range), found \"\(text)\"")
        }
        return number
    }
}

extension ChatMessage {
    /// - Parameter name: Unique part of the items' ids.
    fileprivate func items(named name: String) -> [ResponseItemList.Item] {
        let thoughts = reasoning.map { [ResponseItemList.Item.reasoning(id: "rs_\(name)", text: $0)] } ?? []
        return thoughts + [.message(id: "msg_\(name)", role: role.rawValue, text: content)]
    }
}

private func responseNotFound(_ id: String) -> APIError {
    APIError(
        status: 404, kind: .invalidRequest,
        message: "Response with id '\(id)' not found. The server keeps only recent responses.", code: "not_found")
}

private struct Deletion: Encodable {
    let id: String
    let object = "response"
    let deleted = true
}

extension ModelResponse {
    /// The answer as a message of the conversation.
    fileprivate var message: ChatMessage {
        func text(_ kind: Item.Kind) -> String {
            output.filter { $0.type == kind }.flatMap { $0.content ?? [] }.map(\.text).joined()
        }
        let thoughts = text(.reasoning)
        var message = ChatMessage(
            role: .assistant, content: text(.message), reasoning: thoughts.isEmpty ? nil : thoughts)
        let calls = output.filter { $0.callID != nil }.map { item in
            ChatMessage.ToolCall(
                id: item.callID ?? "", name: Wire.ToolCall.name(item.name ?? "", in: item.namespace),
                arguments: item.arguments ?? ChatMessage.ToolCall.arguments(input: item.input ?? ""))
        }
        message.toolCalls = calls.isEmpty ? nil : calls
        return message
    }
}
