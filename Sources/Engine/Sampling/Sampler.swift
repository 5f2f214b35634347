import Compute
import Constraint
import Platform
import Tokenizer

/// Chooses the next token of one sequence.
///
/// The chain: logit bias, penalties, DRY; then at temperature 0 the most likely token, else top-nσ, top-k, typical,
/// top-p, min-p, XTC, temperature, and a draw. Mirostat replaces the filters. As in llama.cpp, the filters see the
/// distribution before temperature, so that a high temperature flattens the plausible tokens without admitting
/// implausible ones.
package struct Sampler {
    /// Options with all defaults filled in: no `nil` is left.
    package struct Chain: Sendable, Equatable {
        package var temperature = 0.8
        package var topK = 0
        package var topP = 1.0
        package var minP = 0.05
        package var typicalP = 1.0
        package var repetitionPenalty = 1.0
        /// Tokens that are never sampled.
        var suppressed: Set<Int32> = []
    }

    private let chain: Chain
    private let options: SamplingOptions
    private var random: SplitMix64
    /// The last tokens, prompt included, for the repetition penalty.
    private var recent: [Int32]
    /// How often each token was generated, or with `penaltiesCountPrompt` occurs in `recent`; for the presence and
    /// frequency penalties.
    private var counts: [Int32: Int] = [:]
    private var dry: DRYSampler?
    private var mirostat: MirostatSampler?
    /// Tokens that end the generation.
    private let endTokens: Set<Int32>
    private var generatedCount = 0
    private var candidates = Candidates()
    /// After a draw, the probabilities of `candidates`.
    private var scratch: [Double] = []
    /// Whether the last token was drawn from `candidates`. Otherwise there was no choice.
    private var isDrawn = false

    /// - Parameter tokenizer: Provides the end tokens, and token texts for DRY.
    init(chain: Chain, options: SamplingOptions, prompt: [Int32], tokenizer: TextTokenizer? = nil) {
        self.chain = chain
        self.options = options
        random = SplitMix64(seed: options.seed ?? UInt64.random(in: 0...UInt64.max))
        recent = Array(prompt.suffix(options.penaltyWindow))
        if options.penaltiesCountPrompt { for token in recent { counts[token, default: 0] += 1 } }
        dry = options.dry.map { DRYSampler($0, prompt: prompt, tokenizer: tokenizer) }
        mirostat = options.mirostat.map { MirostatSampler($0) }
        endTokens = tokenizer?.endOfGeneration ?? []
    }

    /// The logits that the choice of the next token depends on; `nil`: all of them.
    var wanted: BestOutputs? {
        guard !changesLogits, mirostat == nil, (options.topNSigma ?? 0) <= 0 else { return nil }
        // Some of the best may be dropped.
        var count = 1 + chain.suppressed.count
        if generatedCount < options.minimumTokens || options.ignoresEndOfSequence {
            count += endTokens.count + options.stopTokens.count
        }
        var margin: Float = 0
        if chain.temperature > 0 {
            if chain.topK > 0 {
                count += chain.topK - 1
            } else {
                guard chain.typicalP >= 1, chain.topP >= 1, chain.minP > 0 else { return nil }
                // A little more than the filter keeps.
                margin = Float(-log(chain.minP)) + 0.01
            }
        }
        return count <= BestOutputs.mostWanted ? BestOutputs(count: count, margin: margin) : nil
    }

    /// - Parameter logits: One for each token of the vocabulary.
    mutating func next(_ logits: UnsafeBufferPointer<Float>) -> Int32 {
        var token = choose(logits)
        if generatedCount < options.scriptedTokens.count { token = options.scriptedTokens[generatedCount] }
        accept(token)
        return token
    }

    /// The next token under a constraint. The unconstrained choice is tried first: usually it is allowed and no mask is
    /// computed. Otherwise a token is drawn from the allowed ones in proportion to their probabilities.
    ///
    /// - Returns: `nil` if no token is allowed.
    mutating func next(
        _ logits: UnsafeBufferPointer<Float>, under constraint: inout ConstraintFollower
    ) throws(ConstraintError) -> Int32? {
        isDrawn = false
        if let forced = try constraint.forcedTokens().first {
            accept(forced)
            try constraint.accept(forced)
            return forced
        }
        let before = mirostat
        var token = choose(logits)
        if !(try constraint.allows(token)) {
            let mask = try constraint.allowed()
            guard !mask.isEmpty else { return nil }
            mirostat = before
            token = choose(logits, allowed: mask)
        }
        accept(token)
        try constraint.accept(token)
        return token
    }

    /// The probability with which the last token was chosen, and those of its alternatives, after all filters.
    func logprob(of token: Int32, top: Int) -> TokenLogprob {
        isDrawn
            ? TokenLogprob(of: token, drawnFrom: candidates.ids, scratch, top: top)
            : TokenLogprob(of: token, drawnFrom: [token], [1], top: top)
    }

    private mutating func choose(_ logits: UnsafeBufferPointer<Float>, allowed: TokenMask? = nil) -> Int32 {
        isDrawn = false
        var dropped: Set<Int32> = []
        if generatedCount < options.minimumTokens {
            dropped = endTokens.union(options.stopTokens)
        } else if options.ignoresEndOfSequence {
            dropped = endTokens
        }
        if chain.temperature == 0, !changesLogits, let token = Candidates.mostLikely(in: logits, allowed),
            !dropped.contains(token), !chain.suppressed.contains(token)
        {
            return token
        }
        if changesLogits {
            candidates.reset(to: logits)
            applyBiasAndPenalties()
            dry?.penalize(&candidates)
            if let allowed { candidates.keep(allowed) }
        } else if let allowed {
            candidates.reset(to: logits, in: allowed)
        } else if let wanted {
            candidates.reset(to: logits, wanted)
        } else {
            candidates.reset(to: logits)
        }
        // Apart, so that an end token which is the only one left does not bring back a suppressed one.
        candidates.drop(chain.suppressed)
        candidates.drop(dropped)
        return chain.temperature == 0 ? candidates.mostLikely : draw()
    }

    private mutating func accept(_ token: Int32) {
        generatedCount += 1
        counts[token, default: 0] += 1
        dry?.accept(token)
        recent.append(token)
        guard recent.count > options.penaltyWindow else { return }
        let oldest = recent.removeFirst()
        guard options.penaltiesCountPrompt, let count = counts[oldest] else { return }
        counts[oldest] = count > 1 ? count - 1 : nil
    }

    private var changesLogits: Bool {
        !options.logitBias.isEmpty || chain.repetitionPenalty != 1 || options.presencePenalty != 0
            || options.frequencyPenalty != 0 || dry != nil
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
        if mirostat != nil {
            candidates.scale(by: Float(1 / chain.temperature))
            isDrawn = true
            return mirostat?.choose(from: &candidates, using: &random, scratch: &scratch) ?? candidates.mostLikely
        }
        candidates.filterTopNSigma(options.topNSigma ?? 0)
        candidates.filterTopK(chain.topK)
        candidates.filterTypical(chain.typicalP, scratch: &scratch)
        candidates.filterTopP(chain.topP, scratch: &scratch)
        candidates.filterMinP(chain.minP)
        if let xtc = options.xtc { candidates.filterXTC(xtc, using: &random, scratch: &scratch) }
        var temperature = chain.temperature
        if let dynamic = options.dynamicTemperature {
            candidates.probabilities(into: &scratch)
            temperature = dynamic.temperature(around: temperature, scratch)
            guard temperature > 0 else { return candidates.mostLikely }
        }
        candidates.probabilities(temperature: temperature, into: &scratch)
        isDrawn = true
        return candidates.ids[candidates.draw(scratch, using: &random)]
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): a seed gives the same numbers on every platform and in every version.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
