import Glibc

/// How likely the model found a token, and which it found likely in its place.
///
/// Natural logarithms of probabilities as the model gave them: before logit bias, penalties, filters and temperature.
public struct TokenLogprob: Sendable, Equatable {
    public struct Alternative: Sendable, Equatable {
        public var token: Int32
        public var logprob: Double
    }

    /// Most alternatives that can be asked for.
    public static let maximumTop = 100

    public var token: Int32
    public var logprob: Double
    /// The most likely tokens, likeliest first; of equals the one with the lower id. The token itself may be among them.
    public var top: [Alternative]

    /// - Parameter logits: One for each token of the vocabulary, finite.
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
