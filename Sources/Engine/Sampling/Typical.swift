import Platform

extension Candidates {
    /// Keeps the candidates whose surprise is closest to the entropy, up to probability `p` (Meister et al. 2023).
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
