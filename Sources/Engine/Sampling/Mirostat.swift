import Platform

extension SamplingOptions {
    /// Keeps the surprise of the text near a target (Basu et al. 2021); replaces the other filters.
    public struct Mirostat: Sendable, Equatable, Codable {
        public enum Version: Int, Sendable, Codable {
            /// Estimates the exponent of Zipf's law and derives the number of tokens to keep.
            case one = 1
            /// Keeps the tokens whose surprise is at most the current bound.
            case two = 2
        }

        public var version: Version
        /// Target surprise, in bits per token.
        public var tau: Double
        /// Learning rate: how strongly a token's surprise moves the bound.
        public var eta: Double

        public init(_ version: Version, tau: Double = 5, eta: Double = 0.1) {
            self.version = version
            self.tau = tau
            self.eta = eta
        }
    }
}

/// Mirostat state of one generation.
struct MirostatSampler {
    private let options: SamplingOptions.Mirostat
    /// The bound on a token's surprise in bits, `μ` in the paper.
    private(set) var bound: Double

    /// Number of tokens from which version 1 estimates Zipf's exponent.
    private static let estimatedTokens = 100

    init(_ options: SamplingOptions.Mirostat) {
        self.options = options
        bound = 2 * options.tau
    }

    /// Chooses a token and moves the bound by the deviation of its surprise from the target.
    ///
    /// - Parameter candidates: Logits with temperature applied.
    mutating func choose(
        from candidates: inout Candidates, using random: inout SplitMix64, scratch: inout [Double]
    ) -> Int32 {
        let vocabulary = candidates.count
        candidates.sort()
        candidates.probabilities(into: &scratch)
        let kept =
            switch options.version {
            case .one: Self.count(for: bound, scratch, vocabulary: vocabulary)
            case .two: scratch.prefix { -log2($0) <= bound }.count
            }
        candidates.keepFirst(max(1, kept))
        candidates.probabilities(into: &scratch)
        let index = candidates.draw(scratch, using: &random)
        bound -= options.eta * (-log2(scratch[index]) - options.tau)
        return candidates.ids[index]
    }

    /// The number of tokens within a surprise under Zipf's law, with its exponent fitted to the most likely tokens.
    ///
    /// - Parameter probabilities: Descending.
    static func count(for surprise: Double, _ probabilities: [Double], vocabulary: Int) -> Int {
        var (products, squares) = (0.0, 0.0)
        for index in 0..<min(estimatedTokens, probabilities.count) - 1 where probabilities[index + 1] > 0 {
            let rankRatio = log(Double(index + 2) / Double(index + 1))
            products += rankRatio * log(probabilities[index] / probabilities[index + 1])
            squares += rankRatio * rankRatio
        }
        let exponent = products / squares
        let epsilon = exponent - 1
        let count = pow(
            epsilon * exp2(surprise) / (1 - pow(Double(vocabulary), -epsilon)), 1 / exponent)
        // Equal probabilities give no exponent; keep all tokens.
        return count.isFinite ? Int(min(count, Double(vocabulary))) : vocabulary
    }
}
