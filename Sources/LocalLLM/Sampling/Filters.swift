import Glibc

/// The filters of the sampler chain. Each leaves at least one candidate.
extension Candidates {
    /// Keeps the `k` most likely candidates.
    mutating func filterTopK(_ k: Int) {
        guard k > 0, k < count else { return }
        sort()
        keepFirst(k)
    }

    /// Keeps candidates at least `p` times as likely as the most likely one.
    mutating func filterMinP(_ p: Double) {
        guard p > 0, count > 1 else { return }
        keep(atLeast: maximum + Float(log(p)))
    }

    /// Keeps the smallest set of most likely candidates with probability at least `p` (nucleus sampling, Holtzman et
    /// al. 2020).
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

    /// Drops those that are less likely than the last one that is needed to reach the probability `p`, most of them: to sort
    /// all of a vocabulary takes longer than all else that is done for a token.
    ///
    /// - Returns: The probability of those that are left.
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
