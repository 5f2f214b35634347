import HTTP
import LocalLLM
import Tokenizer
import Wire

extension Router {
    /// `POST /v1/responses`
    @Sendable func createResponse(_ request: Request) async throws -> Response {
        let body = try JSON.decode(ResponseRequest.self, from: request.body).validated()
        let conversation = try conversation(before: body.previousResponseID) + body.input.messages.map(ChatMessage.init)
        let events = answers(to: request, promptField: "input") { try await answer(to: body, conversation) }
        return try await .answer(events, streams: body.stream == true)
    }

    private func answer(
        to body: ResponseRequest, _ conversation: [ChatMessage]
    ) async throws -> Answer<ResponseEncoder> {
        let lease = try await served(body.model)
        let engine = lease.engine
        let instructions = body.instructions.map { [ChatMessage.system($0)] } ?? []
        let prompt = try engine.prompt(
            instructions + conversation,
            variables: try TemplateObject(templateArguments: nil, reasoningEffort: body.reasoning?.effort))
        RequestNotes.current?.add(prompt.tokens.count, to: "prompt_tokens")
        let options = try SamplingOptions(
            body.generation, maximumTokens: body.maxOutputTokens?.value,
            topLogprobs: body.wantsLogprobs ? Int(body.topLogprobs?.value ?? 0) : nil, for: engine)
        let lister = body.wantsLogprobs ? try engine.tokenizer : nil
        let choice = Choice(
            generation: engine.generate(tokens: prompt.tokens, options: options, group: nil),
            reader: ChoiceReader(
                choice: 0, countsPrompt: true, reasoning: prompt.reasoning, list: lister.map { TokenList($0) }))

        let identity = AnswerIdentity(prefix: "resp_", model: lease.model, engine: engine)
        let encoder = ResponseEncoder(ModelResponse(identity, for: body), tokenizer: lister) { [responses] whole in
            guard whole.store else { return }
            responses.insert(.init(whole, conversation: conversation + [whole.message]))
        }
        return Answer(lease: lease, form: encoder, choices: [choice])
    }

    private func conversation(before id: String?) throws(APIError) -> [ChatMessage] {
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
    func response(_ id: String, _: Request) throws -> Response {
        guard let entry = responses[id] else { throw responseNotFound(id) }
        return try .json(entry.response)
    }

    /// `DELETE /v1/responses/{id}`
    func deleteResponse(_ id: String, _: Request) throws -> Response {
        guard responses.remove(id) else { throw responseNotFound(id) }
        return try .json(Deletion(id: id))
    }
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
            output.filter { $0.type == kind }.flatMap(\.content).map(\.text).joined()
        }
        let thoughts = text(.reasoning)
        return ChatMessage(
            role: .assistant, content: text(.message), reasoning: thoughts.isEmpty ? nil : thoughts)
    }
}
