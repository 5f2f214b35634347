/// RWKV's token shift: the difference to the previous token, xₜ₋₁ − xₜ. Its state is the last token, `[width]`.
package struct TokenShift {
    package let width: Int

    package init(width: Int) { self.width = width }

    /// Computes `output = xₜ₋₁ − xₜ`, and stores each run's last row in its state.
    ///
    /// - Parameter stateOffset: Offset of the row in a run's state.
    package func forward(
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
}

extension Compute {
    /// Interpolations between tokens and the previous ones, side by side: `outputᵢ = x + shift · weightᵢ`.
    ///
    /// - Parameters:
    ///   - shifts: Output of `TokenShift`, `[rows, width]`.
    ///   - weights: `[parts][width]`
    ///   - output: `[rows, parts · width]`
    package func interpolate(_ input: Matrix, _ shifts: Matrix, by weights: [Float], into output: Matrix) {
        interpolate(input, shifts, weights, output) { weight, _ in weight }
    }

    /// The same with weights that depend on the row: `outputᵢ = x + shift · (weightᵢ + outputᵢ)`, in place.
    package func interpolate(_ input: Matrix, _ shifts: Matrix, adding weights: [Float], toWeightsIn output: Matrix) {
        interpolate(input, shifts, weights, output) { weight, own in weight + own }
    }

    /// - Parameter weigh: The weight of a value, from that in `weights` and what is in `output`.
    @inline(__always)
    private func interpolate(
        _ input: Matrix, _ shifts: Matrix, _ weights: [Float], _ output: Matrix,
        weigh: (_ weight: Float, _ own: Float) -> Float
    ) {
        let width = input.columns
        weights.withUnsafeBufferPointer { weights in
            forEachRow(of: output) { row in
                let (x, shift) = (input[row], shifts[row])
                for start in stride(from: 0, to: output.columns, by: width) {
                    let (y, weight) = (output[row] + start, weights.baseAddress! + start)
                    for index in 0..<width { y[index] = x[index] + shift[index] * weigh(weight[index], y[index]) }
                }
            }
        }
    }
}
