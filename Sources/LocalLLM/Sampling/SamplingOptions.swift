/// How the next token is chosen, and when to stop.
///
/// A filter that is `nil` is the model's own recommendation (`general.sampling.*` in its file) where it has one,
/// else the default given here.
public struct SamplingOptions: Sendable, Equatable {
    /// 0 is greedy: always the most likely token, whatever the filters say. Default 0.8.
    public var temperature: Double?
    /// Keep the `topK` most likely tokens; 0 keeps all. Default 0.
    public var topK: Int?
    /// Keep the smallest set of tokens whose probabilities sum to at least `topP` (nucleus sampling). Default 1.
    public var topP: Double?
    /// Drop tokens less likely than `minP` times the most likely one. Default 0.05.
    public var minP: Double?
    /// Locally typical sampling; 1 is off. Default 1.
    public var typicalP: Double?
    /// Divides (or, below zero, multiplies) the logit of each token among the last `penaltyWindow`; 1 is off.
    public var repetitionPenalty: Double?
    /// Subtracted from a token's logit once if it was generated already. OpenAI's range is -2...2.
    public var presencePenalty: Double
    /// Subtracted from a token's logit for each time it was generated already. OpenAI's range is -2...2.
    public var frequencyPenalty: Double
    /// How many of the last tokens, prompt included, `repetitionPenalty` looks at. Default 64.
    public var penaltyWindow: Int
    /// Added to the logits of single tokens before anything else.
    public var logitBias: [Int32: Double]
    /// Same seed, same options, same prompt: same text. `nil` draws one.
    public var seed: UInt64?
    /// Most tokens to generate; `nil` goes on to the end of the context.
    public var maximumTokens: Int?
    /// Generation ends before the first of these. Compared as UTF-8 bytes, across token borders. Each of
    /// `maximumStopBytes` at most.
    public var stop: [String]
    /// Whether the generated text goes on with the prompt's own, so that a space before its first word counts. Otherwise
    /// it is a text by itself, and the space that SentencePiece models write before one is left out. Default: by itself.
    public var continuesText: Bool
    /// How many likely alternatives to report beside each token's own logarithm of probability; `nil` reports none of it.
    public var topLogprobs: Int?
    /// Keep the logits within this many standard deviations of the highest; `nil` and 0 keep all.
    public var topNSigma: Double?
    public var xtc: XTC?
    public var dry: DRY?
    public var dynamicTemperature: DynamicTemperature?
    /// Takes the place of the filters from `topK` to `xtc`.
    public var mirostat: Mirostat?
    /// Generation ends at one of these, as at the tokens that the model's file names.
    public var stopTokens: Set<Int32>
    /// Until so many tokens no token is sampled that would end the generation. Stop strings end it all the same.
    public var minimumTokens: Int
    /// The tokens with which the model would end its answer are never sampled.
    public var ignoresEndOfSequence: Bool
    /// Whether pieces tell how far the prompt is.
    public var reportsProgress: Bool
    /// Whether tokens may be guessed from the text so far and checked several a step, where that is faster. What is generated
    /// is the same.
    public var drafts: Bool
    /// What the answer is expected to be, as far as somebody knows: where it is right, it comes several tokens a step.
    public var expectedTokens: [Int32]
    /// How strongly each of the model's adapters acts, by its id; those not named do not. `nil`: as the model says
    /// (`LocalModel.adapters`).
    public var adapterScales: [Int: Double]?

    /// The shape of the text; `nil` leaves it free.
    public var constraint: GenerationConstraint?
    /// How long thoughts may be; `nil` leaves that to the model.
    public var thoughtLimit: ThoughtLimit?
    /// Control tokens whose text the pieces have, for a reader that knows what they mean; see `LocalModel.markerTokens`.
    package var shownTokens: Set<Int32> = []

    /// Prefixes are shared only between requests with the same salt, so that nobody else sees in the timing what a request
    /// began with.
    package var cacheSalt: String?

    /// The longest stop string.
    public static let maximumStopBytes = 4096

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
