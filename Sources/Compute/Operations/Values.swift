package import KernelFormats
import Platform

/// A function of single values.
package enum ValueFunction: Sendable {
    /// 1 / (1 + e⁻ˣ), ln(1 + eˣ), and eˣ, by the tier's kernels.
    case sigmoid, softplus, exponential
    /// The hyperbolic tangent and 1 / (1 + e⁻ˣ) by the C library, whose last bits differ from those of kernels.
    case tanh, librarySigmoid
}

/// Arithmetic on each value of a matrix by itself.
extension Compute {
    /// Applies the function in place.
    package func apply(_ function: ValueFunction, to matrix: Matrix) {
        forEachRow(of: matrix) { row in
            let (x, count) = (matrix[row], matrix.columns)
            switch function {
            case .sigmoid: kernels.recurrent.sigmoid(x, x, count)
            case .softplus: kernels.recurrent.softplus(x, x, count)
            case .exponential: kernels.recurrent.exponential(x, x, count)
            case .tanh: for index in 0..<count { x[index] = tanhf(x[index]) }
            case .librarySigmoid: for index in 0..<count { x[index] = 1 / (1 + expf(-x[index])) }
            }
        }
    }

    /// Softmax of each row, in place.
    package func softmax(_ matrix: Matrix) {
        forEachRow(of: matrix) { row in kernels.softmax(matrix[row], matrix.columns) }
    }

    /// Adds a vector to each row.
    package func add(_ vector: [Float], to matrix: Matrix) {
        vector.withUnsafeBufferPointer { vector in
            forEachRow(of: matrix) { row in kernels.rows.add(matrix[row], vector.baseAddress!, matrix.columns) }
        }
    }

    /// Multiplies each value by the other matrix's.
    package func multiply(_ matrix: Matrix, byValuesOf factors: Matrix) {
        forEachRow(of: matrix) { row in
            let (x, factor) = (matrix[row], factors[row])
            for index in 0..<matrix.columns { x[index] *= factor[index] }
        }
    }

    /// Moves each value towards the target's, by a share of sigmoid(gates), which is computed in place.
    package func move(_ matrix: Matrix, to target: Matrix, bySigmoidOf gates: Matrix) {
        forEachRow(of: matrix) { row in
            let (x, goal, shares) = (matrix[row], target[row], gates[row])
            kernels.recurrent.sigmoid(shares, shares, matrix.columns)
            for index in 0..<matrix.columns { x[index] += (goal[index] - x[index]) * shares[index] }
        }
    }

    /// Scales each row to the length of the other's.
    package func matchLength(of matrix: Matrix, to other: Matrix) {
        forEachRow(of: matrix) { row in
            let (x, target, width) = (matrix[row], other[row], matrix.columns)
            let own = kernels.rows.dot(x, x, width)
            let factor = own > 0 ? (kernels.rows.dot(target, target, width) / own).squareRoot() : 0
            for index in 0..<width { x[index] *= factor }
        }
    }

    /// `output = activation(gate) · up`.
    ///
    /// - Parameter output: May be `gate` or `up`.
    package func activate(_ gate: Matrix, _ up: Matrix, _ activation: Activation, into output: Matrix) {
        timed(ProfiledPart(name: "activation")) {
            forEachRow(of: gate) { row in kernels.gate(gate[row], up[row], activation, output[row], gate.columns) }
        }
    }

    /// Applies the activation in place.
    package func activate(_ matrix: Matrix, _ activation: Activation) {
        timed(ProfiledPart(name: "activation")) {
            forEachRow(of: matrix) { row in
                let (x, count) = (matrix[row], matrix.columns)
                if case .squaredReLU = activation {
                    // The tiers have no kernel for it; the compiler makes vectors of this loop.
                    for index in 0..<count { x[index] = x[index] > 0 ? x[index] * x[index] : 0 }
                } else {
                    kernels.activate(x, activation, x, count)
                }
            }
        }
    }

    /// `output += factor · input`.
    package func add(_ input: Matrix, times factor: Float = 1, to output: Matrix) {
        timed(ProfiledPart(name: "addition")) {
            forEachRow(of: input) { row in
                if factor == 1 {
                    kernels.rows.add(output[row], input[row], input.columns)
                } else {
                    kernels.rows.addMultiple(output[row], input[row], factor, input.columns)
                }
            }
        }
    }

    /// Limits each value to ±`limit`.
    package func clamp(_ matrix: Matrix, to limit: Float) {
        forEachRow(of: matrix) { row in
            for column in 0..<matrix.columns { matrix[row][column] = min(limit, max(-limit, matrix[row][column])) }
        }
    }

    /// Multiplies by softplus(gates), ln(1 + eˣ). A gate applies to `matrix.columns / gates.columns` values.
    package func multiply(_ matrix: Matrix, bySoftplusOf gates: Matrix) {
        let width = matrix.columns / gates.columns
        forEachRow(of: matrix) { row in
            for index in 0..<gates.columns {
                let x = gates[row][index]
                let factor = x > 20 ? x : log1pf(expf(x))
                for column in index * width..<(index + 1) * width { matrix[row][column] *= factor }
            }
        }
    }

    /// Multiplies by sigmoid(gates), computed in place. A gate applies to `matrix.columns / gates.columns` values.
    package func multiply(_ matrix: Matrix, bySigmoidOf gates: Matrix) {
        let width = matrix.columns / gates.columns
        forEachRow(of: matrix) { row in
            let (x, factors) = (matrix[row], gates[row])
            kernels.recurrent.sigmoid(factors, factors, gates.columns)
            if width == 1 {
                for index in 0..<gates.columns { x[index] *= factors[index] }
                return
            }
            for index in 0..<gates.columns {
                let factor = factors[index]
                for column in index * width..<(index + 1) * width { x[column] *= factor }
            }
        }
    }

    package func scale(_ matrix: Matrix, by factor: Float) {
        forEachRow(of: matrix) { row in for column in 0..<matrix.columns { matrix[row][column] *= factor } }
    }

    /// Subtracts the threshold, the row's mean plus `deviations` standard deviations; negative results become 0.
    package func cut(_ matrix: Matrix, at deviations: Float) {
        forEachRow(of: matrix) { row in
            let (values, count) = (matrix[row], matrix.columns)
            var mean: Float = 0
            for index in 0..<count { mean += values[index] }
            mean /= Float(count)
            var squares: Float = 0
            for index in 0..<count { squares += (values[index] - mean) * (values[index] - mean) }
            let cutoff = mean + deviations * (squares / Float(count)).squareRoot()
            for index in 0..<count { values[index] = max(0, values[index] - cutoff) }
        }
    }

    /// Multiplies each row by its factor.
    package func scale(_ matrix: Matrix, by factor: (_ row: Int) -> Float) {
        forEachRow(of: matrix) { row in
            let factor = factor(row)
            for column in 0..<matrix.columns { matrix[row][column] *= factor }
        }
    }

    /// Multiplies each column by its factor.
    package func scale(_ matrix: Matrix, by factors: [Float]) {
        factors.withUnsafeBufferPointer { factors in
            forEachRow(of: matrix) { row in
                for column in 0..<matrix.columns { matrix[row][column] *= factors[column] }
            }
        }
    }

    /// Applies softcap: x becomes `limit · tanh(x / limit)`.
    package func softcap(_ matrix: Matrix, at limit: Float) {
        forEachRow(of: matrix) { row in
            kernels.rows.softcap(matrix[row], limit, matrix[row], matrix.columns)
        }
    }
}
