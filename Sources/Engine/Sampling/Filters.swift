import Platform

/// The filters of the sampler chain. Each leaves at least one candidate.
extension Candidates {
    /// Keeps the `k` most likely candidates. They are sorted in any case: what is drawn does not depend on how many unlikely
    /// ones were left out before.
    mutating func filterTopK(_ k: Int) {
        if k > 0 { keepMostLikely(k) }
    }

    /// Keeps candidates at least `p` times as likely as the most likely one.
    mutating func filterMinP(_ p: Double) {
        guard p > 0, count > 1 else { return }
        keep(atLeast: maximum + Float(log(p)))
    }

    /// Keeps the most likely candidates up to probability `p` (nucleus sampling, Holtzman et al. 2020).
    mutating func filterTopP(_ p: Double, scratch: inout [Double]) {
        guard p < 1, count > 1 else { return }
        let share = dropUnlikely(p, scratch: &scratch)
        sort()
        probabilities(into: &scratch)
        var sum = 0.0
        keepFirst(
            1
                + (scratch.firstIndex {
                    sum += $0 * share; return sum >= p
                } ?? count - 1))
    }

    /// Drops tokens that are too unlikely to be in the top-p set: all of them together have less than `1 - p`. Sorting the whole
    /// vocabulary would take longer than the rest of sampling.
    ///
    /// - Returns: Total probability of the remaining tokens.
    private mutating func dropUnlikely(_ p: Double, scratch: inout [Double]) -> Double {
        guard !isSorted else { return 1 }
        probabilities(into: &scratch)
        // All that are less likely than this have at most half of what is not needed.
        let least = (1 - p) / Double(2 * count)
        let likely = scratch.indices.filter { scratch[$0] >= least }
        keep(likely)
        return likely.reduce(0) { $0 + scratch[$1] }
    }
}
