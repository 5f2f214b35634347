import KernelFormats

/// Heads with a matrix state S `[keyWidth, valueWidth]` that decays by one factor per row of S, wₜ in 0...1:
///
///     Sₜ = diag(wₜ)·Sₜ₋₁ + kₜ·xₜᵀ    oₜ = Sₜᵀ·qₜ
///
/// where `Kind` defines x. Computed in chunks like `ScalarDecayRecurrence`, but the decay cannot be factored out of the
/// product of a query and a key: the keys of a chunk are decayed token by token before they are multiplied by queries.
package struct ChannelDecayRecurrence {
    package enum Kind: Sendable {
        /// x = v: gated linear attention (Yang et al. 2023).
        case accumulate
        /// x = v, and oₜ = Sₜ₋₁ᵀ·qₜ + (Σ q·u·k)·vₜ with a bonus u for the token itself: RWKV 6 (Peng et al. 2024).
        case bonus
        /// xₜ = βₜ·(vₜ − (diag(wₜ)·Sₜ₋₁)ᵀ·kₜ): Kimi delta attention (Kimi team 2025).
        case delta
        /// x = v, plus a rank-1 term: bₜ·(Sₜ₋₁ᵀ·aₜ)ᵀ: RWKV 7 (Peng et al. 2025).
        case lowRank
    }

    let heads: Int
    let keyWidth: Int
    let valueWidth: Int
    let kind: Kind
    /// Factor on queries.
    let scale: Float

    package init(heads: Int, keyWidth: Int, valueWidth: Int, kind: Kind, scale: Float = 1) {
        self.heads = heads
        self.keyWidth = keyWidth
        self.valueWidth = valueWidth
        self.kind = kind
        self.scale = scale
    }

    package static let chunk = 16

    package var stateFloats: Int { heads * keyWidth * valueWidth }

    package struct Inputs {
        /// `[rows, heads · keyWidth]`
        let queries: Matrix
        let keys: Matrix
        /// `[rows, heads · valueWidth]`
        let values: Matrix
        /// w, `[rows, heads · keyWidth]`
        let decays: Matrix
        /// β of the delta rule, `[rows, heads]`.
        let gains: Matrix?
        /// u, `[heads · keyWidth]`.
        let bonus: [Float]?
        /// a and b of the rank-1 term, `[rows, heads · keyWidth]`.
        let readings: Matrix?
        let writings: Matrix?

        package init(
            queries: Matrix, keys: Matrix, values: Matrix, decays: Matrix, gains: Matrix? = nil,
            bonus: [Float]? = nil, readings: Matrix? = nil, writings: Matrix? = nil
        ) {
            self.queries = queries
            self.keys = keys
            self.values = values
            self.decays = decays
            self.gains = gains
            self.bonus = bonus
            self.readings = readings
            self.writings = writings
        }
    }

    /// - Parameters:
    ///   - stateOffset: Offset of the matrices `[heads][keyWidth][valueWidth]` in a run's state.
    ///   - output: `[rows, heads · valueWidth]`
    package func forward(
        _ inputs: Inputs, into output: Matrix, _ runs: [RecurrentRun], stateOffset: Int, _ compute: Compute
    ) {
        compute.reserveScratch(floats: Head.scratchFloats(self))
        let work = inputs.queries.rows * stateFloats
        compute.timed(ProfiledPart(name: "recurrence")) {
            (inputs.bonus ?? []).withUnsafeBufferPointer { bonus in
                compute.forEachItem(runs.count * heads, serially: work <= 1 << 14) { item, worker in
                    let (run, head) = (runs[item / heads], item % heads)
                    Head(
                        shape: self, inputs: inputs, bonus: bonus.baseAddress, output: output, run: run, head: head,
                        state: run.state + stateOffset + head * keyWidth * valueWidth,
                        kernels: compute.kernels.recurrent, rowKernels: compute.kernels.rows,
                        scratch: compute.scratchOfWorker(worker)
                    ).forward()
                }
            }
        }
    }

    /// One head of one sequence.
    private struct Head {
        let shape: ChannelDecayRecurrence
        let inputs: Inputs
        let bonus: UnsafePointer<Float>?
        let output: Matrix
        let run: RecurrentRun
        let head: Int
        let state: UnsafeMutablePointer<Float>
        let kernels: RecurrentKernels
        let rowKernels: RowKernels
        let scratch: UnsafeMutablePointer<Float>

        static func scratchFloats(_ shape: ChannelDecayRecurrence) -> Int {
            (4 * chunk + 3) * shape.keyWidth + 4 * chunk * chunk + 4 * chunk * shape.valueWidth
        }

        // Scratch, in order: key side of what tokens add to the state, decayed up to the current token,
        // `[ranks·count][keyWidth]`; queries on the state before and after each token, decayed from the start of the
        // chunk, `[2][count][keyWidth]`; that decay, a query before and one after, `[keyWidth]` each; products of these
        // queries with the key side, `[2][count][ranks·chunk]`, and with the state, `[2][count][valueWidth]`; value
        // side of what tokens add, `[ranks·count][valueWidth]`.
        private var added: UnsafeMutablePointer<Float> { scratch }
        private var asked: UnsafeMutablePointer<Float> { added + 2 * chunk * shape.keyWidth }
        private var total: UnsafeMutablePointer<Float> { asked + 2 * chunk * shape.keyWidth }
        private var before: UnsafeMutablePointer<Float> { total + shape.keyWidth }
        private var after: UnsafeMutablePointer<Float> { before + shape.keyWidth }
        private var products: UnsafeMutablePointer<Float> { after + shape.keyWidth }
        private var fromState: UnsafeMutablePointer<Float> { products + 4 * chunk * chunk }
        private var written: UnsafeMutablePointer<Float> { fromState + 2 * chunk * shape.valueWidth }

        private var ranks: Int { if case .lowRank = shape.kind { 2 } else { 1 } }
        /// Products of row i with the key side, before token i or after it.
        private func productsBefore(_ i: Int) -> UnsafeMutablePointer<Float> { products + i * 2 * chunk }
        private func productsAfter(_ i: Int) -> UnsafeMutablePointer<Float> { products + (chunk + i) * 2 * chunk }

        func forward() { run.forEachChunk(length: chunk) { first, count in advance(first, count) } }

        private func advance(_ first: Int, _ count: Int) {
            let (keyWidth, valueWidth) = (shape.keyWidth, shape.valueWidth)
            for d in 0..<keyWidth { total[d] = 1 }
            for i in 0..<count { pair(i, first + i, count) }
            kernels.smallProduct(
                SmallProduct(
                    a: asked, aRow: keyWidth, b: state, bStride: valueWidth, c: fromState, cStride: valueWidth,
                    rows: 2 * count, depth: keyWidth, columns: valueWidth))
            for i in 0..<count { answer(i, first + i, count) }
            kernels.smallProduct(
                SmallProduct(
                    a: added, aRow: 1, aColumn: keyWidth, b: written, bStride: valueWidth, decay: total, decayStride: 1,
                    c: state, cStride: valueWidth, rows: keyWidth, depth: ranks * count, columns: valueWidth))
        }

        /// Multiplies token `i`'s queries with the key sides of earlier tokens and of itself, and appends its key side.
        private func pair(_ i: Int, _ row: Int, _ count: Int) {
            let width = shape.keyWidth
            let key = inputs.keys[row] + head * width
            let query = inputs.queries[row] + head * width
            let decay = inputs.decays[row] + head * width
            for d in 0..<width { after[d] = query[d] * shape.scale }
            switch shape.kind {
            case .accumulate: before.update(repeating: 0, count: width)
            case .bonus: before.update(from: after, count: width)
            case .delta: for d in 0..<width { before[d] = key[d] * decay[d] }
            case .lowRank: before.update(from: inputs.readings![row] + head * width, count: width)
            }
            kernels.decayRows(
                RowDecay(
                    rows: added, count: ranks * i, width: width, decay: decay, x: before, before: productsBefore(i),
                    y: after, after: productsAfter(i)))
            let (askedBefore, askedAfter) = (asked + i * width, asked + (count + i) * width)
            let own = added + ranks * i * width
            for d in 0..<width {
                askedBefore[d] = before[d] * total[d]
                total[d] *= decay[d]
                askedAfter[d] = after[d] * total[d]
                own[d] = key[d]
            }
            productsAfter(i)[ranks * i] = rowKernels.dot(after, own, width)
            guard case .lowRank = shape.kind else { return }
            (own + width).update(from: inputs.writings![row] + head * width, count: width)
            productsAfter(i)[ranks * i + 1] = rowKernels.dot(after, own + width, width)
        }

        /// Computes the value side of token `i`, then its output.
        private func answer(_ i: Int, _ row: Int, _ count: Int) {
            let width = shape.valueWidth
            let value = inputs.values[row] + head * width
            let own = written + ranks * i * width
            let (readBefore, readAfter) = (fromState + i * width, fromState + (count + i) * width)
            let out = output[row] + head * width
            own.update(from: value, count: width)
            switch shape.kind {
            case .accumulate: break
            case .bonus:
                let bonus = bonus! + head * shape.keyWidth
                let (key, query) = (inputs.keys[row], inputs.queries[row])
                var weight: Float = 0
                for d in 0..<shape.keyWidth {
                    weight += query[head * shape.keyWidth + d] * shape.scale * bonus[d] * key[head * shape.keyWidth + d]
                }
                accumulate(productsBefore(i), i, into: readBefore)
                for d in 0..<width { out[d] = readBefore[d] + weight * value[d] }
                return
            case .delta:
                accumulate(productsBefore(i), i, into: readBefore)
                let gain = inputs.gains![row][head]
                for d in 0..<width { own[d] = gain * (value[d] - readBefore[d]) }
            case .lowRank:
                accumulate(productsBefore(i), 2 * i, into: readBefore)
                (own + width).update(from: readBefore, count: width)
            }
            accumulate(productsAfter(i), ranks * (i + 1), into: readAfter)
            out.update(from: readAfter, count: width)
        }

        /// Adds the first `count` rows of the value side, weighted.
        private func accumulate(
            _ weights: UnsafePointer<Float>, _ count: Int, into row: UnsafeMutablePointer<Float>
        ) {
            guard count > 0 else { return }
            let width = shape.valueWidth
            withUnsafePointer(to: 1) { one in
                kernels.smallProduct(
                    SmallProduct(
                        a: weights, aRow: 0, b: written, bStride: width, decay: one, c: row, cStride: width, rows: 1,
                        depth: count, columns: width))
            }
        }
    }
}
