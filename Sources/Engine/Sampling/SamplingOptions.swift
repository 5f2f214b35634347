/// How the next token is chosen, and when to stop.
///
/// An option that is `nil` takes the model's recommendation (`general.sampling.*` in its file) if there is one, else
/// the default given here.
public struct SamplingOptions: Sendable, Equatable, Codable {
    /// 0 is greedy: always the most likely token, regardless of the filters. Default 0.8.
    public var temperature: Double?
    /// Keep the `topK` most likely tokens; 0 keeps all. Default 0.
    public var topK: Int?
    /// Keep the smallest set of tokens whose probabilities sum to at least `topP` (nucleus sampling). Default 1.
    public var topP: Double?
    /// Drop tokens less likely than `minP` times the most likely one. Default 0.05.
    public var minP: Double?
    /// Locally typical sampling; 1 is off. Default 1.
    public var typicalP: Double?
    /// Divides positive and multiplies negative logits of tokens among the last `penaltyWindow`; 1 is off.
    public var repetitionPenalty: Double?
    /// Subtracted once from the logit of each token that was generated before. OpenAI's range is -2...2.
    public var presencePenalty: Double
    /// Subtracted from a token's logit for each time it was generated before. OpenAI's range is -2...2.
    public var frequencyPenalty: Double
    /// Number of most recent tokens, prompt included, that `repetitionPenalty` applies to. Default 64.
    public var penaltyWindow: Int
    /// Added to the logits of single tokens before anything else, by token ID.
    public var logitBias: [Int32: Double]
    /// The same seed, options and prompt give the same text. `nil` draws a random seed.
    public var seed: UInt64?
    /// Maximum tokens to generate; `nil`: up to the end of the context.
    public var maximumTokens: Int?
    /// Texts before which generation stops. Compared as UTF-8 bytes, across token borders; each at most
    /// `maximumStopBytes` long.
    public var stop: [String]
    /// Whether the generated text continues the prompt's text, so that a space before its first word is kept. Otherwise
    /// the space that SentencePiece models generate first is removed. Default: removed.
    public var continuesText: Bool
    /// Number of most likely alternatives to report beside each token's log probability; `nil` reports neither.
    public var topLogprobs: Int?
    /// Keep the logits within this many standard deviations of the highest (top-nσ); `nil` and 0 keep all.
    public var topNSigma: Double?
    /// Exclude Top Choices; `nil`: off.
    public var xtc: XTC?
    /// Repetition penalty by length of the repetition; `nil`: off.
    public var dry: DRY?
    /// Temperature by entropy; `nil`: off.
    public var dynamicTemperature: DynamicTemperature?
    /// Replaces the filters from `topK` to `xtc`.
    public var mirostat: Mirostat?
    /// Additional token IDs that end the generation, beside those of the model's file.
    public var stopTokens: Set<Int32>
    /// Tokens that would end the generation are not sampled before this many tokens. Stop strings still end it.
    public var minimumTokens: Int
    /// Whether the model's end-of-generation tokens are never sampled.
    public var ignoresEndOfSequence: Bool
    /// Whether pieces report the progress of prefill.
    public var reportsProgress: Bool
    /// Whether tokens may be drafted from the text so far and verified several per step, when that is faster. The
    /// generated text is the same.
    public var drafts: Bool
    /// A prediction of the answer: where it is right, several tokens are generated per step.
    public var expectedTokens: [Int32]
    /// Scales of the model's adapters by ID; adapters that are not named are off. `nil`: the model's current scales
    /// (`LocalModel.adapters`).
    public var adapterScales: [Int: Double]?

    /// Constraint on the text; `nil`: none.
    public var constraint: GenerationConstraint?
    /// Limit on the length of reasoning; `nil`: none.
    public var thoughtLimit: ThoughtLimit?
    /// Control tokens to include in the text of pieces, for a parser of the model's markup; see
    /// `LocalModel.markerTokens`.
    package var shownTokens: Set<Int32> = []

    /// Tokens to generate whatever the logits are, to measure the speed of a given answer.
    package var scriptedTokens: [Int32] = []

    /// Prefixes and encoded images are shared only between requests with equal salt, so that timing does not reveal the
    /// prompts of others.
    package var cacheSalt: String?

    /// The slot that gets prompt and answer, for a model whose slots can be saved; `nil`: the first.
    package var slot: Int?

    /// Whether the presence and frequency penalties count the last `penaltyWindow` tokens, prompt included, as those of
    /// llama.cpp do. Otherwise they count all generated tokens and no others, as OpenAI documents.
    package var penaltiesCountPrompt = false

    /// Whether `topLogprobs` lists the probabilities after all filters, from which tokens are drawn, as llama.cpp does on
    /// request. Otherwise they are the model's own.
    package var listsSampled = false

    /// Maximum bytes of a stop string.
    public static let maximumStopBytes = 4096

    /// The options that are coded: not the constraint, nor what the engine is told beside them.
    private enum CodingKeys: CodingKey {
        case temperature, topK, topP, minP, typicalP, repetitionPenalty, presencePenalty, frequencyPenalty
        case penaltyWindow, logitBias, seed, maximumTokens, stop, continuesText, topLogprobs, topNSigma, xtc, dry
        case dynamicTemperature, mirostat, stopTokens, minimumTokens, ignoresEndOfSequence, reportsProgress, drafts
        case expectedTokens, adapterScales
    }

    public init(
        temperature: Double? = nil, topK: Int? = nil, topP: Double? = nil, minP: Double? = nil,
        typicalP: Double? = nil, repetitionPenalty: Double? = nil, presencePenalty: Double = 0,
        frequencyPenalty: Double = 0, penaltyWindow: Int = 64, logitBias: [Int32: Double] = [:], seed: UInt64? = nil,
        maximumTokens: Int? = nil, stop: [String] = [], continuesText: Bool = false, topLogprobs: Int? = nil,
        topNSigma: Double? = nil, xtc: XTC? = nil, dry: DRY? = nil, dynamicTemperature: DynamicTemperature? = nil,
        mirostat: Mirostat? = nil, stopTokens: Set<Int32> = [], minimumTokens: Int = 0,
        ignoresEndOfSequence: Bool = false, reportsProgress: Bool = false, drafts: Bool = true,
        expectedTokens: [Int32] = [], constraint: GenerationConstraint? = nil, thoughtLimit: ThoughtLimit? = nil
    ) {
        self.temperature = temperature
        self.topK = topK
        self.topP = topP
        self.minP = minP
        self.typicalP = typicalP
        self.repetitionPenalty = repetitionPenalty
        self.presencePenalty = presencePenalty
        self.frequencyPenalty = frequencyPenalty
        self.penaltyWindow = penaltyWindow
        self.logitBias = logitBias
        self.seed = seed
        self.maximumTokens = maximumTokens
        self.stop = stop
        self.continuesText = continuesText
        self.topLogprobs = topLogprobs
        self.topNSigma = topNSigma
        self.xtc = xtc
        self.dry = dry
        self.dynamicTemperature = dynamicTemperature
        self.mirostat = mirostat
        self.stopTokens = stopTokens
        self.minimumTokens = minimumTokens
        self.ignoresEndOfSequence = ignoresEndOfSequence
        self.reportsProgress = reportsProgress
        self.drafts = drafts
        self.expectedTokens = expectedTokens
        self.constraint = constraint
        self.thoughtLimit = thoughtLimit
    }
}
