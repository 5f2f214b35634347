import Glibc

/// The filters of the chain. Each leaves at least one candidate.
extension Candidates {
    /// Keeps the `k` most likely.
    mutating func filterTopK(_ k: Int) {
        guard k > 0, k < count else { return }
        sort()
        keepFirst(k)
    }

    /// Keeps those at least `p` times as likely as the most likely one.
    mutating func filterMinP(_ p: Double) {
        guard p > 0, count > 1 else { return }
        keep(atLeast: maximum + Float(log(p)))
    }

    /// Keeps the most likely ones that together reach the probability `p` (Holtzman et al. 2020).
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

    /// Keeps those whose surprise is closest to the expected one, until they reach the probability `p`
    /// (Meister et al. 2023).
    mutating func filterTypical(_ p: Double, scratch: inout [Double]) {
        guard p < 1, count > 1 else { return }
        probabilities(into: &scratch)
        let entropy = scratch.reduce(0) { $0 - ($1 > 0 ? $1 * log($1) : 0) }
        let distance = scratch.map { $0 > 0 ? abs(-log($0) - entropy) : .infinity }
        let order = ids.indices.sorted { distance[$0] != distance[$1] ? distance[$0] < distance[$1] : $0 < $1 }
        var sum = 0.0
        let last =
            order.firstIndex {
                sum += scratch[$0]; return sum >= p
            } ?? order.count - 1
        keep(Array(order[...last]))
    }
}
