import HTTP
import LocalLLM
import Tokenizer
import Wire

/// `POST /v1/responses`
@Sendable func createResponse(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.responses, context, services, hasPicture: \ResponseRequest.hasPicture) { body in
        let body = try body.validated()
        let conversation =
            try conversation(before: body.previousResponseID, services.responses)
            + body.input.messages.map { ChatMessage($0) }
        let tools = try OfferedTools(body)
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
    let lease = try await services.lease(body.model, for: context)
    let engine = lease.engine
    let instructions = body.instructions.map { [ChatMessage.system($0)] } ?? []
    let prompt = try engine.prompt(
        instructions + conversation, tools: tools,
        variables: try TemplateObject(templateArguments: nil, reasoningEffort: body.reasoning?.effort))
    context.trace.addPromptTokens(prompt.tokens.count)
    var options = try SamplingOptions(
        body.generation, maximumTokens: body.maxOutputTokens?.value,
        topLogprobs: body.wantsLogprobs ? Int(body.topLogprobs?.value ?? 0) : nil, for: engine)
    options.shownTokens = engine.markerTokens
    let lister = body.wantsLogprobs ? try engine.tokenizer : nil
    let choice = Choice(
        generation: engine.generate(tokens: prompt.tokens, options: options, group: nil),
        reader: ChoiceReader(
            choice: 0, countsPrompt: true, prompt: prompt, tools: tools,
            list: lister.map { TokenList($0, showing: engine.markerTokens) }))

    let identity = AnswerIdentity(prefix: "resp_", model: lease.model, engine: engine)
    let encoder = ResponseEncoder(ModelResponse(identity, for: body), tokenizer: lister) { whole in
        guard whole.store else { return }
        services.responses.insert(.init(whole, conversation: conversation + [whole.message]))
    }
    return Answer(lease: lease, form: encoder, choices: [choice])
}

private func conversation(before id: String?, _ responses: ResponseStore) throws(APIError) -> [ChatMessage] {
    guard let id else { return [] }
    guard let entry = responses[id] else {
        throw APIError(
            status: 400, kind: .invalidRequest,
            message: "Previous response with id '\(id)' not found. The server keeps the last ones only.",
            param: "previous_response_id", code: "previous_response_not_found")
    }
    return entry.conversation
}

/// `GET /v1/responses/{id}`
@Sendable func showResponse(_ context: RequestContext, _ services: Services) throws -> Response {
    let id = context.parameter("id")
    guard let entry = services.responses[id] else { throw responseNotFound(id) }
    return try .json(entry.response)
}

/// `DELETE /v1/responses/{id}`
@Sendable func deleteResponse(_ context: RequestContext, _ services: Services) throws -> Response {
    let id = context.parameter("id")
    guard services.responses.remove(id) else { throw responseNotFound(id) }
    return try .json(Deletion(id: id))
}

private func responseNotFound(_ id: String) -> APIError {
    APIError(
        status: 404, kind: .invalidRequest,
        message: "Response with id '\(id)' not found. The server keeps the last ones only.", code: "not_found")
}

private struct Deletion: Encodable {
    let id: String
    let object = "response"
    let deleted = true
}

extension ModelResponse {
    /// What was said, as a message of the conversation.
    fileprivate var message: ChatMessage {
        func text(_ kind: Item.Kind) -> String {
            output.filter { $0.type == kind }.flatMap { $0.content ?? [] }.map(\.text).joined()
        }
        let thoughts = text(.reasoning)
        var message = ChatMessage(
            role: .assistant, content: text(.message), reasoning: thoughts.isEmpty ? nil : thoughts)
        let calls = output.filter { $0.callID != nil }.map { item in
            ChatMessage.ToolCall(
                id: item.callID ?? "", name: item.name ?? "",
                arguments: item.arguments ?? ChatMessage.ToolCall.arguments(input: item.input ?? ""))
        }
        message.toolCalls = calls.isEmpty ? nil : calls
        return message
    }
}
