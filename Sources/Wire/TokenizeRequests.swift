// Bodies of `/tokenize`, `/detokenize` and `/apply-template`. Field names are llama.cpp's; `model` is an extension for
// servers with several models.

/// Body of `POST /tokenize`.
public struct TokenizeRequest: Codable, Sendable {
    public var model: String?
    public var content: String
    /// Whether to add the model's begin and end tokens. Absent: no.
    public var addSpecial: Bool?
    /// Whether to parse control tokens in the text. Absent: yes.
    public var parseSpecial: Bool?
    /// Whether to return each token's text.
    public var withPieces: Bool?

    enum CodingKeys: String, CodingKey {
        case model, content
        case addSpecial = "add_special"
        case parseSpecial = "parse_special"
        case withPieces = "with_pieces"
    }
}

/// Body of `POST /detokenize`.
public struct DetokenizeRequest: Codable, Sendable {
    public var model: String?
    public var tokens: [WholeNumber]
}

/// Body of `POST /apply-template`.
public struct ApplyTemplateRequest: Codable, Sendable {
    public var model: String?
    public var messages: [RequestMessage]
    public var chatTemplateKwargs: [String: JSONValue]?
    public var chatTemplate: String?
    public var addGenerationPrompt: Bool?
    public var continueFinalMessage: Bool?
    public var reasoningEffort: String?
    // Decoded only to be refused.
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
