import HTTP
import JSON
import LocalLLM
import Template
import Tokenizer
import Wire

/// `POST /v1/responses`
@Sendable func createResponse(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await converseHereOrUpstream(.responses, context, services, hasImage: \ResponseRequest.hasImage) {
        let form = try await ResponseForm($0, isForwarded: $1, context, services)
        context.trace.leftOut = form.leftOut
        return form
    }
}

private struct ResponseForm: ForwardableForm {
    typealias Encoder = ResponseEncoder

    private let body: ResponseRequest
    private let earlier: [ChatMessage]
    private let tools: OfferedTools
    private let format: ContentFormat?
    private let variables: TemplateObject
    private let context: RequestContext
    private let services: Services

    /// - Parameter isForwarded: Whether the upstream answers.
    init(
        _ request: ResponseRequest, isForwarded: Bool = false, _ context: RequestContext, _ services: Services
    ) async throws {
        (self.context, self.services) = (context, services)
        let seesImages = services.models.seesImages(request.model) || isForwarded
        body = try await services.fetchingImages(of: request, context).validated(seesImages: seesImages)
        earlier = try storedMessages(before: body.previousResponseID, services.responses)
        tools = try OfferedTools(body, refusesHosted: services.refusesHostedTools)
        format = try body.requestedFormat().map { ContentFormat($0) }
        variables = try TemplateObject(templateArguments: nil, reasoningEffort: body.reasoning?.effort)
    }

    var model: String? { body.model }
    var streams: Bool { body.stream == true }
    var promptField: String { "input" }
    /// Without the instructions, which do not carry over to the next response.
    private var messages: [ChatMessage] { earlier + body.input.messages.map { ChatMessage($0) } }
    /// The hosted tools and the items that the model does not see, as a note for the log and the response's metadata.
    var leftOut: String? { body.leftOut(tools) }

    func request(for model: (any LanguageModel)?) throws -> ConversationRequest {
        let instructions = body.instructions.map { [ChatMessage.system($0)] } ?? []
        var request = ConversationRequest(.messages(instructions + messages))
        request.tools = tools.offer
        request.rendering.variables = variables
        request.format = format
        request.sampling = try SamplingOptions(
            body.sampling, topLogprobs: body.wantsLogprobs ? Int(body.topLogprobs?.value ?? 0) : nil, for: model)
        request.maximumThoughts = body.sampling.maximumThoughts.map { Int($0) }
        return request
    }

    func encoder(
        of conversation: Conversation, named name: String, _ model: (any LanguageModel)?
    ) throws -> ResponseEncoder {
        let settled = model?.settled(conversation.options) ?? conversation.options
        var response = ModelResponse(
            AnswerIdentity(prefix: "resp_", id: name, model: model), for: body,
            sampling: .init(
                temperature: settled.temperature ?? 0, topP: settled.topP ?? 1,
                presencePenalty: settled.presencePenalty, frequencyPenalty: settled.frequencyPenalty,
                topLogprobs: Int(body.topLogprobs?.value ?? 0)))
        if let leftOut, response.metadata["left_out"] == nil {
            // The longest value that the specification allows.
            response.metadata["left_out"] = String(leftOut.prefix(512))
        }
        let tokenizer = body.wantsLogprobs ? try model?.tokenizer : nil
        return ResponseEncoder(response, tokenizer: tokenizer, namespaced: tools.namespaced) {
            [messages, context, services] whole in
            guard whole.store else { return }
            do {
                try services.responses.insert(
                    .init(whole, conversation: messages + [whole.message], client: context.client))
            } catch {
                // The answer is complete; only the log tells that it will not survive a restart.
                context.trace.error = "\(error)"
            }
        }
    }
}

extension ResponseRequest {
    fileprivate func leftOut(_ tools: OfferedTools) -> String? {
        var types: [String] = []
        for type in fields.input.hiddenTypes where !types.contains(type) { types.append(type) }
        let parts = [("tools", tools.leftOut), ("items", types)].filter { !$0.1.isEmpty }
        return parts.isEmpty ? nil : parts.map { "\($0.0): \($0.1.joined(separator: ", "))" }.joined(separator: "; ")
    }
}

private func storedMessages(before id: String?, _ responses: ResponseStore) throws(APIError) -> [ChatMessage] {
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
    let request = try JSON.decode(ResponseRequest.self, from: context.body)
    let form = try await ResponseForm(request, context, services)
    return try .json(ResponseInputTokens(await form.countTokens(for: context, services)))
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
