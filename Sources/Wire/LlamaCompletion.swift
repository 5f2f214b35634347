import Foundation
package import JSON

/// Body of `POST /completion` and `POST /infill` of llama.cpp's API.
package typealias LlamaCompletionRequest = GenerationRequest<LlamaCompletionFields>

/// Fields of llama.cpp's completion requests besides `GenerationFields`.
package struct LlamaCompletionFields: Codable, Sendable {
    /// Absent: the server's only model.
    package var model: String?
    /// Required by `/completion`; with `/infill`, text appended to the prefix.
    package var prompt: PromptInput?
    /// Number of most likely tokens to report at each position.
    package var nProbs: WholeNumber?
    /// Whether the probabilities are those after all filters, from which the token was drawn. Absent: the model's own.
    package var postSamplingProbs: Bool?
    package var returnTokens: Bool?
    /// Paths of the fields to return, such as `generation_settings/n_predict`. Absent or empty: all.
    package var responseFields: [String]?
    /// Text before and after the gap, for `/infill`.
    package var inputPrefix: String?
    package var inputSuffix: String?
    /// Other files as context, for `/infill`.
    package var inputExtra: [ExtraFile]?

    package struct ExtraFile: Codable, Sendable {
        package var filename: String?
        package var text: String
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
    package func validated(fillsIn: Bool) throws(APIError) -> Self {
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
package struct LlamaCompletion: Codable, Sendable, Equatable {
    /// A token with its log probability, or with its probability after sampling.
    package struct Probability: Codable, Sendable, Equatable {
        package var id: Int32
        package var token: String
        package var logprob: Double?
        package var prob: Double?
        package var bytes: [UInt8]
        /// These lists are absent in their elements.
        package var topLogprobs: [Probability]?
        package var topProbs: [Probability]?

        enum CodingKeys: String, CodingKey {
            case id, token, logprob, prob, bytes
            case topLogprobs = "top_logprobs"
            case topProbs = "top_probs"
        }

        /// - Parameters:
        ///   - top: `nil` for an element of such a list.
        ///   - isSampled: Whether the probabilities are those after sampling.
        package init(id: Int32, _ token: ChatLogprobs.Alternative, top: [Probability]?, isSampled: Bool) {
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
    package var index: Int
    package var content: String
    package var tokens: [Int32]
    /// The slot that gets prompt and answer.
    package var idSlot: Int
    /// Whether this is the last event.
    package var stop: Bool
    package var tokensPredicted: Int
    package var tokensEvaluated: Int
    package var completionProbabilities: [Probability]?
    package var promptProgress: PromptProgressFields?
    package var timings: Timings?

    // Set only in the last event:
    package var model: String?
    package var prompt: String?
    package var hasNewLine: Bool?
    /// Always false: a prompt that is too long is an error.
    package var truncated: Bool?
    /// `eos`, `limit` or `word`.
    package var stopType: String?
    package var stoppingWord: String?
    package var tokensCached: Int?
    package var generationSettings: [String: JSON]?

    package init(
        index: Int, slot: Int, content: String, tokens: [Int32], stop: Bool, predicted: Int, evaluated: Int
    ) {
        self.index = index
        idSlot = slot
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
