public import LocalLLM

/// Sampling and maximum length of a session's answers. `nil` values follow the profile, and the model file's
/// recommendation.
public struct GenerationOptions: Sendable, Equatable, Codable {
    /// Which tokens of the model's distribution are sampled.
    public struct SamplingMode: Sendable, Equatable, Codable {
        /// The mode with its numbers.
        public enum Kind: Sendable, Equatable, Codable {
            /// Always the most likely token.
            case greedy
            /// One of the `k` most likely tokens. The same seed gives the same answer; `nil`: another seed each time.
            case randomTopK(_ k: Int, seed: UInt64?)
            /// One of the fewest tokens whose probabilities add up to the threshold, 0...1. Seeds as for `randomTopK`.
            case randomProbabilityThreshold(_ threshold: Double, seed: UInt64?)
        }

        /// The mode with its numbers, for executors.
        public let kind: Kind

        /// Always the most likely token: reproducible answers.
        public static var greedy: Self { Self(kind: .greedy) }

        /// Samples from the `k` most likely tokens; reproducible with a seed.
        public static func random(top k: Int, seed: UInt64? = nil) -> Self { Self(kind: .randomTopK(k, seed: seed)) }

        /// Samples from the smallest set of tokens whose probabilities sum to `probabilityThreshold` (nucleus
        /// sampling); reproducible with a seed.
        public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> Self {
            Self(kind: .randomProbabilityThreshold(probabilityThreshold, seed: seed))
        }
    }

    /// Whether the model may, must or must not call tools in its next message.
    public struct ToolCallingMode: Sendable, Equatable, Codable {
        /// The mode as a value to switch over.
        public enum Kind: Sendable, Hashable, Codable {
            /// The model decides.
            case allowed
            /// Every message is a call.
            case required
            /// No message is a call.
            case disallowed
        }

        /// The mode, for executors.
        public var kind: Kind

        /// A message is an answer or calls, as the model decides. The default.
        public static let allowed = Self(kind: .allowed)
        /// Every message is a call, until the mode changes or a tool throws.
        public static let required = Self(kind: .required)
        /// The model does not see the tools and cannot call them.
        public static let disallowed = Self(kind: .disallowed)
    }

    /// `nil`: the filters that the model's file recommends.
    public var samplingMode: SamplingMode?
    /// 0...2: values below 1 sharpen, values above 1 flatten the distribution. No effect with `.greedy`.
    public var temperature: Double?
    /// Maximum tokens of an answer; longer answers are cut off.
    public var maximumResponseTokens: Int?
    /// `nil`: allowed.
    public var toolCallingMode: ToolCallingMode?
    private var localModel: SamplingOptions?

    /// Options of a call or a profile; `nil` leaves the decision to the next level.
    public init(samplingMode: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.init(
            samplingMode: samplingMode, temperature: temperature, maximumResponseTokens: maximumResponseTokens,
            toolCallingMode: nil)
    }

    /// The same with a decision on calling tools.
    public init(
        samplingMode: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil,
        toolCallingMode: ToolCallingMode?
    ) {
        self.samplingMode = samplingMode
        self.temperature = temperature
        self.maximumResponseTokens = maximumResponseTokens
        self.toolCallingMode = toolCallingMode
    }
}

extension GenerationOptions {
    /// The 26 SDK's name of `samplingMode`.
    @available(*, deprecated, renamed: "samplingMode")
    public var sampling: SamplingMode? {
        get { samplingMode }
        set { samplingMode = newValue }
    }

    /// The 26 SDK's initializer.
    @available(*, deprecated, renamed: "init(samplingMode:temperature:maximumResponseTokens:)")
    public init(sampling: SamplingMode?, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.init(samplingMode: sampling, temperature: temperature, maximumResponseTokens: maximumResponseTokens)
    }

    /// All options of a local model, as `options[custom: LocalModel.self]`. Options that are set above replace theirs.
    /// A constraint has no effect: the content's type is the constraint.
    public subscript(custom _: LocalModel.Type) -> SamplingOptions? {
        get { localModel }
        set { localModel = newValue }
    }

    /// The options with those of `other` where they are `nil`.
    func filled(from other: GenerationOptions) -> Self {
        var options = self
        options.samplingMode = samplingMode ?? other.samplingMode
        options.temperature = temperature ?? other.temperature
        options.maximumResponseTokens = maximumResponseTokens ?? other.maximumResponseTokens
        options.toolCallingMode = toolCallingMode ?? other.toolCallingMode
        options.localModel = localModel ?? other.localModel
        return options
    }
}

extension SamplingOptions {
    /// Converts the options. A sampling mode replaces all filters that the model's file recommends; `nil` keeps them.
    init(_ options: GenerationOptions) {
        self = options[custom: LocalModel.self] ?? .init()
        temperature = options.temperature ?? temperature
        maximumTokens = options.maximumResponseTokens ?? maximumTokens
        switch options.samplingMode?.kind {
        case nil: break
        case .greedy: temperature = 0
        case .randomTopK(let k, let seed): (topK, topP, minP, self.seed) = (k, 1, 0, seed)
        case .randomProbabilityThreshold(let p, let seed): (topK, topP, minP, self.seed) = (0, p, 0, seed)
        }
    }
}

/// What the model reads beside the conversation, and how much it thinks.
public struct ContextOptions: Sendable, Equatable, Codable {
    /// How much a model with reasoning thinks before it answers.
    public enum ReasoningLevel: Sendable, Equatable, Codable {
        /// A little: `low` for chat templates and OpenAI's API.
        case light
        /// As much as is usual: `medium`.
        case moderate
        /// As much as helps, at the cost of time: `high`.
        case deep
        /// The service's or the chat template's own word.
        case custom(String)
    }

    /// Whether the prompt contains the schema of the answer; `nil`: it does.
    public var includeSchemaInPrompt: Bool?
    /// `nil`: the model's own measure. A model without reasoning refuses any other.
    public var reasoningLevel: ReasoningLevel?

    /// Options of a call; `nil` leaves the decision to the profile, then to the defaults.
    public init(includeSchemaInPrompt: Bool? = nil, reasoningLevel: ReasoningLevel? = nil) {
        self.includeSchemaInPrompt = includeSchemaInPrompt
        self.reasoningLevel = reasoningLevel
    }
}

extension ContextOptions.ReasoningLevel {
    /// The word of chat templates and of OpenAI's API.
    var effort: String {
        switch self {
        case .light: "low"
        case .moderate: "medium"
        case .deep: "high"
        case .custom(let word): word
        }
    }
}
