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

    /// Keeps the most likely candidates up to probability `p` (nucleus sampling, Holtzman et al. 2020).
    mutating func filterTopP(_ p: Double, scratch: inout [Double]) {
        guard p < 1, count > 1 else { return }
        sort()
        probabilities(into: &scratch)
        var sum = 0.0
        keepFirst(
            1
                + (scratch.firstIndex {
                    sum += $0; return sum >= p
                } ?? count - 1))
    }
}
