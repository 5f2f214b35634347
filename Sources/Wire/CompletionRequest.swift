/// Body of `POST /v1/completions`, OpenAI's older endpoint for continuing text.
package typealias CompletionRequest = GenerationRequest<CompletionFields>

/// Fields of a completion request besides `GenerationFields`.
///
/// Field names and ranges: OpenAI API reference, "Create completion".
package struct CompletionFields: Codable, Sendable {
    /// Absent: the server's only model.
    package var model: String?
    package var prompt: PromptInput
    /// Whether choices begin with their prompt.
    package var echo: Bool?
    /// Number of most likely tokens to report at each position, 0...5.
    package var logprobs: WholeNumber?
    /// Supported only if equal to `n`.
    package var bestOf: WholeNumber?
    /// Text after the gap that the answer fills, for models trained for it.
    package var suffix: String?

    enum CodingKeys: String, CodingKey {
        case model, prompt, echo, logprobs, suffix
        case bestOf = "best_of"
    }
}

extension GenerationRequest<CompletionFields> {
    /// Maximum choices of one request, over all its prompts.
    static var maximumChoices: Int { 128 }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    package func validated() throws(APIError) -> Self {
        try validateGeneration()
        try generation.checkNoTools()
        try sampling.checkNoThinkingBudget()
        guard fields.prompt.count > 0 else { throw .invalid("prompt", "must have at least one prompt") }
        let choices = fields.prompt.count.multipliedReportingOverflow(by: generation.choices)
        guard !choices.overflow, choices.partialValue <= Self.maximumChoices else {
            throw .invalid(
                "prompt",
                "\(fields.prompt.count) prompts with n = \(generation.choices) are more than "
                    + "\(Self.maximumChoices) choices")
        }
        try checkRange("logprobs", fields.logprobs, 0...5)
        if let suffix = fields.suffix, !suffix.isEmpty, fields.echo == true {
            throw .invalid("echo", "cannot be combined with suffix")
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
