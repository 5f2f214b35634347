import HTTP
import Wire

extension Router {
    /// `POST /chatgpt`: answers a conversation, whole.
    @Sendable func chatGPT(_ request: Request) async throws -> Response {
        let body = try JSON.decode(ConversationRequest.self, from: request.body)
        return try await reply(request, ChatBody(model: body.model ?? defaultModel, messages: body.messages))
    }

    /// `POST /chatgpt-simple`: answers a prompt without a history.
    @Sendable func chatGPTSimple(_ request: Request) async throws -> Response {
        let body = try JSON.decode(PromptRequest.self, from: request.body)
        let message = Message(role: "user", text: body.prompt)
        do {
            return try await reply(request, ChatBody(model: body.model ?? defaultModel, messages: [message]))
        } catch var error as APIError where error.param == "messages" {
            error.param = "prompt"
            throw error
        }
    }

    /// Answers as `/v1/chat/completions` would, of which the app wants the message only.
    private func reply(_ request: Request, _ body: ChatBody) async throws -> Response {
        var chat = request
        chat.body = try JSON.encode(body)
        let response = try await chatCompletions(chat)
        guard response.status == 200, case .bytes(let bytes) = response.body else { return response }
        let message = try JSON.decode(ChatAnswer.self, from: bytes).choices.first?.message
        return try .json(RoleAndContent(role: "assistant", content: message?.text ?? ""))
    }

    /// What answers apps, which name no model: the first that the server has.
    var defaultModel: String? { models.models.first?.file.id }
}

private struct ChatBody: Encodable {
    let model: String?
    let messages: [Message]
}

/// What is read of the answer.
private struct ChatAnswer: Decodable {
    struct Choice: Decodable { let message: Message }
    let choices: [Choice]
}
