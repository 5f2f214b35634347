extension SamplingOptions {
    /// Exclude Top Choices (p-e-w 2024): drops the most likely tokens at random, for less predictable text.
    public struct XTC: Sendable, Equatable, Codable {
        /// Probability that the filter is applied to a token, 0...1.
        public var probability: Double
        /// Of the tokens at least this likely, 0...1, all but the least likely are dropped. Above 0.5 it has no effect.
        public var threshold: Double

        public init(probability: Double, threshold: Double = 0.1) {
            self.probability = probability
            self.threshold = threshold
        }
    }
}

extension Candidates {
    /// - Parameter scratch: Reused for the probabilities.
    mutating func filterXTC(
        _ options: SamplingOptions.XTC, using random: inout SplitMix64, scratch: inout [Double]
    ) {
        guard options.probability > 0, count > 1 else { return }
        // Drawn for every token, so that the random sequence does not depend on whether the filter applies.
        guard Double.random(in: 0..<1, using: &random) < options.probability else { return }
        sort()
        probabilities(into: &scratch)
        let top = scratch.prefix { $0 >= options.threshold }.count
        if top > 1 { dropFirst(top - 1) }
    }
}
