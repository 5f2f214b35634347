import Glibc

extension SamplingOptions {
    /// Temperature by entropy (kalomaze 2023): low where the model is certain, high where it is not.
    public struct DynamicTemperature: Sendable, Equatable {
        /// The temperature lies between `temperature - range` and `temperature + range`, at least 0.
        public var range: Double
        /// Bends the way from one to the other; 1 is a straight line in the entropy.
        public var exponent: Double

        public init(range: Double, exponent: Double = 1) {
            self.range = range
            self.exponent = exponent
        }

        /// - Parameter probabilities: Of all candidates, summing to 1. Their entropy, divided by the highest that so many
        ///   candidates can have, says where in the range the temperature lies.
        func temperature(around middle: Double, _ probabilities: [Double]) -> Double {
            guard range > 0, probabilities.count > 1 else { return middle }
            let entropy = probabilities.reduce(0.0) { $0 - ($1 > 0 ? $1 * log($1) : 0) }
            let (low, high) = (max(0, middle - range), middle + range)
            return low + (high - low) * pow(entropy / log(Double(probabilities.count)), exponent)
        }
    }
}
