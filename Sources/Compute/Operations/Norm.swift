/// A normalization of rows: `weight · normalized(x) + bias`.
package struct Norm: Sendable {
    package enum Kind: Sendable {
        /// Divides by the root of the mean square (Zhang and Sennrich 2019).
        case rms
        /// Subtracts the mean, then divides by the standard deviation (Ba et al. 2016).
        case layer
    }

    package var kind: Kind
    /// One value per column of a row, or of a part of a row.
    package var weight: [Float]
    package var bias: [Float]?
    package var epsilon: Float
    /// Number of values normalized together: all of `weight`, or a part of it (a head), each part with its own weights.
    package var groupWidth: Int

    package init(_ kind: Kind, weight: [Float], bias: [Float]? = nil, epsilon: Float, groupWidth: Int? = nil) {
        self.kind = kind
        self.weight = weight
        self.bias = bias
        self.epsilon = epsilon
        self.groupWidth = groupWidth ?? weight.count
    }
}

extension Compute {
    /// Normalizes each row, or, if the weight is narrower than a row, each part of the row of that width.
    ///
    /// - Parameter output: May be `input`.
    package func normalize(_ input: Matrix, _ norm: Norm, into output: Matrix) {
        let (period, width) = (norm.weight.count, norm.groupWidth)
        timed(ProfiledPart(name: "norm")) {
            norm.weight.withUnsafeBufferPointer { weight in
                forEachRow(of: input) { row in
                    for start in stride(from: 0, to: input.columns, by: width) {
                        let (x, y, w) = (input[row] + start, output[row] + start, weight.baseAddress! + start % period)
                        switch norm.kind {
                        case .rms: kernels.rmsNorm(x, w, norm.epsilon, y, width)
                        case .layer: kernels.layerNorm(x, w, norm.epsilon, y, width)
                        }
                        if let bias = norm.bias {
                            bias.withUnsafeBufferPointer {
                                kernels.rows.add(y, $0.baseAddress! + start % period, width)
                            }
                        }
                    }
                }
            }
        }
    }
}
