import GGUF
import KernelFormats

/// What one adapter adds to the rows of a product: scale · B·(A·x).
struct AdapterUpdate {
    fileprivate let update: LoRAAdapter.Update
    fileprivate let scale: Float
    /// Rows of the input and of the output.
    fileprivate let rows: RangeSet<Int>
    /// Index of the expert's matrix in the update.
    fileprivate let matrix: Int
    /// Index in the matrix of the product's first output.
    fileprivate let firstOutput: Int
    /// Where its inner values, scale · A·x, begin among those of all updates: `rank` floats for each row.
    fileprivate let inner: Int

    /// - Parameter stepRows: The step's row of each row of the input; `nil`: they are the same.
    /// - Returns: `nil` if the adapter does not change these weights, or none of these rows.
    init?(_ use: AdapterRows, _ weights: WeightMatrix, _ stepRows: [Int]?, inner: Int) {
        guard let update = use.adapter.updates[weights.tensor.name], !update.isOfEmbeddings else { return nil }
        rows = stepRows.map { $0.indices(where: { use.rows.contains($0) }) } ?? use.rows
        guard !rows.isEmpty else { return nil }
        self.update = update
        self.inner = inner
        scale = use.scale * update.factor
        (matrix, firstOutput) = weights.firstRow.quotientAndRemainder(dividingBy: update.rows)
    }

    var innerFloats: Int { rows.ranges.reduce(0) { $0 + $1.count } * update.rank }
}

extension Compute {
    /// Rows of the input that a worker multiplies at once.
    private static let rowsAtOnce = 16
    /// Rows of A that it multiplies them by if they are fewer; otherwise by all.
    private static let ranksAtOnce = 4
    /// Multiplications below which waking other threads does not pay.
    private static let serialProducts = 1 << 16

    /// Some of an update's inner values, which a worker computes at a time.
    private struct InnerValues {
        let update: AdapterUpdate
        let input: Matrix
        let rows: Range<Int>
        /// Rows of A.
        let ranks: Range<Int>
        /// Where the first row's inner values begin.
        let inner: Int
    }

    /// Computes scale · A·x of all updates.
    func innerValues(of list: ProductList) -> UnsafeMutablePointer<Float> {
        let inner = innerValues(floats: list.innerFloats)
        guard list.innerFloats > 0 else { return inner }
        var items: [InnerValues] = []
        var work = 0
        for product in list.products {
            let input = list.input(of: product)
            for update in product.factor.updates + (product.gate?.factor.updates ?? []) {
                append(update, input, to: &items)
                work += update.innerFloats * input.columns
            }
        }
        forEachItem(items.count, serially: work <= Self.serialProducts) { index, _ in
            multiply(items[index], into: inner + items[index].inner)
        }
        return inner
    }

    private func append(_ update: AdapterUpdate, _ input: Matrix, to items: inout [InnerValues]) {
        let rank = update.update.rank
        var inner = update.inner
        for range in update.rows.ranges {
            for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.rowsAtOnce) {
                let rows = first..<min(first + Self.rowsAtOnce, range.upperBound)
                let ranksAtOnce = rows.count < Self.rowsAtOnce ? Self.ranksAtOnce : rank
                for k in stride(from: 0, to: rank, by: ranksAtOnce) {
                    items.append(
                        InnerValues(
                            update: update, input: input, rows: rows, ranks: k..<min(k + ranksAtOnce, rank),
                            inner: inner))
                }
                inner += rows.count * rank
            }
        }
    }

    private func multiply(_ item: InnerValues, into inner: UnsafeMutablePointer<Float>) {
        let (update, columns) = (item.update.update, item.update.update.columns)
        let whole = columns & ~7
        update.a.withUnsafeBufferPointer {
            let a = $0.baseAddress! + (item.update.matrix * update.rank + item.ranks.lowerBound) * columns
            kernels.multiplyFloats(
                FloatProduct(
                    a: item.input[item.rows.lowerBound], aStride: item.input.stride, tokens: item.rows.count,
                    w: a, wStride: columns, rows: item.ranks.count, count: whole,
                    c: inner + item.ranks.lowerBound, cStride: update.rank, accumulate: false))
            for (index, row) in item.rows.enumerated() {
                for k in item.ranks {
                    var value = inner[index * update.rank + k]
                    for column in whole..<columns {
                        value += a[(k - item.ranks.lowerBound) * columns + column] * item.input[row][column]
                    }
                    inner[index * update.rank + k] = value * item.update.scale
                }
            }
        }
    }

    /// Adds updates to columns `outputs` of a product.
    func add(
        _ updates: [AdapterUpdate], _ inner: UnsafePointer<Float>, to output: Matrix, _ outputs: Range<Int>
    ) {
        for use in updates {
            let update = use.update
            let firstOutput = use.firstOutput + outputs.lowerBound
            var inner = inner + use.inner
            update.b.withUnsafeBufferPointer { b in
                for rows in use.rows.ranges {
                    kernels.rows.addLowRank(
                        LowRankProduct(
                            h: inner, tokens: rows.count, rank: update.rank,
                            b: b.baseAddress! + update.indexOfB(matrix: use.matrix),
                            outputs: firstOutput..<firstOutput + outputs.count,
                            c: output[rows.lowerBound] + outputs.lowerBound, cStride: output.stride))
                    inner += rows.count * update.rank
                }
            }
        }
    }

    /// Adds the updates of one table row by the step's adapters to each row of `output`.
    package func addAdapters(toRows output: Matrix, of name: String, row: Int) {
        for use in adapters {
            guard let update = use.adapter.updates[name] else { continue }
            for k in 0..<update.rank {
                let factor = use.scale * update.factor * update.b[update.indexOfB(row: row, k)]
                update.a.withUnsafeBufferPointer { a in
                    for index in use.rows.ranges.joined() {
                        kernels.rows.addMultiple(
                            output[index], a.baseAddress! + k * update.columns, factor, update.columns)
                    }
                }
            }
        }
    }

    /// Adds the updates of the step's adapters to embeddings, `[tokens, width]`.
    package func addAdapters(toEmbeddings output: Matrix, of table: WeightMatrix, _ tokens: [Int32]) {
        for use in adapters {
            guard let update = use.adapter.updates[table.tensor.name], update.isOfEmbeddings else { continue }
            let inner = innerValues(floats: update.rank)
            for row in use.rows.ranges.joined() {
                for k in 0..<update.rank {
                    inner[k] = use.scale * update.factor * update.a[Int(tokens[row]) * update.rank + k]
                }
                update.b.withUnsafeBufferPointer {
                    kernels.rows.addLowRank(
                        LowRankProduct(
                            h: inner, tokens: 1, rank: update.rank, b: $0.baseAddress!, outputs: 0..<update.rows,
                            c: output[row], cStride: output.stride))
                }
            }
        }
    }
}
