import Platform

extension SamplingOptions {
    /// Temperature by entropy (kalomaze 2023): low if the model is certain, high if not.
    public struct DynamicTemperature: Sendable, Equatable, Codable {
        /// The temperature is between `temperature - range` and `temperature + range`, at least 0.
        public var range: Double
        /// Exponent applied to the normalized entropy; 1 is linear.
        public var exponent: Double

        public init(range: Double, exponent: Double = 1) {
            self.range = range
            self.exponent = exponent
        }

        /// - Parameter probabilities: Probabilities of all candidates, summing to 1. Their entropy, divided by the
        ///   maximum for their number, selects the temperature within the range.
        func temperature(around middle: Double, _ probabilities: [Double]) -> Double {
            guard range > 0, probabilities.count > 1 else { return middle }
            let entropy = probabilities.reduce(0.0) { $0 - ($1 > 0 ? $1 * log($1) : 0) }
            let (low, high) = (max(0, middle - range), middle + range)
            return low + (high - low) * pow(entropy / log(Double(probabilities.count)), exponent)
        }
    }
}
