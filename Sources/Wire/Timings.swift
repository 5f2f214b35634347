/// Timings of a generation, under llama.cpp's names.
public struct Timings: Codable, Sendable, Equatable {
    /// Prompt tokens found in the prefix cache.
    public var cacheN: Int
    /// Prompt tokens computed (prefill).
    public var promptN: Int
    /// Time to the first token, including waiting.
    public var promptMS: Double
    public var promptPerTokenMS: Double
    public var promptPerSecond: Double
    public var predictedN: Int
    public var predictedMS: Double
    public var predictedPerTokenMS: Double
    public var predictedPerSecond: Double
    /// Draft tokens, and how many were accepted; `nil` without drafts.
    public var draftN: Int?
    public var draftNAccepted: Int?

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

    public init(
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
public struct PromptProgressFields: Codable, Sendable, Equatable {
    public var total: Int
    public var cache: Int
    public var processed: Int
    public var timeMS: Int

    enum CodingKeys: String, CodingKey {
        case total, cache, processed
        case timeMS = "time_ms"
    }

    public init(total: Int, cache: Int, processed: Int, timeMS: Int) {
        (self.total, self.cache, self.processed, self.timeMS) = (total, cache, processed, timeMS)
    }
}
