import KernelFormats

/// Heads with a matrix state S `[keyWidth, valueWidth]` that decays by one factor per token:
///
///     Sₜ = gₜ·Sₜ₋₁ + kₜ·xₜᵀ        oₜ = Sₜᵀ·qₜ
///     xₜ = βₜ·vₜ                     state space duality: Mamba 2 (Dao and Gu 2024)
///     xₜ = βₜ·(vₜ − gₜ·Sₜ₋₁ᵀ·kₜ)    gated delta rule (Yang et al. 2024), `isDelta`
///
/// Computed in chunks: with Γᵢⱼ = gⱼ₊₁⋯gᵢ within a chunk that begins with the state S, oᵢ = Γᵢ·Sᵀqᵢ + Σⱼ
/// Γᵢⱼ·(qᵢ·kⱼ)·xⱼ, which is matrix products; the x of the delta rule solve a triangular system, row by row. A decoded
/// token is a chunk of one. Γ are products of factors up to 1, so nothing overflows.
package struct ScalarDecayRecurrence {
    /// Number of groups of heads that share queries and keys.
    let groups: Int
    let heads: Int
    let keyWidth: Int
    let valueWidth: Int
    let isDelta: Bool
    /// Whether group g has the heads g, g + groups, g + 2·groups, … instead of neighbours.
    var interleavesGroups: Bool

    package init(
        groups: Int, heads: Int, keyWidth: Int, valueWidth: Int, isDelta: Bool, interleavesGroups: Bool = false
    ) {
        self.groups = groups
        self.heads = heads
        self.keyWidth = keyWidth
        self.valueWidth = valueWidth
        self.isDelta = isDelta
        self.interleavesGroups = interleavesGroups
    }

    package static let chunk = 32
    /// Heads of a group that one worker computes in turn, reusing the products of queries and keys.
    private static let headsOfItem = 8

    package var stateFloats: Int { heads * keyWidth * valueWidth }

    package struct Inputs {
        /// `[rows, groups · keyWidth]`
        let queries: Matrix
        let keys: Matrix
        /// `[rows, heads · valueWidth]`
        let values: Matrix
        /// g and β, `[rows, heads]`; g in 0...1.
        let decays: Matrix
        let gains: Matrix

        package init(queries: Matrix, keys: Matrix, values: Matrix, decays: Matrix, gains: Matrix) {
            self.queries = queries
            self.keys = keys
            self.values = values
            self.decays = decays
            self.gains = gains
        }
    }

    /// - Parameters:
    ///   - stateOffset: Offset of the matrices `[heads][keyWidth][valueWidth]` in a run's state.
    ///   - output: `[rows, heads · valueWidth]`
    package func forward(
        _ inputs: Inputs, into output: Matrix, _ runs: [RecurrentRun], stateOffset: Int, _ compute: Compute
    ) {
        let members = heads / groups
        let blocks = (members + Self.headsOfItem - 1) / Self.headsOfItem
        compute.reserveScratch(floats: scratchFloats)
        let work = inputs.queries.rows * stateFloats
        compute.timed(ProfiledPart(name: "recurrence")) {
            compute.forEachItem(runs.count * groups * blocks, serially: work <= 1 << 14) { item, worker in
                let block = item % blocks, group = item / blocks % groups
                let first = block * Self.headsOfItem
                Heads(
                    shape: self, inputs: inputs, output: output, run: runs[item / blocks / groups],
                    stateOffset: stateOffset, group: group, members: first..<min(first + Self.headsOfItem, members),
                    kernels: compute.kernels.recurrent, rowKernels: compute.kernels.rows,
                    scratch: compute.scratchOfWorker(worker)
                ).forward()
            }
        }
    }

    private var scratchFloats: Int {
        let c = Self.chunk
        return keyWidth * 4 * c + c * 4 * c + 3 * c * valueWidth + c
    }

    /// Some heads of one group of one sequence.
    private struct Heads {
        let shape: ScalarDecayRecurrence
        let inputs: Inputs
        let output: Matrix
        let run: RecurrentRun
        let stateOffset: Int
        let group: Int
        let members: Range<Int>
        let kernels: RecurrentKernels
        let rowKernels: RowKernels
        let scratch: UnsafeMutablePointer<Float>

        func forward() {
            run.forEachChunk(length: chunk) { first, count in
                pair(first, count)
                for member in members { advance(head(member), first, count) }
            }
        }

        private func head(_ member: Int) -> Int {
            shape.interleavesGroups
                ? member * shape.groups + group : group * (shape.heads / shape.groups) + member
        }

        // Scratch, in order: queries, then keys, `[2·count][keyWidth]`; keys transposed `[keyWidth][chunk]`; decayed
        // keys `[count][keyWidth]`; products with keys `[2·count][chunk]`; Γ and Γ·(q·k) `[count][chunk]`; products
        // with the state `[2·count][valueWidth]`; x `[count][valueWidth]`; Γᵢ `[count]`.
        private var rows: UnsafeMutablePointer<Float> { scratch }
        private var transposed: UnsafeMutablePointer<Float> { rows + 2 * chunk * shape.keyWidth }
        private var decayed: UnsafeMutablePointer<Float> { transposed + chunk * shape.keyWidth }
        private var products: UnsafeMutablePointer<Float> { decayed + chunk * shape.keyWidth }
        private var gamma: UnsafeMutablePointer<Float> { products + 2 * chunk * chunk }
        private var weights: UnsafeMutablePointer<Float> { gamma + chunk * chunk }
        private var fromState: UnsafeMutablePointer<Float> { weights + chunk * chunk }
        private var written: UnsafeMutablePointer<Float> { fromState + 2 * chunk * shape.valueWidth }
        private var total: UnsafeMutablePointer<Float> { written + chunk * shape.valueWidth }

        private var keyedRows: Int { shape.isDelta ? 2 : 1 }

        /// Multiplies a chunk's queries, and for the delta rule also its keys, with its keys.
        private func pair(_ first: Int, _ count: Int) {
            let width = shape.keyWidth
            for i in 0..<count {
                (rows + i * width).update(from: inputs.queries[first + i] + group * width, count: width)
                (rows + (count + i) * width).update(from: inputs.keys[first + i] + group * width, count: width)
            }
            let keys = rows + count * width
            if count == 1 {
                products[0] = rowKernels.dot(rows, keys, width)
                return
            }
            let columns = (count + 7) & ~7
            for i in 0..<columns {
                for d in 0..<width { transposed[d &* chunk &+ i] = i < count ? keys[i &* width &+ d] : 0 }
            }
            kernels.smallProduct(
                SmallProduct(
                    a: rows, aRow: width, b: transposed, bStride: chunk, c: products, cStride: chunk,
                    rows: keyedRows * count, depth: width, columns: columns))
        }

        private func advance(_ head: Int, _ first: Int, _ count: Int) {
            let (keyWidth, valueWidth) = (shape.keyWidth, shape.valueWidth)
            let state = run.state + stateOffset + head * keyWidth * valueWidth
            decay(head, first, count)
            kernels.smallProduct(
                SmallProduct(
                    a: rows, aRow: keyWidth, b: state, bStride: valueWidth, c: fromState, cStride: valueWidth,
                    rows: keyedRows * count, depth: keyWidth, columns: valueWidth))
            write(head, first, count)
            for i in 0..<count {
                let out = output[first + i] + head * valueWidth
                out.update(from: fromState + i * valueWidth, count: valueWidth)
                for j in 0..<count {
                    weights[i &* chunk &+ j] = j <= i ? gamma[i &* chunk &+ j] * products[i &* chunk &+ j] : 0
                }
            }
            kernels.smallProduct(
                SmallProduct(
                    a: weights, aRow: chunk, b: written, bStride: valueWidth, decay: total, decayStride: 1,
                    c: output[first] + head * valueWidth, cStride: output.stride, rows: count, depth: count,
                    columns: valueWidth))
            let keys = rows + count * keyWidth
            let last = gamma + (count - 1) * chunk
            for j in 0..<count {
                let factor = last[j]
                for d in 0..<keyWidth { decayed[j &* keyWidth &+ d] = factor * keys[j &* keyWidth &+ d] }
            }
            kernels.smallProduct(
                SmallProduct(
                    a: decayed, aRow: 1, aColumn: keyWidth, b: written, bStride: valueWidth,
                    decay: total + (count - 1), c: state, cStride: valueWidth, rows: keyWidth, depth: count,
                    columns: valueWidth))
        }

        /// Computes Γᵢⱼ, the decay from token j to token i, and Γᵢ, the decay since the start of the chunk.
        private func decay(_ head: Int, _ first: Int, _ count: Int) {
            for i in 0..<count {
                let factor = inputs.decays[first + i][head]
                for j in 0..<i { gamma[i &* chunk &+ j] = gamma[(i &- 1) &* chunk &+ j] * factor }
                gamma[i * chunk + i] = 1
                total[i] = i == 0 ? factor : total[i - 1] * factor
            }
        }

        /// Computes x, the value that each token adds to the state.
        private func write(_ head: Int, _ first: Int, _ count: Int) {
            let width = shape.valueWidth
            for i in 0..<count {
                let gain = inputs.gains[first + i][head]
                let value = inputs.values[first + i] + head * width
                let row = written + i * width
                guard shape.isDelta else {
                    for d in 0..<width { row[d] = gain * value[d] }
                    continue
                }
                let known = fromState + (count + i) * width
                let factor = total[i]
                for d in 0..<width { row[d] = gain * (value[d] - factor * known[d]) }
                if i == 0 { continue }
                for j in 0..<i {
                    weights[j] = -gain * gamma[i &* chunk &+ j] * products[(count &+ i) &* chunk &+ j]
                }
                withUnsafePointer(to: 1) { one in
                    kernels.smallProduct(
                        SmallProduct(
                            a: weights, aRow: 0, b: written, bStride: width, decay: one, c: row, cStride: width,
                            rows: 1,
                            depth: i, columns: width))
                }
            }
        }
    }
}
