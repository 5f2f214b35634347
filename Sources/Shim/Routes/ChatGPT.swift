import HTTP
import LocalLLM
import Tokenizer
import Wire

extension Router {
    /// `POST /chatgpt`: answers a conversation, whole.
    @Sendable func chatGPT(_ request: Request) async throws -> Response {
        let body = try JSON.decode(ConversationRequest.self, from: request.body).validated()
        return try await reply(to: body.messages.map(ChatMessage.init), model: body.model, field: "messages")
    }

    /// `POST /chatgpt-simple`: answers a prompt without a history.
    @Sendable func chatGPTSimple(_ request: Request) async throws -> Response {
        let body = try JSON.decode(PromptRequest.self, from: request.body)
        return try await reply(to: [.user(body.prompt)], model: body.model, field: "prompt")
    }

    private func reply(to messages: [ChatMessage], model: String?, field: String) async throws -> Response {
        let lease = try await served(model ?? defaultModel)
        let prompt = try lease.engine.prompt(messages, variables: TemplateObject())
        RequestNotes.current?.add(prompt.tokens.count, to: "prompt_tokens")
        let choice = Choice(
            generation: lease.engine.generate(tokens: prompt.tokens, options: SamplingOptions(), group: nil),
            reader: ChoiceReader(choice: 0, countsPrompt: true, reasoning: prompt.reasoning))
        let whole = try await collect(answers([choice], lease, promptField: field), choices: 1)
        return try .json(RoleAndContent(role: "assistant", content: whole[0].content))
    }

    /// What answers apps, which name no model: the first that the server was started with.
    var defaultModel: String? { models.models.first?.file.id }
}
