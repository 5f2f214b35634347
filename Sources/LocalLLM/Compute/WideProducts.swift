import KernelFormats

/// Activations in `WideTile`s: first the tokens with two columns each (15 bits), then the others (8 bits).
struct WideActivations {
    let tokens: Int
    /// Whether tiles are multiplied by packed weights without unpacking them to memory. All tokens have 15 bits then, and
    /// the slices of a tile are contiguous; else a slice of all tiles is.
    let isStreamed: Bool
    let tileCount: Int
    /// `[tokens]` powers of two.
    let scales: UnsafeMutablePointer<Float>
    private let slices: UnsafeMutableRawPointer
    private let sliceCount: Int
    /// Number of tokens with 15 bits, in two columns each.
    let pairedTokens: Int
    private let pairedTiles: Int
    private let pairsOfTile: Int

    struct Tile {
        /// The first slice.
        let base: UnsafeMutableRawPointer
        let sliceStride: Int
        let tokens: Range<Int>
        let pairs: Bool
        /// An even number, as small as the tokens allow.
        let columns: Int
    }

    /// Number of tokens up to which tiles are streamed.
    static let streamedTokens = 16

    /// - Parameters:
    ///   - base: `bytes` bytes at a cache line; `nil` to compute `bytes`.
    ///   - paired: Number of tokens with 15 bits.
    ///   - columns: Columns of the matrix.
    init(_ base: UnsafeMutableRawPointer?, tokens: Int, paired: Int, columns: Int) {
        self.tokens = tokens
        pairedTokens = paired
        isStreamed = paired == tokens && tokens <= Self.streamedTokens
        if isStreamed {
            // As even as possible: three and two rather than four and one.
            let tiles = Self.tiles(tokens, of: WideTile.streamedColumns / 2)
            pairsOfTile = (tokens + tiles - 1) / max(1, tiles)
        } else {
            pairsOfTile = WideTile.columns / 2
        }
        pairedTiles = Self.tiles(paired, of: pairsOfTile)
        tileCount = pairedTiles + Self.tiles(tokens - paired, of: WideTile.columns)
        sliceCount = (columns + WideTile.sliceColumns - 1) / WideTile.sliceColumns
        let base = base ?? UnsafeMutableRawPointer(bitPattern: 64)!
        scales = base.assumingMemoryBound(to: Float.self)
        slices = base + (4 * tokens + 63) / 64 * 64
    }

    private static func tiles(_ tokens: Int, of size: Int) -> Int { (tokens + size - 1) / size }

    private var slotBytes: Int { WideTile.sliceBytes * (isStreamed ? WideTile.streamedColumns : WideTile.columns) }

    var bytes: Int { slices + tileCount * sliceCount * slotBytes - UnsafeMutableRawPointer(scales) }

    subscript(index: Int) -> Tile {
        let pairs = index < pairedTiles
        let size = pairs ? pairsOfTile : WideTile.columns
        let first = pairs ? index * size : pairedTokens + (index - pairedTiles) * size
        let end = min(first + size, pairs ? pairedTokens : tokens)
        let columns = pairs ? 2 * (end - first) : (end - first + 1) & ~1
        return Tile(
            base: slices + index * slotBytes * (isStreamed ? sliceCount : 1),
            sliceStride: isStreamed ? WideTile.sliceBytes * columns : tileCount * slotBytes, tokens: first..<end,
            pairs: pairs, columns: columns)
    }

    /// Quantizes the rows of `input` that a tile holds.
    func fill(_ index: Int, from input: Matrix, _ kernels: WideKernels) {
        let tile = self[index]
        @inline(__always)
        func round(_ token: Int, _ column: Int) -> Float {
            kernels.roundToken(
                input[token], input.columns, tile.pairs, tile.base, tile.sliceStride, tile.columns, column)
        }
        for (place, token) in tile.tokens.enumerated() { scales[token] = round(token, tile.pairs ? 2 * place : place) }
        // Kernels read the numbers of a last column that no token has, places in a panel among them.
        if !tile.pairs, tile.tokens.count < tile.columns { _ = round(tile.tokens.upperBound - 1, tile.columns - 1) }
    }

