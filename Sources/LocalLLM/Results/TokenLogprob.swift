import Platform

/// The log probability of a token, and its most likely alternatives.
///
/// Natural logarithms of the model's own probabilities: before logit bias, penalties, filters and temperature.
public struct TokenLogprob: Sendable, Equatable {
    public struct Alternative: Sendable, Equatable {
        public var token: Int32
        public var logprob: Double
    }

    /// Maximum number of alternatives.
    public static let maximumTop = 100

    public var token: Int32
    public var logprob: Double
    /// The most likely tokens, most likely first; ties by lower ID. May include the token itself.
    public var top: [Alternative]

    /// - Parameter logits: One finite value for each token of the vocabulary.
    init(of token: Int32, in logits: UnsafeBufferPointer<Float>, top count: Int) {
        let maximum = Double(logits.max() ?? 0)
        let logSum = maximum + log(logits.reduce(0) { $0 + exp(Double($1) - maximum) })
        self.token = token
        logprob = Double(logits[Int(token)]) - logSum
        var best: [Int32] = []
        for id in 0..<Int32(logits.count) where count > 0 {
            if best.count == count {
                if logits[Int(id)] <= logits[Int(best[count - 1])] { continue }
                best.removeLast()
            }
            let place = best.firstIndex { logits[Int($0)] < logits[Int(id)] } ?? best.endIndex
            best.insert(id, at: place)
        }
        top = best.map { Alternative(token: $0, logprob: Double(logits[Int($0)]) - logSum) }
    }
}
