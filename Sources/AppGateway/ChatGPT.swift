import HTTP
import JSON
import LocalLLM
import Shim
import Wire

/// `POST /chatgpt`: answers a conversation, without streaming.
@Sendable func answerConversation(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(AppConversation.self, from: context.body)
    return try await replyToApp(body.messages, body.rawMessages, model: body.model, context, services)
}

/// `POST /chatgpt-simple`: answers a prompt without a history.
@Sendable func answerPrompt(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(PromptRequest.self, from: context.body)
    do {
        let message = RequestMessage(role: "user", content: .text(body.prompt))
        return try await replyToApp([message], model: body.model, context, services)
    } catch var error as APIError where error.param == "messages" {
        error.param = "prompt"
        throw error
    }
}

/// Answers like `/v1/chat/completions`, but returns only the message.
///
/// - Parameter rawMessages: The unparsed messages, for an upstream; `nil` if there are none besides `messages`.
func replyToApp(
    _ messages: [RequestMessage], _ rawMessages: JSON? = nil, model: String?, _ context: RequestContext,
    _ services: Services
) async throws -> Response {
    let text = try await services.text(of: messages, rawMessages, model: model, for: context)
    return try .json(RoleAndContent(role: "assistant", content: text))
}
