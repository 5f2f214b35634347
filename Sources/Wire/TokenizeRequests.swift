// Bodies of `/tokenize`, `/detokenize` and `/apply-template`. Field names are those of llama.cpp's server; `model` is ours,
// for a server of several models.

public struct TokenizeRequest: Codable, Sendable {
    public var model: String?
    public var content: String
    /// Whether the tokens that begin and end a text are added, as far as the model wants them. Absent: no.
    public var addSpecial: Bool?
    /// Whether the text of a control token is that token. Absent: yes.
    public var parseSpecial: Bool?
    /// Whether each token comes with its text.
    public var withPieces: Bool?

    enum CodingKeys: String, CodingKey {
        case model, content
        case addSpecial = "add_special"
        case parseSpecial = "parse_special"
        case withPieces = "with_pieces"
    }
}

public struct DetokenizeRequest: Codable, Sendable {
    public var model: String?
    public var tokens: [WholeNumber]
}

public struct ApplyTemplateRequest: Codable, Sendable {
    public var model: String?
    public var messages: [RequestMessage]
    public var chatTemplateKwargs: [String: JSONValue]?
    public var chatTemplate: String?
    public var addGenerationPrompt: Bool?
    public var continueFinalMessage: Bool?
    public var reasoningEffort: String?
    // Looked at only to be refused.
    public var tools: JSONValue?

    enum CodingKeys: String, CodingKey {
        case model, messages, tools
        case addGenerationPrompt = "add_generation_prompt"
        case continueFinalMessage = "continue_final_message"
        case chatTemplate = "chat_template"
        case reasoningEffort = "reasoning_effort"
        case chatTemplateKwargs = "chat_template_kwargs"
    }

    public func validated() throws(APIError) -> Self {
        try messages.validate()
        if let tools, !tools.isEmpty { throw .unsupported("tools", "tools are") }
        try checkPromptEnding(
            addGenerationPrompt: addGenerationPrompt, continueFinalMessage: continueFinalMessage, messages)
        try checkReasoningEffort("reasoning_effort", reasoningEffort)
        return self
    }
}
