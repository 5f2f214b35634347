extension [Double] {
    /// 0 of nothing.
    var mean: Double { isEmpty ? 0 : reduce(0, +) / Double(count) }

    /// With Bessel's correction, as llama-bench computes it; 0 of fewer than two.
    var sampleDeviation: Double {
        guard count > 1 else { return 0 }
        let mean = mean
        return (reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(count - 1)).squareRoot()
    }
}
