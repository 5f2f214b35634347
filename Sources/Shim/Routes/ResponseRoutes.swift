import Foundation
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
    /// Items of the request's own input, for its conversation.
    private let ownItems: [ResponseInput.Item]
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
        if isForwarded, request.background == true {
            throw APIError.unsupported("background", "with an upstream that has no responses API it is")
        }
        let seesImages = services.models.seesImages(request.model) || isForwarded
        ownItems = request.input.items
        var request = request
        if let conversation = request.conversation {
            // So that errors name the request's own items.
            _ = try request.validated(seesImages: seesImages)
            let stored = try storedConversation(conversation.id, services).items.compactMap(\.input)
            request.fields.input = .items(stored + ownItems)
        }
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
        var response = response(named: name, model, conversation.options)
        if let leftOut, response.metadata["left_out"] == nil {
            // The longest value that the specification allows.
            response.metadata["left_out"] = String(leftOut.prefix(512))
        }
        let tokenizer = body.wantsLogprobs ? try model?.tokenizer : nil
        var encoder = ResponseEncoder(response, tokenizer: tokenizer, namespaced: tools.namespaced) { [self] in keep($0)
        }
        encoder.wasQueued = queued != nil
        return encoder
    }

    /// A response that has not begun.
    private func response(
        named name: String, _ model: (any LanguageModel)?, _ options: SamplingOptions
    ) -> ModelResponse {
        let settled = model?.settled(options) ?? options
        var response = ModelResponse(
            AnswerIdentity(prefix: "resp_", id: name, model: model), for: body,
            sampling: .init(
                temperature: settled.temperature ?? 0, topP: settled.topP ?? 1,
                presencePenalty: settled.presencePenalty, frequencyPenalty: settled.frequencyPenalty,
                topLogprobs: Int(body.topLogprobs?.value ?? 0)))
        if let queued { (response.id, response.createdAt) = (queued.id, queued.createdAt) }
        return response
    }

    /// Stores a response if the client wants it, and adds it to its conversation.
    private func keep(_ response: ModelResponse) {
        do {
            if response.store {
                try services.responses.insert(
                    .init(response, conversation: messages + [response.message], client: context.client))
            }
            guard let conversation = response.conversation, [.completed, .incomplete].contains(response.status) else {
                return
            }
            let items =
                try ownItems.map { try ConversationItem($0, id: String.unique) }
                + response.output.map { try ConversationItem($0, id: String.unique) }
            try services.conversations.append(items, to: conversation.id)
        } catch {
            // The answer is complete; only the log tells that it will not survive a restart.
            context.trace.error = "\(error)"
        }
    }

    // MARK: In the background

    /// The response as it was answered before it began; `nil` if the client waits for it.
    private var queued: ModelResponse?

    func response(to context: RequestContext, _ services: Services) async throws -> Response {
        guard body.background == true else { return try await answer(to: context, services) }
        context.trace.engine = .local
        // An unknown model is an error at once.
        guard let name = body.model ?? services.models.implied?.file.id else { throw APIError(missing: "model") }
        let served = try services.models.model(named: name)
        let options = try served.loaded.map { try request(for: $0).sampling } ?? SamplingOptions()
        var queued = response(named: served.file.id, served.loaded, options)
        queued.status = .queued
        var form = self
        form.queued = queued
        let job = try services.background.begin(
            queued, ResponseEncoder.queued(queued), client: context.client)
        keep(queued)
        job.run { [form] in
            try await form.compute(job)
        } ended: { [form] in
            form.keep($0)
        }
        return body.stream == true ? job.stream(pingInterval: services.pingInterval) : try .json(queued)
    }

    /// Computes the answer and its events.
    private func compute(_ job: BackgroundResponses.Job) async throws {
        var encoder: ResponseEncoder?
        var finished: [ChoiceDelta.Finish] = []
        do {
            for try await event in events(for: context, services) {
                let bytes: [UInt8]
                switch event {
                case .begun(var begun, _):
                    bytes = try begun.begin()
                    encoder = begun
                case .delta(let delta):
                    if let finish = delta.finish { finished.append(finish) }
                    bytes = try encoder?.encode(delta) ?? []
                case .ping: continue
                }
                if let response = encoder?.response { job.add(bytes, response) }
            }
            guard var whole = encoder, !finished.isEmpty else { throw CancellationError() }
            let bytes = try whole.end(finished)
            job.add(bytes, whole.response)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            let error = APIError(reporting: error is CancellationError ? ServerStopped() : error, promptField: "input")
            guard var begun = encoder else {
                let (failed, bytes) = try ResponseEncoder.failure(error, ofQueued: job.response)
                return job.add(bytes, failed)
            }
            let bytes = try begun.fail(error)
            job.add(bytes, begun.response)
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
    guard entry.response.status.isEnd else {
        throw APIError(
            status: 400, kind: .invalidRequest,
            message: "Previous response with id '\(id)' is not complete: it is \(entry.response.status.rawValue).",
            param: "previous_response_id", code: "previous_response_not_complete")
    }
    return entry.conversation
}

/// `GET /v1/responses/{id}`; with `stream=true` as its events, those of a response in the background as they come.
@Sendable func showResponse(_ context: RequestContext, _ services: Services) throws -> Response {
    let job = services.background[context.parameter("id")]
    let response = try job?.response ?? storedResponse(context, services).response
    guard let stream = context.query("stream"), stream != "false" else { return try .json(response) }
    let startingAfter = try context.wholeNumber("starting_after", 0...Int(Int32.max)) ?? -1
    if let job {
        return job.stream(startingAfter: startingAfter, pingInterval: services.pingInterval)
    }
    let events = try ResponseEncoder.replay(response, startingAfter: startingAfter)
    return Response(status: 200, headers: .ofEventStream, body: .bytes(events))
}

/// `DELETE /v1/responses/{id}`
@Sendable func deleteResponse(_ context: RequestContext, _ services: Services) async throws -> Response {
    let id = context.parameter("id")
    await services.background.remove(id)
    guard try services.responses.remove(id) else { throw responseNotFound(id) }
    return try .json(Deletion(id: id))
}

/// `GET /v1/responses/{id}/input_items`: the input of a response, including the previous responses.
@Sendable func listInputItems(_ context: RequestContext, _ services: Services) throws -> Response {
    let entry = try storedResponse(context, services)
    let items = entry.conversation.dropLast().enumerated().flatMap { index, message in
        message.items(named: "\(entry.response.id.dropFirst("resp_".count))_\(index)")
    }
    return try .json(try context.page(of: items, id: \.id))
}

/// `POST /v1/responses/input_tokens`: counts the tokens of a request's prompt.
@Sendable func countInputTokens(_ context: RequestContext, _ services: Services) async throws -> Response {
    let request = try JSON.decode(ResponseRequest.self, from: context.body)
    let form = try await ResponseForm(request, context, services)
    return try .json(ResponseInputTokens(await form.countTokens(for: context, services)))
}

/// `POST /v1/responses/{id}/cancel`: ends a response in the background. One that has ended stays as it is.
@Sendable func cancelResponse(_ context: RequestContext, _ services: Services) async throws -> Response {
    if let job = services.background[context.parameter("id")] { return try .json(await job.cancel()) }
    let response = try storedResponse(context, services).response
    guard response.background else {
        throw APIError(
            status: 400, kind: .invalidRequest,
            message:
                "Only responses with background: true can be cancelled. Close the connection to cancel another one.",
            code: "not_cancellable")
    }
    return try .json(response)
}

/// `POST /v1/responses/compact`: the user's messages, and a summary of everything else.
@Sendable func compactResponse(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(CompactRequest.self, from: context.body)
    return try await CompactForm(body, services).response(to: context, services)
}

private struct CompactForm: AnswerForm {
    private let body: CompactRequest
    private let messages: [ChatMessage]

    init(_ body: CompactRequest, _ services: Services) throws {
        self.body = try body.validated(seesImages: services.models.seesImages(body.model))
        let earlier = try storedMessages(before: body.previousResponseID, services.responses)
        messages = earlier + (body.input?.messages ?? []).map { ChatMessage($0) }
    }

    var model: String? { body.model }
    var streams: Bool { false }
    var promptField: String { "input" }

    /// Maximum tokens of a summary.
    private static let maximumTokens = 1024
    private static let request = """
        Summarize the conversation so far for yourself: you will go on with the summary in its place. Keep all facts, decisions, names, \
        numbers, file names and open tasks. Write nothing but the summary.
        """

    func conversation(for model: any LanguageModel) throws -> ConversationRequest {
        let instructions = body.instructions.map { [ChatMessage.system($0)] } ?? []
        var request = ConversationRequest(.messages(instructions + messages + [.user(Self.request)]))
        request.rendering.variables = try TemplateObject(templateArguments: nil, reasoningEffort: "none")
        request.sampling.temperature = 0
        request.sampling.maximumTokens = Self.maximumTokens
        request.omitsReasoning = true
        return request
    }

    func encoder(of _: Conversation, by _: ModelLease) -> CompactionEncoder {
        CompactionEncoder(messages: messages.filter { $0.role == .user })
    }
}

/// Writes a summary as a compacted response; never streamed.
private struct CompactionEncoder: AnswerEncoder {
    let messages: [ChatMessage]

    func whole(_ choices: [ChoiceDelta]) throws -> CompactedResponse {
        let summary = choices.map(\.content).joined()
        guard summary.contains(where: { !$0.isWhitespace }) else {
            throw APIError(
                status: 500, kind: .server, message: "The model wrote no summary of the conversation.",
                code: "no_summary")
        }
        let id = String.unique("cmp_")
        return try CompactedResponse(
            id: id, at: Int(Date().timeIntervalSince1970),
            messages: messages.enumerated().flatMap { index, message in
                message.items(named: "\(id.dropFirst("cmp_".count))_\(index)")
            }, summary: summary, itemID: .unique("cmp_"), usage: choices.usage)
    }

    func begin() -> [UInt8] { [] }
    func encode(_: ChoiceDelta) -> [UInt8] { [] }
    func end(_: [ChoiceDelta.Finish]) -> [UInt8] { [] }
}

private func storedResponse(_ context: RequestContext, _ services: Services) throws -> ResponseStore.Entry {
    let id = context.parameter("id")
    guard let entry = services.responses[id] else { throw responseNotFound(id) }
    return entry
}

extension RequestContext {
    /// The page of a list that the query asks for, the newest items first unless it says otherwise.
    ///
    /// - Parameter items: Oldest first.
    func page<Item>(of items: [Item], id: (Item) -> String) throws(APIError) -> ItemList<Item> {
        var items = items
        switch query("order") ?? "desc" {
        case "asc": break
        case "desc": items.reverse()
        case let order: throw .invalid("order", "expected asc or desc, found \"\(order)\"")
        }
        let limit = try wholeNumber("limit", 1...100) ?? 20
        guard let page = ItemList(items, id: id, after: query("after"), limit: limit) else {
            throw .invalid("after", "expected the id of one of the items")
        }
        return page
    }

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
