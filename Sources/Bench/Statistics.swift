extension [Double] {
    /// Arithmetic mean; 0 if empty.
    var mean: Double { isEmpty ? 0 : reduce(0, +) / Double(count) }

    /// Standard deviation with Bessel's correction, as in llama-bench; 0 for fewer than two values.
    var sampleDeviation: Double {
        guard count > 1 else { return 0 }
        let mean = mean
        return (reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(count - 1)).squareRoot()
    }

    /// The middle value, or the mean of the middle two; 0 if empty.
    var median: Double {
        guard !isEmpty else { return 0 }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }

    /// The nearest-rank percentile; 0 if empty.
    func percentile(_ percent: Double) -> Double {
        guard !isEmpty else { return 0 }
        let rank = Int((percent / 100 * Double(count)).rounded(.up))
        return sorted()[Swift.min(Swift.max(rank, 1), count) - 1]
    }
}

enum Statistics {
    /// Maximum difference of two means due to chance, with 95 % confidence (Welch 1947); `nil` if either has fewer than
    /// two values.
    static func noise(of a: [Double], _ b: [Double]) -> Double? {
        guard a.count > 1, b.count > 1 else { return nil }
        let (x, y) = (square(a.sampleDeviation) / Double(a.count), square(b.sampleDeviation) / Double(b.count))
        guard x + y > 0 else { return 0 }
        let freedom = square(x + y) / (square(x) / Double(a.count - 1) + square(y) / Double(b.count - 1))
        return quantile(freedom: freedom) * (x + y).squareRoot()
    }

    /// The 97.5 % quantile of Student's t-distribution: below 10 degrees of freedom from a table, rounded down; from 10
    /// on 1.96 + 2.37 / f + 2.8 / f², which is accurate to 0.003.
    static func quantile(freedom: Double) -> Double {
        let table = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]
        let index = max(1, Int(min(freedom, 1e6)))
        return index <= table.count ? table[index - 1] : 1.96 + 2.37 / freedom + 2.8 / square(freedom)
    }

    private static func square(_ x: Double) -> Double { x * x }
}
