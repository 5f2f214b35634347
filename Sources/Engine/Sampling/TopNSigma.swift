extension Candidates {
    /// Keeps the logits within `n` standard deviations of the highest one (Tang et al. 2024, "Top-nσ"). The deviation
    /// is over all candidates' logits; unlike for the other filters, temperature does not change which are kept.
    mutating func filterTopNSigma(_ n: Double) {
        guard n > 0, count > 1 else { return }
        let mean = logits.reduce(0.0) { $0 + Double($1) } / Double(count)
        let variance = logits.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / Double(count)
        keep(atLeast: Float(Double(maximum) - n * variance.squareRoot()))
    }
}
