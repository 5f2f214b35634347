import KernelFormats

/// Activations in `FloatTile`s, for products with `PackedFloats`.
///
/// Of more than one tile, the columns are divided into slices, `[slices][tiles][sliceColumns][tokens of a tile]`: a product
/// goes from tile to tile within a slice, whose weights stay in the caches.
struct FloatActivations {
    let tokens: Int
    let tileCount: Int
    private let tokensOfTile: Int
    private let columns: Int
    private let base: UnsafeMutablePointer<Float>

    /// - Parameter base: `floats` floats. For a single token, the token itself.
    init(_ base: UnsafeMutablePointer<Float>, _ input: Matrix) {
        self.base = base
        (tokens, columns) = (input.rows, input.columns)
        // As even as possible: seven and six rather than twelve and one.
        tileCount = (tokens + FloatTile.tokens - 1) / FloatTile.tokens
        tokensOfTile = (tokens + tileCount - 1) / tileCount
    }

    private var sliceColumns: Int { tileCount == 1 ? columns : FloatTile.sliceColumns }
    private var slotFloats: Int { tokensOfTile * sliceColumns }

    var pieces: Int { (columns + sliceColumns - 1) / sliceColumns * tileCount }
    var floats: Int { pieces * slotFloats }

    /// The columns of each slice.
    var slices: [Range<Int>] {
        stride(from: 0, to: columns, by: sliceColumns).map { $0..<min($0 + sliceColumns, columns) }
    }

    func tokens(ofTile tile: Int) -> Range<Int> {
        tile * tokensOfTile..<min((tile + 1) * tokensOfTile, tokens)
    }

    func tile(_ tile: Int, slice: Int) -> UnsafeMutablePointer<Float> { base + (slice * tileCount + tile) * slotFloats }

    /// Copies the part of `input` that a tile holds in a slice.
    func fill(_ piece: Int, from input: Matrix, _ kernels: RowKernels) {
        let (tile, slice) = (piece % tileCount, piece / tileCount)
        let (tokens, first) = (tokens(ofTile: tile), slice * sliceColumns)
        kernels.transpose(
            input[tokens.lowerBound] + first, input.stride, tokens.count, min(sliceColumns, columns - first),
            self.tile(tile, slice: slice), tokens.count)
    }

    // MARK: Blocks of weights

    /// Maximum weight rows per block.
    static let panelRows = 128
    /// Multiplications per block for a single tile; see `ProductList`.
    private static let pieceProducts = 1 << 18

    /// Weight rows per block, a multiple of the two groups that the kernel takes.
    static func blockRows(_ input: Matrix, _ weights: WeightMatrix, threads: Int) -> Int {
        guard input.rows <= FloatTile.tokens else {
            return weights.rows >= 4 * panelRows * threads ? panelRows : panelRows / 2
        }
        return max(32, min(panelRows, pieceProducts / (input.rows * input.columns) & ~31))
    }

    /// Floats from one token to the next in the results of a block: not a power of two.
    fileprivate static let resultStride = panelRows + 16

    /// Floats of scratch for the results of a block.
    var scratchFloats: Int { tileCount == 1 ? 0 : tokens * Self.resultStride }
}

extension Compute {
    /// Computes columns `rows` of the product, a multiple of 16.
    ///
    /// Results of several slices are collected in the worker's scratch, which stays in its L2 cache: rows of `output` are
    /// often a power of two apart and would evict each other.
    func multiplyPackedFloats(
        _ input: FloatActivations, _ weights: PackedFloatWeights, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernel: (PackedFloatProduct) -> Void
    ) {
        let isSingle = input.tileCount == 1
        let results =
            isSingle
            ? output[columns: rows.lowerBound, count: rows.count]
            : Matrix(scratch, rows: input.tokens, columns: rows.count, stride: FloatActivations.resultStride)
        let firstGroup = weights.group(rows.lowerBound / PackedFloats.rows)
        for (slice, columns) in input.slices.enumerated() {
            for tile in 0..<input.tileCount {
                let tokens = input.tokens(ofTile: tile)
                kernel(
                    PackedFloatProduct(
                        tile: input.tile(tile, slice: slice), tokens: tokens.count, type: weights.type,
                        weights: firstGroup + columns.lowerBound * PackedFloats.rows * weights.type.blockBytes,
                        groupBytes: weights.groupBytes, groups: rows.count / PackedFloats.rows, columns: columns.count,
                        c: results[tokens.lowerBound], cStride: results.stride, accumulate: slice > 0))
            }
        }
        guard !isSingle else { return }
        for token in 0..<input.tokens {
            (output[token] + rows.lowerBound).update(from: results[token], count: rows.count)
        }
    }
}
