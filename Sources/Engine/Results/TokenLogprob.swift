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
    package init(of token: Int32, in logits: UnsafeBufferPointer<Float>, top count: Int) {
        let logSum = logSumExp(logits)
        self.token = token
        logprob = Double(logits[Int(token)]) - logSum
        top = Self.largest(count, of: logits).map {
            Alternative(token: Int32($0), logprob: Double(logits[$0]) - logSum)
        }
    }

    /// - Parameters:
    ///   - ids: The tokens from which this one was drawn, with their probabilities.
    init(of token: Int32, drawnFrom ids: [Int32], _ probabilities: [Double], top count: Int) {
        self.token = token
        logprob = ids.firstIndex(of: token).map { log(probabilities[$0]) } ?? -.infinity
        top = Self.largest(count, of: probabilities).filter { probabilities[$0] > 0 }.map {
            Alternative(token: ids[$0], logprob: log(probabilities[$0]))
        }
    }

    /// The indices of the largest values, largest first; of equals, the first ones.
    private static func largest<Values: RandomAccessCollection>(_ count: Int, of values: Values) -> [Int]
    where Values.Element: Comparable, Values.Index == Int {
        var best: [Int] = []
        for index in values.indices where count > 0 {
            if best.count == count {
                if values[index] <= values[best[count - 1]] { continue }
                best.removeLast()
            }
            best.insert(index, at: best.firstIndex { values[$0] < values[index] } ?? best.endIndex)
        }
        return best
    }
}

/// The logarithm of the sum of the exponentials, in double precision.
func logSumExp(_ logits: UnsafeBufferPointer<Float>) -> Double {
    let maximum = Double(logits.max() ?? 0)
    return maximum + log(logits.reduce(0) { $0 + exp(Double($1) - maximum) })
}
