/// RWKV's token shift: each token sees the one before it, xₜ₋₁ − xₜ. Remembers the last token, `[width]`.
struct TokenShift {
    let width: Int

    var stateFloats: Int { width }

    /// `output = xₜ₋₁ − xₜ`, and each run's last row becomes its state.
    ///
    /// - Parameter stateOffset: Where in a run's state the row is.
    func forward(
        _ input: Matrix, into output: Matrix, _ runs: [RecurrentRun], stateOffset: Int, _ compute: Compute
    ) {
        for run in runs {
            for row in run.rows {
                let previous = row == run.rows.lowerBound ? run.state + stateOffset : input[row - 1]
                let (x, shifted) = (input[row], output[row])
                for index in 0..<width { shifted[index] = previous[index] - x[index] }
            }
            (run.state + stateOffset).update(from: input[run.rows.upperBound - 1], count: width)
        }
    }

    /// `output = x + shift · weight`: between a token and the one before it.
    static func interpolate(
        _ x: UnsafePointer<Float>, _ shift: UnsafePointer<Float>, _ weight: UnsafePointer<Float>,
        into output: UnsafeMutablePointer<Float>, count: Int
    ) {
        for index in 0..<count { output[index] = x[index] + shift[index] * weight[index] }
    }
}
