/// Body of `POST /v1/completions`, the older endpoint that continues a text.
public typealias CompletionRequest = GenerationRequest<CompletionFields>

/// What a completion request has besides `GenerationFields`.
///
/// Field names and ranges: OpenAI API reference, "Create completion".
public struct CompletionFields: Codable, Sendable {
    /// Absent: the only model of the server.
    public var model: String?
    public var prompt: TextInput
    /// Absent: 16, OpenAI's default. 0 is allowed where `echo` asks for the prompt.
    public var maxTokens: WholeNumber?
    /// Whether choices begin with their prompt.
    public var echo: Bool?
    /// 0...5: how many likely tokens to report in each token's place.
    public var logprobs: WholeNumber?
    /// Served only where it is `n`: nothing is then generated to be thrown away.
    public var bestOf: WholeNumber?
    /// Looked at only to be refused.
    public var suffix: String?

    enum CodingKeys: String, CodingKey {
        case model, prompt, echo, logprobs, suffix
        case maxTokens = "max_tokens"
        case bestOf = "best_of"
    }
}

extension GenerationRequest<CompletionFields> {
    /// Most choices that one request may have, over all its prompts.
    static var maximumChoices: Int { 128 }

    /// Checks what `Decodable` cannot, naming each field as the client spelled it.
    public func validated() throws(APIError) -> Self {
        try validateGeneration()
        try generation.checkNoTools()
        try samplers.checkNoThinkingBudget()
        guard fields.prompt.count > 0 else { throw .invalid("prompt", "must have at least one prompt") }
        let choices = fields.prompt.count.multipliedReportingOverflow(by: generation.choices)
        guard !choices.overflow, choices.partialValue <= Self.maximumChoices else {
            throw .invalid(
                "prompt",
                "\(fields.prompt.count) prompts with n = \(generation.choices) are more than "
                    + "\(Self.maximumChoices) choices")
        }
        try checkRange("max_tokens", fields.maxTokens, 0...Int64.max)
        if fields.maxTokens?.value == 0, fields.echo != true {
            throw .invalid("max_tokens", "must be at least 1 unless echo is true, got 0")
        }
        try checkRange("logprobs", fields.logprobs, 0...5)
        if let suffix = fields.suffix, !suffix.isEmpty {
            throw .unsupported("suffix", "filling in before a suffix is")
        }
        if let best = fields.bestOf?.value, best != generation.choices {
            guard best > generation.choices else {
                throw .invalid("best_of", "must be at least n, which is \(generation.choices), got \(best)")
            }
            throw .unsupported("best_of", "generating more choices than n is")
        }
        return self
    }
}