    /// Maximum weight rows per block: eight groups.
    static let panelRows = 128
    /// Weight rows per block: many, since prefetching begins anew with each block.
    static func blockRows(_ weights: WeightMatrix, threads: Int) -> Int {
        weights.rows >= 4 * panelRows * threads ? panelRows : panelRows / 2
    }
}

extension Compute {
    /// Panels per tile that stay in the L1 cache with it.
    private static let widePanels = 4

    func wideScratch(tiles: Int) -> Int {
        Self.widePanels * WidePanel.sliceBytes / 4
            + WideActivations.panelRows / PackedLayout.rows * tiles * IntegerTile.resultFloats
    }

    /// Computes columns `rows` of the product, a multiple of 16.
    ///
    /// Results are collected in the worker's scratch, which stays in its L2 cache: rows of `output` are often a power of
    /// two apart and would evict each other.
    func multiplyPacked(
        _ input: WideActivations, _ weights: PackedWeights, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: WideKernels
    ) {
        let groups = rows.lowerBound / PackedLayout.rows..<rows.upperBound / PackedLayout.rows
        if input.isStreamed {
            multiplyStreamed(input, weights, groups, into: output, kernels)
        } else {
            multiplyPanels(input, weights, groups, into: output, scratch, kernels)
        }
    }

    private func multiplyStreamed(
        _ input: WideActivations, _ weights: PackedWeights, _ groups: Range<Int>, into output: Matrix,
        _ kernels: WideKernels
    ) {
        let firstRow = groups.lowerBound * PackedLayout.rows
        for index in 0..<input.tileCount {
            let tile = input[index]
            kernels.multiplyTokens(
                PackedProduct(
                    layout: weights.layout, tile: tile.base, tokens: tile.tokens.count,
                    scales: input.scales + tile.tokens.lowerBound, weights: weights.group(groups.lowerBound),
                    groups: groups.count,
                    blocks: weights.columns / weights.layout.type.blockValues,
                    c: output[tile.tokens.lowerBound] + firstRow, cStride: output.stride))
        }
    }

    private func multiplyPanels(
        _ input: WideActivations, _ weights: PackedWeights, _ groups: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: WideKernels
    ) {
        let layout = weights.layout
        let blocks = weights.columns / layout.type.blockValues
        let blocksAtOnce = WideTile.sliceColumns / layout.type.blockValues
        let panels = UnsafeMutableRawPointer(scratch)
        let sums = scratch + Self.widePanels * WidePanel.sliceBytes / 4
        let sumsOfPanels = input.tileCount * Self.widePanels * IntegerTile.resultFloats
        // A slice comes from the L3 cache for the first panels and from the L2 cache for the others.
        for (slice, block) in stride(from: 0, to: blocks, by: blocksAtOnce).enumerated() {
            let blockCount = min(blocksAtOnce, blocks - block)
            for (turn, first) in stride(from: groups.lowerBound, to: groups.upperBound, by: Self.widePanels)
                .enumerated()
            {
                let count = min(Self.widePanels, groups.upperBound - first)
                for index in 0..<count {
                    kernels.unpackPanel(
                        layout, weights.group(first + index) + block * layout.blockBytes, blockCount,
                        panels + index * WidePanel.sliceBytes)
                }
                for index in 0..<input.tileCount {
                    let tile = input[index]
                    kernels.multiplyTile(
                        TileProduct(
                            layout: layout, tile: tile.base + slice * tile.sliceStride, columns: tile.columns,
                            pairs: tile.pairs, panels: panels, panelBytes: WidePanel.sliceBytes, panelCount: count,
                            parts: blockCount * layout.parts,
                            c: sums + turn * sumsOfPanels + index * count * IntegerTile.resultFloats,
                            tokens: tile.tokens.count, accumulate: block > 0))
                }
            }
        }
        for (turn, first) in stride(from: groups.lowerBound, to: groups.upperBound, by: Self.widePanels).enumerated() {
            let count = min(Self.widePanels, groups.upperBound - first)
            for index in 0..<input.tileCount {
                let results = sums + turn * sumsOfPanels + index * count * IntegerTile.resultFloats
                for (place, token) in input[index].tokens.enumerated() {
                    kernels.scaleResults(
                        results + place * PackedLayout.rows, IntegerTile.resultFloats, count, input.scales[token],
                        output[token] + first * PackedLayout.rows)
                }
            }
        }
    }
}
