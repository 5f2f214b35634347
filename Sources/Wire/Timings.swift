/// Timings of a generation, under llama.cpp's names.
package struct Timings: Codable, Sendable, Equatable {
    /// Prompt tokens found in the prefix cache.
    package var cacheN: Int
    /// Prompt tokens computed (prefill).
    package var promptN: Int
    /// Time to the first token, including waiting.
    package var promptMS: Double
    package var promptPerTokenMS: Double
    package var promptPerSecond: Double
    package var predictedN: Int
    package var predictedMS: Double
    package var predictedPerTokenMS: Double
    package var predictedPerSecond: Double
    /// Draft tokens, and how many were accepted; `nil` without drafts.
    package var draftN: Int?
    package var draftNAccepted: Int?

    enum CodingKeys: String, CodingKey {
        case cacheN = "cache_n"
        case promptN = "prompt_n"
        case promptMS = "prompt_ms"
        case promptPerTokenMS = "prompt_per_token_ms"
        case promptPerSecond = "prompt_per_second"
        case predictedN = "predicted_n"
        case predictedMS = "predicted_ms"
        case predictedPerTokenMS = "predicted_per_token_ms"
        case predictedPerSecond = "predicted_per_second"
        case draftN = "draft_n"
        case draftNAccepted = "draft_n_accepted"
    }

    package init(
        promptTokens: Int, cachedTokens: Int, promptSeconds: Double, tokens: Int, seconds: Double, drafted: Int = 0,
        accepted: Int = 0
    ) {
        cacheN = cachedTokens
        promptN = promptTokens - cachedTokens
        promptMS = promptSeconds * 1000
        promptPerTokenMS = promptN > 0 ? promptMS / Double(promptN) : 0
        promptPerSecond = promptSeconds > 0 ? Double(promptN) / promptSeconds : 0
        predictedN = tokens
        predictedMS = seconds * 1000
        predictedPerTokenMS = tokens > 0 ? predictedMS / Double(tokens) : 0
        predictedPerSecond = seconds > 0 ? Double(tokens) / seconds : 0
        if drafted > 0 { (draftN, draftNAccepted) = (drafted, accepted) }
    }
}

/// Prefill progress, under llama.cpp's names.
package struct PromptProgressFields: Codable, Sendable, Equatable {
    package var total: Int
    package var cache: Int
    package var processed: Int
    package var timeMS: Int

    enum CodingKeys: String, CodingKey {
        case total, cache, processed
        case timeMS = "time_ms"
    }

    package init(total: Int, cache: Int, processed: Int, timeMS: Int) {
        (self.total, self.cache, self.processed, self.timeMS) = (total, cache, processed, timeMS)
    }
}
