import Constraint
import Platform
import KernelFormats
import KernelsPortable

/// The candidate tokens with their logits, which the filters narrow down.
///
/// Reused from token to token, so that sampling does not allocate.
struct Candidates {
    private(set) var ids: [Int32] = []
    private(set) var logits: [Float] = []
    private(set) var isSorted = false
    private var order: [Int] = []

    var count: Int { ids.count }

    mutating func reset(to logits: UnsafeBufferPointer<Float>) {
        self.logits.removeAll(keepingCapacity: true)
        self.logits.append(contentsOf: logits)
        ids.removeAll(keepingCapacity: true)
        ids.append(contentsOf: 0..<Int32(logits.count))
        isSorted = false
    }

    mutating func adjust(_ id: Int32, _ change: (Float) -> Float) {
        guard logits.indices.contains(Int(id)) else { return }
        let largest = Float.greatestFiniteMagnitude
        // The filters need finite logits; a penalty on a huge one may overflow.
        logits[Int(id)] = max(-largest, min(largest, change(logits[Int(id)])))
    }

    var maximum: Float { logits.max() ?? 0 }

    /// The most likely token; ties by lowest ID.
    var mostLikely: Int32 {
        var best = 0
        for index in logits.indices where logits[index] > logits[best] { best = index }
        return ids[best]
    }

    /// Most likely first; ties by ID, so that the result does not depend on the sort.
    mutating func sort() {
        guard !isSorted else { return }
        order.removeAll(keepingCapacity: true)
        order.append(contentsOf: ids.indices)
        order.sort { logits[$0] != logits[$1] ? logits[$0] > logits[$1] : ids[$0] < ids[$1] }
        reorder()
        isSorted = true
    }

    /// Keeps the first `count` of the sorted candidates.
    mutating func keepFirst(_ count: Int) {
        ids.removeLast(max(0, ids.count - count))
        logits.removeLast(max(0, logits.count - count))
    }

    /// Drops the first `count` of the sorted candidates.
    mutating func dropFirst(_ count: Int) {
        ids.removeFirst(min(count, ids.count))
        logits.removeFirst(min(count, logits.count))
    }

    /// Drops these tokens, unless none would be left.
    mutating func drop(_ tokens: Set<Int32>) {
        guard !tokens.isEmpty else { return }
        order.removeAll(keepingCapacity: true)
        for index in ids.indices where !tokens.contains(ids[index]) { order.append(index) }
        if !order.isEmpty { reorder() }
    }

    /// Drops the tokens that are not in the mask, unless none would be left.
    mutating func keep(_ mask: TokenMask) {
        order.removeAll(keepingCapacity: true)
        for index in ids.indices where mask.contains(ids[index]) { order.append(index) }
        if !order.isEmpty { reorder() }
    }

    /// Multiplies all logits by a positive factor.
    mutating func scale(by factor: Float) {
        for index in logits.indices { logits[index] *= factor }
    }

    /// Index of a candidate drawn with these probabilities.
    func draw(_ probabilities: [Double], using random: inout SplitMix64) -> Int {
        var point = Double.random(in: 0..<1, using: &random)
        for (index, probability) in probabilities.enumerated() {
            point -= probability
            if point < 0 { return index }
        }
        // Reached if rounding makes the probabilities sum to less than 1.
        return logits.indices.max { logits[$0] < logits[$1] } ?? 0
    }

    /// Keeps the candidates with at least this logit, in their current order.
    mutating func keep(atLeast threshold: Float) {
        order.removeAll(keepingCapacity: true)
        for index in ids.indices where logits[index] >= threshold { order.append(index) }
        reorder()
    }

    /// Keeps the candidates at `indices`, in this order.
    mutating func keep(_ indices: [Int]) {
        order = indices
        reorder()
        isSorted = false
    }

    /// Probability of each candidate at the given temperature. `into` is reused.
    func probabilities(temperature: Double = 1, into result: inout [Double]) {
        result.removeAll(keepingCapacity: true)
        let maximum = Double(self.maximum)
        var sum = 0.0
        for logit in logits {
            let weight = exp((Double(logit) - maximum) / temperature)
            sum += weight
            result.append(weight)
        }
        for index in result.indices { result[index] /= sum }
    }

    private mutating func reorder() {
        ids = order.map { ids[$0] }
        logits = order.map { logits[$0] }
    }
}

extension Matrix {
    /// Whether all values of a row are finite.
    func isFinite(_ row: Int) -> Bool { firstNonFiniteBlock(.F32, self[row], count: columns) == nil }
}
