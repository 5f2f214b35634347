/// Sampling and maximum length of a session's answers. `nil` values follow the model file's recommendation.
public struct GenerationOptions: Sendable, Equatable, Codable {
    /// Which tokens of the model's distribution are sampled.
    public struct SamplingMode: Sendable, Equatable, Codable {
        enum Kind: Sendable, Equatable, Codable {
            case greedy
            case top(Int, seed: UInt64?)
            case probability(Double, seed: UInt64?)
        }

        let kind: Kind

        /// Always the most likely token: reproducible answers.
        public static let greedy = Self(kind: .greedy)

        /// Samples from the `k` most likely tokens; reproducible with a seed.
        public static func random(top k: Int, seed: UInt64? = nil) -> Self { Self(kind: .top(k, seed: seed)) }

        /// Samples from the smallest set of tokens whose probabilities sum to `probabilityThreshold` (nucleus
        /// sampling); reproducible with a seed.
        public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> Self {
            Self(kind: .probability(probabilityThreshold, seed: seed))
        }
    }

    /// `nil`: the filters that the model's file recommends.
    public var sampling: SamplingMode?
    /// 0...2: values below 1 sharpen, values above 1 flatten the distribution. No effect with `.greedy`.
    public var temperature: Double?
    /// Maximum tokens of an answer; longer answers are cut off.
    public var maximumResponseTokens: Int?
    private var localModel: SamplingOptions?

    public init(sampling: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.sampling = sampling
        self.temperature = temperature
        self.maximumResponseTokens = maximumResponseTokens
    }
}

extension LocalModel {
    public typealias CustomGenerationOptions = SamplingOptions
}

extension GenerationOptions {
    /// All options of a local model, as `options[custom: LocalModel.self]`. Options that are set above replace theirs.
    /// A constraint has no effect: the content's type is the constraint.
    public subscript(custom _: LocalModel.Type) -> LocalModel.CustomGenerationOptions? {
        get { localModel }
        set { localModel = newValue }
    }

    /// The 27 SDK's name for `sampling`.
    public var samplingMode: SamplingMode? {
        get { sampling }
        set { sampling = newValue }
    }

    /// Uses the 27 SDK's name for `sampling`.
    public init(samplingMode: SamplingMode?, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.init(sampling: samplingMode, temperature: temperature, maximumResponseTokens: maximumResponseTokens)
    }
}

extension SamplingOptions {
    /// Converts the options. A sampling mode replaces all filters that the model's file recommends; `nil` keeps them.
    init(_ options: GenerationOptions) {
        self = options[custom: LocalModel.self] ?? .init()
        temperature = options.temperature ?? temperature
        maximumTokens = options.maximumResponseTokens ?? maximumTokens
        switch options.sampling?.kind {
        case nil: break
        case .greedy: temperature = 0
        case .top(let k, let seed): (topK, topP, minP, self.seed) = (k, 1, 0, seed)
        case .probability(let p, let seed): (topK, topP, minP, self.seed) = (0, p, 0, seed)
        }
    }
}
