/// Response of `POST /v1/completions`, and one event of its stream.
package struct Completion: Codable, Sendable, Equatable {
    package struct Choice: Codable, Sendable, Equatable {
        package var text: String
        /// Prompt `p` has the choices `p * n ..< (p + 1) * n`.
        package var index: Int
        @Null package var logprobs: CompletionLogprobs?
        /// `stop` or `length`; `null` in all events but the last of a choice.
        @Null package var finishReason: String?

        enum CodingKeys: String, CodingKey {
            case text, index, logprobs
            case finishReason = "finish_reason"
        }

        package init(text: String, index: Int, logprobs: CompletionLogprobs? = nil, finishReason: String? = nil) {
            self.text = text
            self.index = index
            self.logprobs = logprobs
            self.finishReason = finishReason
        }
    }

    /// Begins with `cmpl-`.
    package var id: String
    package var object: String
    package var created: Int
    package var model: String
    package var choices: [Choice]
    package var systemFingerprint: String
    /// In a stream absent unless requested; then `null` in all events but the last.
    package var usage: Null<TokenUsage>?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage
        case systemFingerprint = "system_fingerprint"
    }

    package init(_ identity: AnswerIdentity, choices: [Choice], usage: Null<TokenUsage>?) {
        id = identity.id
        object = "text_completion"
        created = identity.created
        model = identity.model
        systemFingerprint = identity.systemFingerprint
        self.choices = choices
        self.usage = usage
    }
}

/// Log probabilities of a choice's tokens, in the form of the completions endpoint: each array has one element per
/// token.
package struct CompletionLogprobs: Codable, Sendable, Equatable {
    package var tokens: [String] = []
    /// `null` for the first token of an echoed prompt, which the model does not predict.
    package var tokenLogprobs: [Double?] = []
    /// The most likely tokens and the token itself, by their text.
    package var topLogprobs: [[String: Double]?] = []
    /// Start of the token in the choice's text, in Unicode code points.
    package var textOffset: [Int] = []

    enum CodingKeys: String, CodingKey {
        case tokens
        case tokenLogprobs = "token_logprobs"
        case topLogprobs = "top_logprobs"
        case textOffset = "text_offset"
    }

    package init() {}
}
