import KernelFormats

/// Products with weights as they are in the file, which are converted to floats a few rows at a time.
final class FileScheme: ProductScheme {
    private let kernels: KernelSet

    init(_ kernels: KernelSet) { self.kernels = kernels }

    func takes(_ weights: WeightMatrix) -> Bool { true }
    func needsExactRows(_ weights: WeightMatrix) -> Bool { false }

    func layOut(_ input: ProductInput, allExact: Bool) -> any Activations {
        FileActivations(matrix: input.matrix, kernels: kernels)
    }

    /// Weight rows per block, with few tokens and with many. 60 rows are 120 KiB of floats, which fit the L2 cache
    /// together with the tokens.
    fileprivate static let groupRows = 12
    fileprivate static let panelRows = 60

    func blockRows(_ weights: WeightMatrix, inputRows: Int, threads: Int) -> Int {
        inputRows <= ProductInput.fewRows
            ? ProductInput.blockRows(weights, inputRows: inputRows, unit: Self.groupRows) : Self.panelRows
    }
}

/// The rows in the order in which products of many rows read them, by parts of columns, `[columns / depth][rows][depth]`,
/// zero-padded to a multiple of 8 columns: read in place, rows a power of two apart would evict each other from the caches.
/// Few rows that need no padding fit the L1 cache, and are read in place.
struct FileActivations: Activations {
    let matrix: Matrix
    fileprivate let kernels: KernelSet
    private var copy: UnsafeMutablePointer<Float>?

    fileprivate init(matrix: Matrix, kernels: KernelSet) {
        self.matrix = matrix
        self.kernels = kernels
    }

    /// Columns per partial sum, a multiple of every format's block. It determines the order of additions, so it is the
    /// same for any number of rows. The horizontal sums take 7 % of the time.
    private static let depth = 512
    /// Weight rows per inner loop over all tokens: 12 KiB, which fit an L1 cache of 32 KiB beside four tokens of 2 KiB.
    private static let rowsAtOnce = 6
    /// Tokens per loop over all weight rows: 192 KiB.
    private static let tokensAtOnce = 96
    /// The same for products with bfloat16 weights, whose activations take as much scratch as they have floats: 96 KiB.
    private static let splitTokensAtOnce = 48

    private var hasFewRows: Bool { matrix.rows <= ProductInput.fewRows }
    private var isCopied: Bool { !hasFewRows || matrix.columns % 8 != 0 }

    var bytes: Int { isCopied ? 4 * matrix.rows * ((matrix.columns + 7) & ~7) : 0 }
    var items: Int { isCopied ? matrix.rows * ((matrix.columns + Self.depth - 1) / Self.depth) : 0 }

    mutating func place(at memory: UnsafeMutableRawPointer) {
        if isCopied { copy = memory.assumingMemoryBound(to: Float.self) }
    }

    func fill(_ item: Int) {
        guard let copy else { return }
        let (row, k) = (item % matrix.rows, item / matrix.rows * Self.depth)
        let count = min(Self.depth, matrix.columns - k)
        let padded = (count + 7) & ~7
        let destination = copy + matrix.rows * k + row * padded
        destination.update(from: matrix[row] + k, count: count)
        (destination + count).update(repeating: 0, count: padded - count)
    }

    var scratchFloats: Int { FileScheme.panelRows * Self.depth }
    var streamsWeights: Bool { false }
    var valuesPerWeight: (floats: Int, bytes: Int) { (matrix.rows, 0) }

    func multiply(
        by weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
    ) {
        if weights.type == .BF16, weights.columns % 8 == 0, let multiply = kernels.multiplyBFloats {
            return multiplyBFloats(by: weights, rows, into: output, scratch, multiply)
        }
        if matrix.rows == 1, weights.type == .F16 || weights.type == .BF16, weights.columns % 8 == 0,
            let multiplyHalves = kernels.multiplyHalves
        {
            return multiplyHalves(
                HalfProduct(
                    a: matrix[0], w: weights.row(rows.lowerBound), isBFloat16: weights.type == .BF16,
                    rows: rows.count, columns: weights.columns, depth: Self.depth, c: output[0] + rows.lowerBound))
        }
        // Few tokens: stream the weights once. Many: per part of the columns, all weights of the block meet all tokens.
        let groupRows = hasFewRows ? FileScheme.groupRows : rows.count
        for first in stride(from: rows.lowerBound, to: rows.upperBound, by: groupRows) {
            let group = first..<min(first + groupRows, rows.upperBound)
            for k in stride(from: 0, to: weights.columns, by: Self.depth) {
                let count = min(Self.depth, weights.columns - k)
                multiply(by: weights, group, columns: k..<k + count, into: output, scratch)
            }
        }
    }

