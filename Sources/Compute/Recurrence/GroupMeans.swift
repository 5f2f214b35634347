import Platform

/// Means of each group of tokens of a sequence, weighted per value:
///
///     c = Σₜ softmaxₜ(gateₜ + biasₜ) · valueₜ
///
/// Groups that overlap: each token has a second gate and value, which count in the group after its own.
///
/// State: for the group that is being read, and with overlap for the next one, the running maximum of the gates, the sum
/// of their weights and of the weighted values, `[3][width]`. A sum of 0 means that there was no token yet.
package struct GroupMeans {
    /// Values per mean.
    private let width: Int
    /// Tokens per group.
    private let tokens: Int
    private let overlaps: Bool
    /// `[tokens][columns of the gates]`
    private let bias: [Float]

    package init(width: Int, tokens: Int, overlaps: Bool, bias: [Float]) {
        self.width = width
        self.tokens = tokens
        self.overlaps = overlaps
        self.bias = bias
    }

    package var stateFloats: Int { (overlaps ? 6 : 3) * width }

    /// Adds the rows of a run to the means.
    ///
    /// - Parameters:
    ///   - values: `[rows, width]`, with overlap `[rows, 2 · width]`: those that count in the next group come first; `gates`
    ///     likewise.
    ///   - means: Receives the means of the groups that end in the run, `[groups, width]`.
    package func forward(
        _ values: Matrix, _ gates: Matrix, _ run: RecurrentRun, into means: Matrix, _ compute: Compute
    ) {
        // Values are independent: each worker reads the rows in order.
        let part = 64
        compute.forEachItem((width + part - 1) / part, serially: run.rows.count <= 2) { item, _ in
            forward(values, gates, run, item * part..<min(width, (item + 1) * part), into: means)
        }
    }

    private func forward(
        _ values: Matrix, _ gates: Matrix, _ run: RecurrentRun, _ range: Range<Int>, into means: Matrix
    ) {
        let (own, next) = (Mean(run.state, width), Mean(run.state + 3 * width, width))
        let ownColumn = overlaps ? width : 0
        for row in run.rows {
            let position = run.start + row - run.rows.lowerBound
            let place = position % tokens
            let bias = place * gates.columns
            for index in range {
                if place == 0 {
                    if overlaps { own.copy(next, index) } else { own.clear(index) }
                    if overlaps { next.clear(index) }
                }
                let column = ownColumn + index
                own.add(values[row][column], gates[row][column] + self.bias[bias + column], index)
                if overlaps { next.add(values[row][index], gates[row][index] + self.bias[bias + index], index) }
                guard place == tokens - 1 else { continue }
                means[(position + 1) / tokens - 1 - run.start / tokens][index] = own.value(index)
            }
        }
    }

    /// Means with weights e^gate, computed token by token (online softmax).
    private struct Mean {
        let maxima: UnsafeMutablePointer<Float>
        let sums: UnsafeMutablePointer<Float>
        let weighted: UnsafeMutablePointer<Float>

        init(_ state: UnsafeMutablePointer<Float>, _ width: Int) {
            (maxima, sums, weighted) = (state, state + width, state + 2 * width)
        }

        func clear(_ index: Int) { sums[index] = 0 }

        func copy(_ other: Mean, _ index: Int) {
            maxima[index] = other.maxima[index]
            sums[index] = other.sums[index]
            weighted[index] = other.weighted[index]
        }

        func add(_ value: Float, _ gate: Float, _ index: Int) {
            if sums[index] == 0 {
                (maxima[index], sums[index], weighted[index]) = (gate, 1, value)
            } else if gate <= maxima[index] {
                let weight = expf(gate - maxima[index])
                sums[index] += weight
                weighted[index] += weight * value
            } else {
                let factor = expf(maxima[index] - gate)
                maxima[index] = gate
                sums[index] = sums[index] * factor + 1
                weighted[index] = weighted[index] * factor + value
            }
        }

        func value(_ index: Int) -> Float { weighted[index] / sums[index] }
    }
}

extension Compute {
    /// Stores compressed vectors of a sequence's layer, `[vectors, width]`; the first has the index `first`.
    ///
    /// - Parameter tokens: Tokens per vector.
    package func storeCompressed(_ vectors: Matrix, first: Int, tokens: Int, of state: SequenceState, layer: Int) {
        let pages = state.shape.compressedPages(of: layer)
        for index in 0..<vectors.rows {
            kernels.rows.storeHalf(
                vectors[index], state.compressed(first + index, of: pages, tokens: tokens), 1, vectors.columns)
        }
    }
}
