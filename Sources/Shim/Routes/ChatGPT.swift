import HTTP
import Wire

extension Router {
    /// `POST /chatgpt`: answers a conversation, whole.
    @Sendable func chatGPT(_ request: Request) async throws -> Response {
        let body = try JSON.decode(ConversationRequest.self, from: request.body)
        return try await reply(to: body.messages, model: body.model, request)
    }

    /// `POST /chatgpt-simple`: answers a prompt without a history.
    @Sendable func chatGPTSimple(_ request: Request) async throws -> Response {
        let body = try JSON.decode(PromptRequest.self, from: request.body)
        let message: JSONValue = .object(["role": .string("user"), "content": .string(body.prompt)])
        do {
            return try await reply(to: .array([message]), model: body.model, request)
        } catch var error as APIError where error.param == "messages" {
            error.param = "prompt"
            throw error
        }
    }

    /// Answers as `/v1/chat/completions` would, from whichever engine. Of that, apps want the message only.
    private func reply(to messages: JSONValue, model: String?, _ request: Request) async throws -> Response {
        guard let model = model ?? defaultModel else { throw APIError(missing: "model") }
        var chat = request
        chat.body = try JSON.encode(["model": .string(model), "messages": messages])
        let response = try await answerChat(chat)
        guard response.status == 200, case .bytes(let bytes) = response.body else { return response }
        guard let text = try? JSON.decode(ChatAnswer.self, from: bytes).choices.first?.message.text else {
            throw APIError.upstream("The upstream API answered without a text.")
        }
        return try .json(RoleAndContent(role: "assistant", content: text))
    }

    /// What answers apps, which name no model: the first that the server has, else the upstream's.
    private var defaultModel: String? { models.models.first?.file.id ?? upstream?.options.model }
}

/// What apps want of a chat completion.
struct ChatAnswer: Decodable {
    struct Choice: Decodable { let message: Message }
    struct Message: Decodable {
        let content: String?
        let refusal: String?
        var text: String? { content ?? refusal }
    }
    let choices: [Choice]
}
