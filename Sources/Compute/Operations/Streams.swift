import Platform

/// Several residual streams per row: `[rows, streams · width]`.
extension Compute {
    /// `output = Σᵢ wᵢ · xᵢ`, over as many streams as `weights` has columns.
    ///
    /// - Parameters:
    ///   - weights: `[rows, streams]`
    ///   - output: `[rows, width]`
    package func sumStreams(_ streams: Matrix, times weights: Matrix, into output: Matrix) {
        let width = output.columns
        forEachRow(of: streams) { row in
            let (x, w, y) = (streams[row], weights[row], output[row])
            y.update(repeating: 0, count: width)
            for stream in 0..<weights.columns { kernels.rows.addMultiple(y, x + stream * width, w[stream], width) }
        }
    }

    /// The mean of all streams.
    package func averageStreams(_ streams: Matrix, into output: Matrix) {
        let width = output.columns
        let count = streams.columns / width
        forEachRow(of: streams) { row in
            let (x, y) = (streams[row], output[row])
            y.update(repeating: 0, count: width)
            for stream in 0..<count { kernels.rows.addMultiple(y, x + stream * width, 1 / Float(count), width) }
        }
    }

    /// `xᵢ += wᵢ · input`, with weights `[rows, streams]`.
    package func add(_ input: Matrix, times weights: Matrix, toStreams streams: Matrix) {
        let width = input.columns
        forEachRow(of: streams) { row in
            let (x, w, y) = (input[row], weights[row], streams[row])
            for stream in 0..<weights.columns { kernels.rows.addMultiple(y + stream * width, x, w[stream], width) }
        }
    }

    /// `yᵢ = Σⱼ combⱼᵢ · xⱼ`, with `comb` `[rows][streams][streams]`, each source's weights together.
    ///
    /// - Parameter output: Must not overlap `streams`.
    package func mixStreams(_ streams: Matrix, _ count: Int, by comb: Matrix, into output: Matrix) {
        let width = streams.columns / count
        forEachRow(of: streams) { row in
            let (x, w) = (streams[row], comb[row])
            for stream in 0..<count {
                let y = output[row] + stream * width
                y.update(repeating: 0, count: width)
                for source in 0..<count {
                    kernels.rows.addMultiple(y, x + source * width, w[source * count + stream], width)
                }
            }
        }
    }

    /// `yᵢ = gate(kᵢ·yᵢ / √width) · v`, where gate is the sigmoid of the signed root of its argument.
    ///
    /// - Parameters:
    ///   - gated: y, `[rows, streams · width]`, changed in place; `keys` likewise.
    ///   - values: v, `[rows, width]`
    package func gateStreams(_ gated: Matrix, by keys: Matrix, _ values: Matrix) {
        let width = values.columns
        forEachRow(of: gated) { row in
            let v = values[row]
            for stream in 0..<gated.columns / width {
                let (k, y) = (keys[row] + stream * width, gated[row] + stream * width)
                let score = kernels.rows.dot(k, y, width) / Float(width).squareRoot()
                let root = max(abs(score), 1e-6).squareRoot()
                let gate = 1 / (1 + expf(score < 0 ? root : score > 0 ? -root : 0))
                for index in 0..<width { y[index] = gate * v[index] }
            }
        }
    }
}

/// Weights of streams.
extension Compute {
    /// `factor · σ(scale · x + bias) + offset` in place, with a bias for each column.
    package func weigh(
        _ weights: Matrix, scale: Float, bias: [Float], factor: Float = 1, offset: Float
    ) {
        bias.withUnsafeBufferPointer { bias in
            forEachRow(of: weights) { row in
                let x = weights[row]
                for index in 0..<weights.columns {
                    x[index] = factor * (1 / (1 + expf(-(x[index] * scale + bias[index])))) + offset
                }
            }
        }
    }

    /// Makes each row, a square matrix, nearly doubly stochastic: softmax of each line of `scale · x + bias`, then lines and
    /// columns are divided by their sums alternately (Sinkhorn), `iterations` times.
    package func balance(_ weights: Matrix, scale: Float, bias: [Float], epsilon: Float, iterations: Int) {
        let side = Int(Double(weights.columns).squareRoot())
        bias.withUnsafeBufferPointer { bias in
            forEachRow(of: weights) { row in
                let x = weights[row]
                for index in 0..<side * side { x[index] = x[index] * scale + bias[index] }
                for line in 0..<side { softmaxOfFew(x + line * side, side, offset: epsilon) }
                for iteration in 0..<iterations {
                    if iteration > 0 { divideBySums(x, side, line: side, stride: 1, epsilon) }
                    divideBySums(x, side, line: 1, stride: side, epsilon)
                }
            }
        }
    }

    /// Softmax of rows of few values, in place, by the C library's function.
    package func softmaxOfFew(_ matrix: Matrix) {
        forEachRow(of: matrix) { row in softmaxOfFew(matrix[row], matrix.columns) }
    }

    private func softmaxOfFew(_ x: UnsafeMutablePointer<Float>, _ count: Int, offset: Float? = nil) {
        var (largest, sum) = (-Float.infinity, Float(0))
        for index in 0..<count { largest = max(largest, x[index]) }
        for index in 0..<count {
            x[index] = expf(x[index] - largest)
            sum += x[index]
        }
        for index in 0..<count { x[index] /= sum }
        if let offset { for index in 0..<count { x[index] += offset } }
    }

    /// Divides `side` lines by their sums; consecutive values of a line are `stride` apart, lines start `line` apart.
    private func divideBySums(
        _ x: UnsafeMutablePointer<Float>, _ side: Int, line: Int, stride: Int, _ epsilon: Float
    ) {
        for index in 0..<side {
            let first = x + index * line
            var sum = epsilon
            for place in 0..<side { sum += first[place * stride] }
            for place in 0..<side { first[place * stride] /= sum }
        }
    }

    /// Writes the sum of each row to the only column of `sums`.
    package func sum(_ matrix: Matrix, into sums: Matrix) {
        forEachRow(of: matrix) { row in
            let x = matrix[row]
            var sum: Float = 0
            for index in 0..<matrix.columns { sum += x[index] }
            sums[row][0] = sum
        }
    }
}

/// Streams one after the other, `[streams · rows, width]`, the active one first (AltUp).
extension Compute {
    /// `outputᵢ = xᵢ + Σⱼ shareᵢⱼ · xⱼ`, with shares `[rows][streams][streams]`.
    package func predictStreams(_ streams: Matrix, _ shares: Matrix, into output: Matrix) {
        let (rows, width) = (shares.rows, streams.columns)
        let count = streams.rows / rows
        forEachRow(of: shares) { row in
            let shares = shares[row]
            for stream in 0..<count {
                let y = output[stream * rows + row]
                y.update(from: streams[stream * rows + row], count: width)
                for source in 0..<count {
                    kernels.rows.addMultiple(y, streams[source * rows + row], shares[stream * count + source], width)
                }
            }
        }
    }

    /// `outputᵢ = xᵢ + (shareᵢ + 1) · (activated − x₀)`, with shares `[rows, streams]`.
    package func correctStreams(_ streams: Matrix, _ shares: Matrix, by activated: Matrix, into output: Matrix) {
        let (rows, width) = (shares.rows, streams.columns)
        forEachRow(of: shares) { row in
            let (new, predicted) = (activated[row], streams[row])
            for stream in 0..<streams.rows / rows {
                let (share, x, y) = (shares[row][stream] + 1, streams[stream * rows + row], output[stream * rows + row])
                for index in 0..<width { y[index] = x[index] + share * (new[index] - predicted[index]) }
            }
        }
    }
}