    /// Multiplies bfloat16 weights in the order of columns of the other products.
    private func multiplyBFloats(
        by weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>,
        _ multiply: (BFloatProduct) -> Void
    ) {
        for k in stride(from: 0, to: weights.columns, by: Self.depth) {
            let count = min(Self.depth, weights.columns - k)
            let (a, aStride) = values(ofColumns: k..<k + count)
            for token in stride(from: 0, to: matrix.rows, by: Self.splitTokensAtOnce) {
                multiply(
                    BFloatProduct(
                        a: a + token * aStride, aStride: aStride,
                        tokens: min(Self.splitTokensAtOnce, matrix.rows - token),
                        w: weights.row(rows.lowerBound) + 2 * k, wStride: 2 * weights.columns, rows: rows.count,
                        columns: count, c: output[token] + rows.lowerBound, cStride: output.stride, accumulate: k > 0,
                        scratch: scratch))
            }
        }
    }

    /// The activations of some columns, which begin at a multiple of `depth`, and the floats from one token to the next.
    private func values(ofColumns columns: Range<Int>) -> (UnsafePointer<Float>, stride: Int) {
        guard let copy else { return (UnsafePointer(matrix.base + columns.lowerBound), matrix.stride) }
        return (UnsafePointer(copy + matrix.rows * columns.lowerBound), (columns.count + 7) & ~7)
    }

    /// Computes the partial sums of some columns.
    private func multiply(
        by weights: WeightMatrix, _ rows: Range<Int>, columns: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        let padded = (columns.count + 7) & ~7
        let (activations, aStride) = values(ofColumns: columns)
        let (values, wStride) = floats(weights, rows, columns, scratch)
        for token in stride(from: 0, to: matrix.rows, by: Self.tokensAtOnce) {
            let count = min(Self.tokensAtOnce, matrix.rows - token)
            // Up to three tokens are multiplied one by one, by four rows at a time: weights need not stay in the L1 cache.
            let rowsAtOnce = count < 4 ? rows.count : Self.rowsAtOnce
            for row in stride(from: 0, to: rows.count, by: rowsAtOnce) {
                kernels.multiplyFloats(
                    FloatProduct(
                        a: activations + token * aStride, aStride: aStride, tokens: count, w: values + row * wStride,
                        wStride: wStride, rows: min(rowsAtOnce, rows.count - row), count: padded,
                        c: output[token] + rows.lowerBound + row, cStride: output.stride,
                        accumulate: columns.lowerBound > 0))
            }
        }
    }

    /// Part of some weight rows as floats, with the number of floats from one row to the next. With few tokens, floats are
    /// read from the file in place.
    private func floats(
        _ weights: WeightMatrix, _ rows: Range<Int>, _ columns: Range<Int>, _ scratch: UnsafeMutablePointer<Float>
    ) -> (UnsafePointer<Float>, stride: Int) {
        let (count, padded) = (columns.count, (columns.count + 7) & ~7)
        let offset = columns.lowerBound / weights.type.blockValues * weights.type.blockBytes
        #if _endian(little)
            if hasFewRows, weights.type == .F32, count == padded {
                let start = weights.row(rows.lowerBound) + offset
                if Int(bitPattern: start) % MemoryLayout<Float>.alignment == 0 {
                    return (start.assumingMemoryBound(to: Float.self), weights.columns)
                }
            }
        #endif
        for (index, row) in rows.enumerated() {
            let values = scratch + index * padded
            kernels.dequantize(weights.type, weights.row(row) + offset, values, count)
            (values + count).update(repeating: 0, count: padded - count)
        }
        return (UnsafePointer(scratch), padded)
    }
}
