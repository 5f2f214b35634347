import KernelFormats

/// Products with `PackedFloats`, of AVX2 and AVX-512: as floats, and of prompts with weights in F16 and BF16 as 16-bit integers.
final class PackedFloatScheme: ProductScheme {
    fileprivate let multiply: @Sendable (PackedFloatProduct) -> Void
    fileprivate let words: WordKernels?
    fileprivate let rows: RowKernels

    init(_ multiply: @escaping @Sendable (PackedFloatProduct) -> Void, words: WordKernels?, rows: RowKernels) {
        self.multiply = multiply
        self.words = words
        self.rows = rows
    }

    func takes(_ weights: WeightMatrix) -> Bool { weights.packedFloats != nil }

    func needsExactRows(_ weights: WeightMatrix) -> Bool {
        words == nil || !(weights.packedFloats.map { WordActivations.areRead(by: $0) } ?? false)
    }

    func layOut(_ input: ProductInput, allExact: Bool) -> any Activations {
        PackedFloatActivations(input, exactRows: allExact ? input.matrix.rows : input.exactRows, self)
    }

    func blockRows(_ weights: WeightMatrix, inputRows: Int, threads: Int) -> Int {
        FloatActivations.blockRows(weights, inputRows: inputRows, threads: threads)
    }
}

/// The exact rows as floats, the others as 16-bit integers.
struct PackedFloatActivations: Activations {
    let matrix: Matrix
    private let scheme: PackedFloatScheme
    private var floats: FloatActivations?
    private var words: WordActivations?

    fileprivate init(_ input: ProductInput, exactRows: Int, _ scheme: PackedFloatScheme) {
        matrix = input.matrix
        self.scheme = scheme
        if exactRows > 0 { floats = FloatActivations(matrix[rows: 0, count: exactRows]) }
        if exactRows < matrix.rows { words = WordActivations(matrix, rows: exactRows..<matrix.rows) }
    }

    var bytes: Int { floatBytes + (words?.bytes ?? 0) }
    private var floatBytes: Int { (4 * (floats?.floats ?? 0) + 63) / 64 * 64 }

    mutating func place(at memory: UnsafeMutableRawPointer) {
        let memoryOfWords = memory + floatBytes
        floats?.place(at: memory.assumingMemoryBound(to: Float.self))
        words?.place(at: memoryOfWords)
    }

    var items: Int { (floats?.items ?? 0) + (words?.tileCount ?? 0) }

    func fill(_ item: Int) {
        let floatItems = floats?.items ?? 0
        if item < floatItems {
            floats?.fill(item, scheme.rows)
        } else if let kernels = scheme.words {
            words?.fill(item - floatItems, kernels)
        }
    }

    var scratchFloats: Int { max(floats?.scratchFloats ?? 0, words?.scratchFloats ?? 0) }
    var streamsWeights: Bool { false }
    var valuesPerWeight: (floats: Int, bytes: Int) {
        let wordRows = words?.rows.count ?? 0
        return (matrix.rows - wordRows, 2 * wordRows)
    }

    func multiply(
        by weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
    ) {
        guard let weights = weights.packedFloats else { return }
        floats?.multiply(by: weights, rows, into: output, scratch, scheme.multiply)
        if let kernels = scheme.words { words?.multiply(by: weights, rows, into: output, scratch, kernels) }
    }
}

/// Activations in `FloatTile`s, for products with `PackedFloats`.
///
/// Of more than one tile, the columns are divided into slices, `[slices][tiles][sliceColumns][tokens of a tile]`: a product
/// goes from tile to tile within a slice, whose weights stay in the caches.
struct FloatActivations {
    private let matrix: Matrix
    private let tileCount: Int
    private let tokensOfTile: Int
    private var base: UnsafeMutablePointer<Float>

    /// - Parameter matrix: At least a row.
    fileprivate init(_ matrix: Matrix) {
        self.matrix = matrix
        base = matrix.base
        // As even as possible: seven and six rather than twelve and one.
        tileCount = (matrix.rows + FloatTile.tokens - 1) / FloatTile.tokens
        tokensOfTile = (matrix.rows + tileCount - 1) / tileCount
    }

