/// Token counts of a request.
package struct TokenUsage: Codable, Sendable, Equatable {
    package var promptTokens: Int
    package var completionTokens: Int
    package var totalTokens: Int
    package var promptTokensDetails: PromptDetails
    package var completionTokensDetails: CompletionDetails

    package struct PromptDetails: Codable, Sendable, Equatable {
        /// Prompt tokens found in the prefix cache.
        package var cachedTokens: Int

        enum CodingKeys: String, CodingKey { case cachedTokens = "cached_tokens" }
    }

    package struct CompletionDetails: Codable, Sendable, Equatable {
        /// Completion tokens that are reasoning.
        package var reasoningTokens: Int
        /// Draft tokens, from the request's `prediction` or the text so far, that were accepted.
        package var acceptedPredictionTokens: Int
        /// Rejected draft tokens. They are not part of the answer or of `completionTokens`.
        package var rejectedPredictionTokens: Int

        enum CodingKeys: String, CodingKey {
            case reasoningTokens = "reasoning_tokens"
            case acceptedPredictionTokens = "accepted_prediction_tokens"
            case rejectedPredictionTokens = "rejected_prediction_tokens"
        }
    }

    enum CodingKeys: String, CodingKey {
        case promptTokens = "prompt_tokens"
        case completionTokens = "completion_tokens"
        case totalTokens = "total_tokens"
        case promptTokensDetails = "prompt_tokens_details"
        case completionTokensDetails = "completion_tokens_details"
    }

    package init(
        promptTokens: Int = 0, cachedTokens: Int = 0, completionTokens: Int = 0, reasoningTokens: Int = 0,
        acceptedPredictionTokens: Int = 0, rejectedPredictionTokens: Int = 0
    ) {
        self.promptTokens = promptTokens
        self.completionTokens = completionTokens
        totalTokens = promptTokens + completionTokens
        promptTokensDetails = PromptDetails(cachedTokens: cachedTokens)
        completionTokensDetails = CompletionDetails(
            reasoningTokens: reasoningTokens, acceptedPredictionTokens: acceptedPredictionTokens,
            rejectedPredictionTokens: rejectedPredictionTokens)
    }

    package static func + (a: Self, b: Self) -> Self {
        let (ofA, ofB) = (a.completionTokensDetails, b.completionTokensDetails)
        return .init(
            promptTokens: a.promptTokens + b.promptTokens,
            cachedTokens: a.promptTokensDetails.cachedTokens + b.promptTokensDetails.cachedTokens,
            completionTokens: a.completionTokens + b.completionTokens,
            reasoningTokens: ofA.reasoningTokens + ofB.reasoningTokens,
            acceptedPredictionTokens: ofA.acceptedPredictionTokens + ofB.acceptedPredictionTokens,
            rejectedPredictionTokens: ofA.rejectedPredictionTokens + ofB.rejectedPredictionTokens)
    }
}
