/// The answer to `POST /v1/completions`, and one event of it when it is streamed.
public struct Completion: Codable, Sendable, Equatable {
    public struct Choice: Codable, Sendable, Equatable {
        public var text: String
        /// Of prompt `p` the choices are `p * n` and the following.
        public var index: Int
        @Null public var logprobs: CompletionLogprobs?
        /// `stop` or `length`; `null` in all events but the last of a choice.
        @Null public var finishReason: String?

        enum CodingKeys: String, CodingKey {
            case text, index, logprobs
            case finishReason = "finish_reason"
        }

        public init(text: String, index: Int, logprobs: CompletionLogprobs? = nil, finishReason: String? = nil) {
            self.text = text
            self.index = index
            self.logprobs = logprobs
            self.finishReason = finishReason
        }
    }

    /// Begins with `cmpl-`.
    public var id: String
    public var object: String
    public var created: Int
    public var model: String
    public var choices: [Choice]
    public var systemFingerprint: String
    /// In a stream left out unless the client asked for it; then `null` in all events but the last.
    public var usage: Null<TokenUsage>?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage
        case systemFingerprint = "system_fingerprint"
    }

    public init(_ identity: AnswerIdentity, choices: [Choice], usage: Null<TokenUsage>?) {
        id = identity.id
        object = "text_completion"
        created = identity.created
        model = identity.model
        systemFingerprint = identity.systemFingerprint
        self.choices = choices
        self.usage = usage
    }
}

/// How likely the model found the tokens of a choice, in the shape of the older endpoint: one element a token in each.
public struct CompletionLogprobs: Codable, Sendable, Equatable {
    public var tokens: [String] = []
    /// `null` for the first token of an echoed prompt, which nothing comes before.
    public var tokenLogprobs: [Double?] = []
    /// By text: the likely tokens, and the token itself where it is not among them.
    public var topLogprobs: [[String: Double]?] = []
    /// Where the token begins in the choice's text, in Unicode code points.
    public var textOffset: [Int] = []

    enum CodingKeys: String, CodingKey {
        case tokens
        case tokenLogprobs = "token_logprobs"
        case topLogprobs = "top_logprobs"
        case textOffset = "text_offset"
    }

    public init() {}
}
