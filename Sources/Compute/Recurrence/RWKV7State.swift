/// What RWKV 7's heads read from their state, and add to it.
package struct RWKV7State {
    package let headWidth: Int
    /// Factors on k for κ, on k by its rate, and of the output's bonus, `[width]` each.
    private let keyShare: [Float]
    private let keyRate: [Float]
    private let bonus: [Float]

    package init(headWidth: Int, keyShare: [Float], keyRate: [Float], bonus: [Float]) {
        self.headWidth = headWidth
        self.keyShare = keyShare
        self.keyRate = keyRate
        self.bonus = bonus
    }

    /// Computes, from the projections of w, k and a: w and k in place, −κ, and κ·a in place of a. `[rows, width]` each.
    package func prepare(
        _ decays: Matrix, _ keys: Matrix, readings: Matrix, writings: Matrix, _ compute: Compute
    ) {
        let (kernels, dot, width) = (compute.kernels.recurrent, compute.kernels.rows.dot, decays.columns)
        keyShare.withUnsafeBufferPointer { keyShare in
            keyRate.withUnsafeBufferPointer { keyRate in
                compute.forEachRow(of: decays) { row in
                    let (decay, key, reading, writing) = (decays[row], keys[row], readings[row], writings[row])
                    kernels.sigmoid(decay, decay, width)
                    for index in 0..<width { decay[index] *= -0.606_530_66 }
                    kernels.exponential(decay, decay, width)
                    kernels.sigmoid(writing, writing, width)
                    for index in 0..<width { reading[index] = key[index] * keyShare[index] }
                    for start in stride(from: 0, to: width, by: headWidth) {
                        let length = dot(reading + start, reading + start, headWidth).squareRoot()
                        let scale = -1 / max(length, 1e-12)
                        for index in start..<start + headWidth { reading[index] *= scale }
                    }
                    for index in 0..<width {
                        let rate = writing[index]
                        writing[index] = -reading[index] * rate
                        key[index] += key[index] * keyRate[index] * (rate - 1)
                    }
                }
            }
        }
    }

    /// Adds each head's `(Σ r·k·bonus)·v`. All are `[rows, width]`.
    package func addBonus(_ queries: Matrix, _ keys: Matrix, _ values: Matrix, to output: Matrix, _ compute: Compute) {
        bonus.withUnsafeBufferPointer { bonus in
            compute.forEachRow(of: output) { row in
                let (query, key, value, y) = (queries[row], keys[row], values[row], output[row])
                for start in stride(from: 0, to: output.columns, by: headWidth) {
                    var weight: Float = 0
                    for index in start..<start + headWidth { weight += query[index] * key[index] * bonus[index] }
                    for index in start..<start + headWidth { y[index] += weight * value[index] }
                }
            }
        }
    }
}
