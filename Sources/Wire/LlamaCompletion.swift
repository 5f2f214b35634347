import Foundation
public import JSON

/// Body of `POST /completion` and `POST /infill` of llama.cpp's API.
public typealias LlamaCompletionRequest = GenerationRequest<LlamaCompletionFields>

/// Fields of llama.cpp's completion requests besides `GenerationFields`.
public struct LlamaCompletionFields: Codable, Sendable {
    /// Absent: the server's only model.
    public var model: String?
    /// Required by `/completion`; with `/infill`, text appended to the prefix.
    public var prompt: PromptInput?
    /// Number of most likely tokens to report at each position.
    public var nProbs: WholeNumber?
    /// Whether the probabilities are those after all filters, from which the token was drawn. Absent: the model's own.
    public var postSamplingProbs: Bool?
    public var returnTokens: Bool?
    /// Paths of the fields to return, such as `generation_settings/n_predict`. Absent or empty: all.
    public var responseFields: [String]?
    /// Text before and after the gap, for `/infill`.
    public var inputPrefix: String?
    public var inputSuffix: String?
    /// Other files as context, for `/infill`.
    public var inputExtra: [ExtraFile]?

    public struct ExtraFile: Codable, Sendable {
        public var filename: String?
        public var text: String
    }

    enum CodingKeys: String, CodingKey {
        case model, prompt
        case nProbs = "n_probs"
        case postSamplingProbs = "post_sampling_probs"
        case returnTokens = "return_tokens"
        case responseFields = "response_fields"
        case inputPrefix = "input_prefix"
        case inputSuffix = "input_suffix"
        case inputExtra = "input_extra"
    }
}

extension GenerationRequest<LlamaCompletionFields> {
    /// - Parameter fillsIn: Whether the request is for `/infill`.
    public func validated(fillsIn: Bool) throws(APIError) -> Self {
        try validateGeneration(serving: ["post_sampling_probs"])
        try sampling.checkNoThinkingBudget()
        guard generation.choices == 1 else { throw .unsupported("n", "more than one completion is") }
        try checkRange("n_probs", fields.nProbs, 0...100)
        if let count = fields.responseFields?.count, count > 64 {
            throw .invalid("response_fields", "at most 64 are allowed, got \(count)")
        }
        if !fillsIn, fields.prompt == nil { throw .init(missing: "prompt") }
        if fillsIn, fields.inputPrefix == nil { throw .init(missing: "input_prefix") }
        if fillsIn, fields.inputSuffix == nil { throw .init(missing: "input_suffix") }
        if fields.prompt?.count ?? 1 > 128 || fields.prompt?.count == 0 {
            throw .invalid("prompt", "must have 1 to 128 prompts, got \(fields.prompt?.count ?? 0)")
        }
        return self
    }
}

/// One event of a streamed completion, or the whole response.
public struct LlamaCompletion: Codable, Sendable, Equatable {
    /// A token with its log probability, or with its probability after sampling.
    public struct Probability: Codable, Sendable, Equatable {
        public var id: Int32
        public var token: String
        public var logprob: Double?
        public var prob: Double?
        public var bytes: [UInt8]
        /// These lists are absent in their elements.
        public var topLogprobs: [Probability]?
        public var topProbs: [Probability]?

        enum CodingKeys: String, CodingKey {
            case id, token, logprob, prob, bytes
            case topLogprobs = "top_logprobs"
            case topProbs = "top_probs"
        }

        /// - Parameters:
        ///   - top: `nil` for an element of such a list.
        ///   - isSampled: Whether the probabilities are those after sampling.
        public init(id: Int32, _ token: ChatLogprobs.Alternative, top: [Probability]?, isSampled: Bool) {
            self.id = id
            self.token = token.token
            bytes = token.bytes
            if isSampled {
                (prob, topProbs) = (exp(token.logprob), top)
            } else {
                (logprob, topLogprobs) = (token.logprob, top)
            }
        }
    }

    /// Index of the prompt.
    public var index: Int
    public var content: String
    public var tokens: [Int32]
    /// Always 0: clients cannot choose slots.
    public var idSlot = 0
    /// Whether this is the last event.
    public var stop: Bool
    public var tokensPredicted: Int
    public var tokensEvaluated: Int
    public var completionProbabilities: [Probability]?
    public var promptProgress: PromptProgressFields?
    public var timings: Timings?

    // Set only in the last event:
    public var model: String?
    public var prompt: String?
    public var hasNewLine: Bool?
    /// Always false: a prompt that is too long is an error.
    public var truncated: Bool?
    /// `eos`, `limit` or `word`.
    public var stopType: String?
    public var stoppingWord: String?
    public var tokensCached: Int?
    public var generationSettings: [String: JSON]?

    public init(index: Int, content: String, tokens: [Int32], stop: Bool, predicted: Int, evaluated: Int) {
        self.index = index
        self.content = content
        self.tokens = tokens
        self.stop = stop
        tokensPredicted = predicted
        tokensEvaluated = evaluated
    }

    enum CodingKeys: String, CodingKey {
        case index, content, tokens, stop, timings, model, prompt, truncated
        case idSlot = "id_slot"
        case tokensPredicted = "tokens_predicted"
        case tokensEvaluated = "tokens_evaluated"
        case completionProbabilities = "completion_probabilities"
        case promptProgress = "prompt_progress"
        case hasNewLine = "has_new_line"
        case stopType = "stop_type"
        case stoppingWord = "stopping_word"
        case tokensCached = "tokens_cached"
        case generationSettings = "generation_settings"
    }
}