    /// A single token is read in place.
    private var isInPlace: Bool { matrix.rows == 1 }

    fileprivate mutating func place(at memory: UnsafeMutablePointer<Float>) { if !isInPlace { base = memory } }

    private var columns: Int { matrix.columns }
    private var sliceColumns: Int { tileCount == 1 ? columns : FloatTile.sliceColumns }
    private var slotFloats: Int { tokensOfTile * sliceColumns }

    fileprivate var items: Int { isInPlace ? 0 : (columns + sliceColumns - 1) / sliceColumns * tileCount }
    fileprivate var floats: Int { items * slotFloats }

    /// The columns of each slice.
    private var slices: [Range<Int>] {
        stride(from: 0, to: columns, by: sliceColumns).map { $0..<min($0 + sliceColumns, columns) }
    }

    private func tokens(ofTile tile: Int) -> Range<Int> {
        tile * tokensOfTile..<min((tile + 1) * tokensOfTile, matrix.rows)
    }

    private func tile(_ tile: Int, slice: Int) -> UnsafeMutablePointer<Float> {
        base + (slice * tileCount + tile) * slotFloats
    }

    /// Copies the part of the rows that a tile holds in a slice.
    fileprivate func fill(_ item: Int, _ kernels: RowKernels) {
        let (tile, slice) = (item % tileCount, item / tileCount)
        let (tokens, first) = (tokens(ofTile: tile), slice * sliceColumns)
        kernels.transpose(
            matrix[tokens.lowerBound] + first, matrix.stride, tokens.count, min(sliceColumns, columns - first),
            self.tile(tile, slice: slice), tokens.count)
    }

    // MARK: Blocks of weights

    /// Weight rows per block, a multiple of the two groups that the kernel takes.
    fileprivate static func blockRows(_ weights: WeightMatrix, inputRows: Int, threads: Int) -> Int {
        guard inputRows <= FloatTile.tokens else { return PanelProduct.blockRows(weights, threads: threads) }
        return max(32, min(PanelProduct.rows, ProductInput.leastBlockProducts / (inputRows * weights.columns) & ~31))
    }

    /// Floats from one token to the next in the results of a block: not a power of two.
    private static let resultStride = PanelProduct.rows + 16

    /// Floats of scratch for the results of a block.
    fileprivate var scratchFloats: Int { tileCount == 1 ? 0 : matrix.rows * Self.resultStride }

    /// Computes columns `rows` of the product, a multiple of 16.
    ///
    /// Results of several slices are collected in the worker's scratch, which stays in its L2 cache: rows of `output` are
    /// often a power of two apart and would evict each other.
    fileprivate func multiply(
        by weights: PackedFloatWeights, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernel: (PackedFloatProduct) -> Void
    ) {
        let isSingle = tileCount == 1
        let results =
            isSingle
            ? output[columns: rows.lowerBound, count: rows.count]
            : Matrix(scratch, rows: matrix.rows, columns: rows.count, stride: Self.resultStride)
        let firstGroup = weights.group(rows.lowerBound / PackedFloats.rows)
        for (slice, columns) in slices.enumerated() {
            for tile in 0..<tileCount {
                let tokens = self.tokens(ofTile: tile)
                kernel(
                    PackedFloatProduct(
                        tile: self.tile(tile, slice: slice), tokens: tokens.count, type: weights.type,
                        weights: firstGroup + columns.lowerBound * PackedFloats.rows * weights.type.blockBytes,
                        groupBytes: weights.groupBytes, groups: rows.count / PackedFloats.rows, columns: columns.count,
                        c: results[tokens.lowerBound], cStride: results.stride, accumulate: slice > 0))
            }
        }
        guard !isSingle else { return }
        for token in 0..<matrix.rows {
            (output[token] + rows.lowerBound).update(from: results[token], count: rows.count)
        }
    }
}
