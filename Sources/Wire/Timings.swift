/// How long a generation took, by llama.cpp's names.
public struct Timings: Codable, Sendable, Equatable {
    /// Tokens of the prompt that were remembered from earlier requests.
    public var cacheN: Int
    /// Tokens of the prompt that were computed.
    public var promptN: Int
    /// Until the first token, waiting included.
    public var promptMS: Double
    public var promptPerTokenMS: Double
    public var promptPerSecond: Double
    public var predictedN: Int
    public var predictedMS: Double
    public var predictedPerTokenMS: Double
    public var predictedPerSecond: Double
    /// Tokens that were guessed, and those of them that were right; `nil` where none were.
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

/// How far a prompt is, by llama.cpp's names.
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
