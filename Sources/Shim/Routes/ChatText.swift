package import JSON
import LocalLLM
package import Wire

extension Services {
    /// Answers a chat like `/v1/chat/completions`, and returns only the text.
    ///
    /// - Parameters:
    ///   - rawMessages: The unparsed messages, for the upstream; `nil` if there are none besides `messages`.
    ///   - model: `nil`: the server's first model, else the upstream's.
    package func text(
        of messages: [RequestMessage], _ rawMessages: JSON?, model: String?, for context: RequestContext
    ) async throws -> String {
        guard let model = model ?? models.models.first?.file.id ?? upstream?.model else {
            throw APIError(missing: "model")
        }
        let chat = GenerationBody(ChatCompletionRequest(ChatFields(model: model, messages: messages)), model: model) {
            let messages = try rawMessages ?? JSON(encoding: messages)
            return try JSON.encode(["model": .string(model), "messages": messages])
        }
        return try await answerHereOrUpstream(
            chat, .chat, context, self, hasImage: \.hasImage,
            here: { try await collect(ChatForm($0, context, self).events(for: context, self)).choices[0].content },
            there: { upstream, model, bytes in
                guard !upstream.has(.chat) else { return try await upstream.text(ofChat: bytes, context) }
                let form = try await ChatForm(chat.get(), isForwarded: true, context, self)
                return try await collect(form.events(for: context, self, from: upstream, model)).choices[0].content
            })
    }
}

extension Upstream {
    /// The upstream model for requests that name none.
    package var model: String? { options.model }

    /// Sends a chat and returns the answer's text.
    ///
    /// - Throws: `APIError` also if the answer has no text or was cut by the upstream's content filter, since apps store
    ///   the text as a complete answer.
    func text(ofChat body: [UInt8], _ context: RequestContext) async throws -> String {
        let answer = try await whole(.chat, body, context.trace)
        guard let choice = try? JSON.decode(ReceivedChat.self, from: answer).choices.first else {
            throw APIError.upstream("The upstream API's answer has no text.")
        }
        if choice.finishReason == "content_filter" {
            throw APIError.contentFiltered("The answer was blocked by a content filter.")
        }
        guard let text = choice.content ?? choice.refusal else {
            throw APIError.upstream("The upstream API's answer has no text.")
        }
        return text
    }
}
