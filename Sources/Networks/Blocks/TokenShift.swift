import Compute

/// RWKV's token shift: the difference to the previous token, xₜ₋₁ − xₜ. Its state is the last token, `[width]`.
struct TokenShift {
    let width: Int

    var stateFloats: Int { width }

    /// Computes `output = xₜ₋₁ − xₜ`, and stores each run's last row in its state.
    ///
    /// - Parameter stateOffset: Offset of the row in a run's state.
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

    /// Interpolates between a token and the previous one: `output = x + shift · weight`.
    static func interpolate(
        _ x: UnsafePointer<Float>, _ shift: UnsafePointer<Float>, _ weight: UnsafePointer<Float>,
        into output: UnsafeMutablePointer<Float>, count: Int
    ) {
        for index in 0..<count { output[index] = x[index] + shift[index] * weight[index] }
    }
}
