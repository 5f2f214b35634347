import HTTP
import JSON
import LocalLLM
import Wire

/// `POST /chatgpt`: answers a conversation, without streaming.
@Sendable func answerConversation(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(AppConversation.self, from: context.request.body)
    return try await replyToApp(body.messages, body.rawMessages, model: body.model, context, services)
}

/// `POST /chatgpt-simple`: answers a prompt without a history.
@Sendable func answerPrompt(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(PromptRequest.self, from: context.request.body)
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
    // Apps that name no model get the server's first one, else the upstream's.
    guard let model = model ?? services.models.models.first?.file.id ?? services.upstream?.options.model else {
        throw APIError(missing: "model")
    }
    let chat = GenerationBody(ChatCompletionRequest(ChatFields(model: model, messages: messages)), model: model) {
        let messages = try rawMessages ?? JSON(encoding: messages)
        return try JSON.encode(["model": .string(model), "messages": messages])
    }
    let text = try await answerHereOrUpstream(
        chat, .chat, context, services, hasImage: \.hasImage,
        here: { try await collect(ChatForm($0, context, services).events(for: context, services)).choices[0].content },
        there: { upstream, model, bytes in
            guard !upstream.has(.chat) else {
                return try ReceivedChat.text(in: await upstream.whole(.chat, bytes, context.trace))
            }
            let form = try await ChatForm(chat.get(), isForwarded: true, context, services)
            return try await collect(form.events(for: context, services, from: upstream, model)).choices[0].content
        })
    return try .json(RoleAndContent(role: "assistant", content: text))
}

extension ReceivedChat {
    /// The text of an upstream's answer.
    ///
    /// - Throws: `APIError` if the answer has no text or was cut by the upstream's content filter, since apps store the
    ///   text as a complete answer.
    static func text(in json: [UInt8]) throws(APIError) -> String {
        guard let choice = try? JSON.decode(Self.self, from: json).choices.first else {
            throw .upstream("The upstream API's answer has no text.")
        }
        if choice.finishReason == "content_filter" {
            throw .contentFiltered("The answer was blocked by a content filter.")
        }
        guard let text = choice.content ?? choice.refusal else {
            throw .upstream("The upstream API's answer has no text.")
        }
        return text
    }
}
