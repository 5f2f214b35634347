/// Decays of recurrent states, from the outputs of their projections.
extension Compute {
    /// Mamba's step sizes `Δ = softplus(x + bias)`, and the decays `exp(Δ · rate)` of as many values.
    ///
    /// - Parameters:
    ///   - steps: Receives Δ; may be `input` or `decays`.
    ///   - bias: `nil`: 0.
    ///   - rates: One per column.
    package func discretize(
        _ input: Matrix, bias: [Float]?, rates: [Float], into steps: Matrix, decays: Matrix
    ) {
        let width = rates.count
        rates.withUnsafeBufferPointer { rates in
            (bias ?? []).withUnsafeBufferPointer { added in
                forEachRow(of: input) { row in
                    let (x, step, decay) = (input[row], steps[row], decays[row])
                    if bias == nil {
                        if step != x { step.update(from: x, count: width) }
                    } else {
                        for index in 0..<width { step[index] = x[index] + added[index] }
                    }
                    kernels.recurrent.softplus(step, step, width)
                    for index in 0..<width { decay[index] = step[index] * rates[index] }
                    kernels.recurrent.exponential(decay, decay, width)
                }
            }
        }
    }

    /// Decays of Kimi delta attention, in place: `exp(rate · softplus(x + bias))`; with a lower bound of their logarithms,
    /// `exp(bound · sigmoid(rate · (x + bias)))`.
    ///
    /// - Parameters:
    ///   - decays: `[rows, heads · width]`
    ///   - bias: One per column.
    ///   - rates: One per head.
    package func discretize(_ decays: Matrix, bias: [Float], headRates rates: [Float], bound: Float?) {
        let (count, width) = (decays.columns, decays.columns / rates.count)
        rates.withUnsafeBufferPointer { rates in
            bias.withUnsafeBufferPointer { bias in
                forEachRow(of: decays) { row in
                    let decay = decays[row]
                    for index in 0..<count { decay[index] += bias[index] }
                    if bound == nil { kernels.recurrent.softplus(decay, decay, count) }
                    for head in 0..<rates.count {
                        let rate = rates[head]
                        for index in head * width..<(head + 1) * width { decay[index] *= rate }
                    }
                    if let bound {
                        kernels.recurrent.sigmoid(decay, decay, count)
                        for index in 0..<count { decay[index] *= bound }
                    }
                    kernels.recurrent.exponential(decay, decay, count)
                }
            }
        }
    }

    /// RWKV 6's decays, in place: `exp(−exp(x + bias))`.
    package func discretize(_ decays: Matrix, negatedExponentialOf bias: [Float]) {
        let count = decays.columns
        bias.withUnsafeBufferPointer { bias in
            forEachRow(of: decays) { row in
                let decay = decays[row]
                for index in 0..<count { decay[index] += bias[index] }
                kernels.recurrent.exponential(decay, decay, count)
                for index in 0..<count { decay[index] = -decay[index] }
                kernels.recurrent.exponential(decay, decay, count)
            }
        }
    }

    /// `k · (1 − w)`, in place.
    package func reduce(_ keys: Matrix, by decays: Matrix) {
        forEachRow(of: keys) { row in
            let (key, decay) = (keys[row], decays[row])
            for index in 0..<keys.columns { key[index] -= key[index] * decay[index] }
        }
    }
}
