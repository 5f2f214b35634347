/// How a session's model chooses its words, and how many. What is `nil` is as the model's file recommends it.
public struct GenerationOptions: Sendable, Equatable, Codable {
    /// What of the model's distribution a token is drawn from.
    public struct SamplingMode: Sendable, Equatable, Codable {
        enum Kind: Sendable, Equatable, Codable {
            case greedy
            case top(Int, seed: UInt64?)
            case probability(Double, seed: UInt64?)
        }

        let kind: Kind

        /// Always the likeliest token: the same answer to the same conversation.
        public static let greedy = Self(kind: .greedy)

        /// One of the `k` likeliest tokens; with a seed the same answer to the same conversation.
        public static func random(top k: Int, seed: UInt64? = nil) -> Self { Self(kind: .top(k, seed: seed)) }

        /// One of the likeliest tokens whose probabilities sum to `probabilityThreshold` (nucleus sampling); with a seed the
        /// same answer to the same conversation.
        public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> Self {
            Self(kind: .probability(probabilityThreshold, seed: seed))
        }
    }

    public var sampling: SamplingMode?
    /// 0...2: flattens or sharpens the distribution. It changes nothing about `.greedy`.
    public var temperature: Double?
    /// An answer that is longer ends there.
    public var maximumResponseTokens: Int?

    public init(sampling: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.sampling = sampling
        self.temperature = temperature
        self.maximumResponseTokens = maximumResponseTokens
    }
}

extension GenerationOptions {
    /// The name that the 27 SDK has for `sampling`.
    public var samplingMode: SamplingMode? {
        get { sampling }
        set { sampling = newValue }
    }

    /// With the 27 SDK's name for `sampling`.
    public init(samplingMode: SamplingMode?, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.init(sampling: samplingMode, temperature: temperature, maximumResponseTokens: maximumResponseTokens)
    }
}

extension SamplingOptions {
    /// A sampling mode replaces all filters that the model's file recommends; without one they apply.
    init(_ options: GenerationOptions) {
        self.init(temperature: options.temperature, maximumTokens: options.maximumResponseTokens)
        switch options.sampling?.kind {
        case nil: break
        case .greedy: temperature = 0
        case .top(let k, let seed): (topK, topP, minP, self.seed) = (k, 1, 0, seed)
        case .probability(let p, let seed): (topK, topP, minP, self.seed) = (0, p, 0, seed)
        }
    }
}
