import Glibc

/// Chooses the next token of one sequence.
///
/// The chain: logit bias, penalties, then at temperature 0 the most likely token, else top-k, typical, top-p, min-p,
/// temperature, and a draw. The filters look at the distribution before temperature, as in llama.cpp, so that a high
/// temperature mixes the plausible tokens and does not let in the implausible ones.
struct Sampler {
    /// Every option settled: no `nil` left.
    struct Chain: Sendable, Equatable {
        var temperature = 0.8
        var topK = 0
        var topP = 1.0
        var minP = 0.05
        var typicalP = 1.0
        var repetitionPenalty = 1.0
    }

    private let chain: Chain
    private let options: SamplingOptions
    private var random: SplitMix64
    /// The last tokens, prompt included, for the repetition penalty.
    private var recent: [Int32]
    /// How often each token was generated, for the presence and frequency penalties.
    private var counts: [Int32: Int] = [:]
    private var candidates = Candidates()
    private var scratch: [Double] = []

    init(chain: Chain, options: SamplingOptions, prompt: [Int32]) {
        self.chain = chain
        self.options = options
        random = SplitMix64(seed: options.seed ?? UInt64.random(in: 0...UInt64.max))
        recent = Array(prompt.suffix(options.penaltyWindow))
    }

    /// - Parameter logits: One for each token of the vocabulary.
    mutating func next(_ logits: UnsafeBufferPointer<Float>) -> Int32 {
        candidates.reset(to: logits)
        applyBiasAndPenalties()
        let token = chain.temperature == 0 ? candidates.mostLikely : draw()
        counts[token, default: 0] += 1
        recent.append(token)
        if recent.count > options.penaltyWindow { recent.removeFirst() }
        return token
    }

    private mutating func applyBiasAndPenalties() {
        for (id, bias) in options.logitBias { candidates.adjust(id) { $0 + Float(bias) } }
        if chain.repetitionPenalty != 1 {
            let penalty = Float(chain.repetitionPenalty)
            for id in Set(recent) { candidates.adjust(id) { $0 > 0 ? $0 / penalty : $0 * penalty } }
        }
        if options.presencePenalty != 0 || options.frequencyPenalty != 0 {
            for (id, count) in counts {
                let penalty = options.presencePenalty + Double(count) * options.frequencyPenalty
                candidates.adjust(id) { $0 - Float(penalty) }
            }
        }
    }

    private mutating func draw() -> Int32 {
        candidates.filterTopK(chain.topK)
        candidates.filterTypical(chain.typicalP, scratch: &scratch)
        candidates.filterTopP(chain.topP, scratch: &scratch)
        candidates.filterMinP(chain.minP)
        candidates.probabilities(temperature: chain.temperature, into: &scratch)
        var point = Double.random(in: 0..<1, using: &random)
        for (index, probability) in scratch.enumerated() {
            point -= probability
            if point < 0 { return candidates.ids[index] }
        }
        return candidates.mostLikely  // the probabilities summed to a little less than 1
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): a seed's numbers are the same everywhere and in every version.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
