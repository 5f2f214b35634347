/// Sampling and stopping fields beyond OpenAI's.
///
/// Names, ranges and defaults: llama.cpp's server and vLLM ("Sampling Parameters"). They are in the same JSON object as
/// `GenerationFields`.
public struct SamplerFields: Codable, Sendable {
    /// Maximum tokens to generate; -1 for as many as fit. llama.cpp's name of `max_tokens`.
    public var nPredict: WholeNumber?
    /// Tokens that end the generation. vLLM's field.
    public var stopTokenIDs: [WholeNumber]?
    /// Minimum tokens before an end token is allowed. vLLM's field.
    public var minTokens: WholeNumber?
    public var ignoreEOS: Bool?

    /// Number of last tokens for `repeat_penalty`; -1: all, absent: 64.
    public var repeatLastN: WholeNumber?
    /// Dynamic temperature: maximum deviation from `temperature`, by entropy; 0 is off.
    public var dynatempRange: Double?
    /// Absent: 1.
    public var dynatempExponent: Double?
    /// 0 or less is off.
    public var topNSigma: Double?
    /// 0 is off.
    public var xtcProbability: Double?
    /// Absent: 0.1.
    public var xtcThreshold: Double?
    /// 0 is off.
    public var dryMultiplier: Double?
    /// Absent: 1.75.
    public var dryBase: Double?
    /// Absent: 2.
    public var dryAllowedLength: WholeNumber?
    /// -1 or absent: the whole context.
    public var dryPenaltyLastN: WholeNumber?
    /// Absent: line break, colon, quotation mark and asterisk.
    public var drySequenceBreakers: [String]?
    /// Version of Mirostat; 0 is off.
    public var mirostat: WholeNumber?
    /// Absent: 5.
    public var mirostatTau: Double?
    /// Absent: 0.1.
    public var mirostatEta: Double?

    /// Maximum reasoning tokens; -1: no limit. Of these names, from llama.cpp, vLLM and Qwen, the first one set counts.
    public var reasoningBudget: WholeNumber?
    public var reasoningBudgetTokens: WholeNumber?
    public var thinkingBudget: WholeNumber?
    public var thinkingBudgetTokens: WholeNumber?
    public var thinkingTokenBudget: WholeNumber?
    /// Scales of the server's LoRA adapters; adapters not named get 0. Absent: the server's defaults.
    public var lora: [AdapterScale]?

    /// Whether the answer includes `timings`.
    public var timingsPerToken: Bool?
    /// Whether a stream reports prefill progress.
    public var returnProgress: Bool?

    /// Limits prefix cache hits to requests with the same salt and client. vLLM's field.
    public var cacheSalt: String?

    /// All fields absent.
    public init() {}

    enum CodingKeys: String, CodingKey {
        case mirostat, lora
        case nPredict = "n_predict"
        case stopTokenIDs = "stop_token_ids"
        case minTokens = "min_tokens"
        case ignoreEOS = "ignore_eos"
        case repeatLastN = "repeat_last_n"
        case dynatempRange = "dynatemp_range"
        case dynatempExponent = "dynatemp_exponent"
        case topNSigma = "top_n_sigma"
        case xtcProbability = "xtc_probability"
        case xtcThreshold = "xtc_threshold"
        case dryMultiplier = "dry_multiplier"
        case dryBase = "dry_base"
        case dryAllowedLength = "dry_allowed_length"
        case dryPenaltyLastN = "dry_penalty_last_n"
        case drySequenceBreakers = "dry_sequence_breakers"
        case mirostatTau = "mirostat_tau"
        case mirostatEta = "mirostat_eta"
        case reasoningBudget = "reasoning_budget"
        case reasoningBudgetTokens = "reasoning_budget_tokens"
        case thinkingBudget = "thinking_budget"
        case thinkingBudgetTokens = "thinking_budget_tokens"
        case thinkingTokenBudget = "thinking_token_budget"
        case timingsPerToken = "timings_per_token"
        case returnProgress = "return_progress"
        case cacheSalt = "cache_salt"
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    public func validate() throws(APIError) {
        try checkRange("n_predict", nPredict, -1...Int64.max)
        try checkRange("min_tokens", minTokens, 0...Int64(Int32.max))
        try checkRange("repeat_last_n", repeatLastN, -1...Int64(Int32.max))
        try checkRange("dynatemp_range", dynatempRange, 0...100)
        try checkRange("dynatemp_exponent", dynatempExponent, 0...100)
        try checkRange("top_n_sigma", topNSigma, -1...1e6)
        try checkRange("xtc_probability", xtcProbability, 0...1)
        try checkRange("xtc_threshold", xtcThreshold, 0...1)
        try checkRange("dry_multiplier", dryMultiplier, 0...1e6)
        try checkRange("dry_base", dryBase, 1...1e6)
        try checkRange("dry_allowed_length", dryAllowedLength, 1...Int64(Int32.max))
        try checkRange("dry_penalty_last_n", dryPenaltyLastN, -1...Int64(Int32.max))
        if let drySequenceBreakers, drySequenceBreakers.count > 64 {
            throw .invalid("dry_sequence_breakers", "at most 64 are allowed, got \(drySequenceBreakers.count)")
        }
        if let cacheSalt, !(1...256).contains(cacheSalt.utf8.count) {
            throw .invalid("cache_salt", "expected 1 to 256 bytes, got \(cacheSalt.utf8.count)")
        }
        try checkRange("mirostat", mirostat, 0...2)
        try checkRange("mirostat_tau", mirostatTau, 0...100)
        try checkRange("mirostat_eta", mirostatEta, 0...1)
        for (name, budget) in thinkingBudgets { try checkRange(name, budget, -1...Int64(Int32.max)) }
        try (lora ?? []).validate(at: "lora")
        if let stopTokenIDs, stopTokenIDs.count > 1024 {
            throw .invalid("stop_token_ids", "at most 1024 are allowed, got \(stopTokenIDs.count)")
        }
    }

    private var thinkingBudgets: [(name: String, value: WholeNumber?)] {
        [
            ("reasoning_budget", reasoningBudget), ("reasoning_budget_tokens", reasoningBudgetTokens),
            ("thinking_budget", thinkingBudget), ("thinking_budget_tokens", thinkingBudgetTokens),
            ("thinking_token_budget", thinkingTokenBudget),
        ]
    }

    /// Maximum reasoning tokens; `nil`: no limit.
    public var maximumThoughts: Int64? {
        thinkingBudgets.compactMap { $0.value?.value }.first.flatMap { $0 < 0 ? nil : $0 }
    }

    /// Refuses reasoning budgets, for endpoints whose answers are not parsed.
    func checkNoThinkingBudget() throws(APIError) {
        for (name, budget) in thinkingBudgets where budget.map({ $0.value >= 0 }) == true { throw .unsupported(name) }
    }

    /// `n_predict`; `nil` if it is not a limit.
    public var maximumTokens: Int64? { nPredict?.limit }
}
