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

    /// Number of tokens of a step up to which tiles are streamed.
    static let mostStreamed = 16

    /// - Parameters:
    ///   - base: `bytes` bytes at a cache line; `nil` to compute `bytes`.
    ///   - paired: Number of tokens with 15 bits.
    ///   - columns: Columns of the matrix.
    init(_ base: UnsafeMutableRawPointer?, tokens: Int, paired: Int, columns: Int) {
        self.tokens = tokens
        pairedTokens = paired
        isStreamed = paired == tokens && tokens <= Self.mostStreamed
        if isStreamed {
            // As even as possible: six and six rather than eight and four.
            let tiles = Self.tiles(tokens, of: WideTile.streamedTokens)
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

    private var slotBytes: Int {
        WideTile.sliceBytes * (isStreamed ? WideTile.streamedColumns(pairsOfTile) : WideTile.columns)
    }

    var bytes: Int { slices + tileCount * sliceCount * slotBytes - UnsafeMutableRawPointer(scales) }

    subscript(index: Int) -> Tile {
        let pairs = index < pairedTiles
        let size = pairs ? pairsOfTile : WideTile.columns
        let first = pairs ? index * size : pairedTokens + (index - pairedTiles) * size
        let end = min(first + size, pairs ? pairedTokens : tokens)
        let count = end - first
        let columns = isStreamed ? WideTile.streamedColumns(count) : pairs ? 2 * count : (count + 1) & ~1
        return Tile(
            base: slices + index * slotBytes * (isStreamed ? sliceCount : 1),
            sliceStride: isStreamed ? WideTile.sliceBytes * columns : tileCount * slotBytes, tokens: first..<end,
            pairs: pairs, columns: columns)
    }

    /// The number of tiles that have the shape of tile `index`, with it and those that follow. Their slices are contiguous
    /// if tiles are not streamed.
    func tilesOfShape(from index: Int) -> Int {
        let tile = self[index]
        let tokens = (tile.pairs ? pairedTokens : self.tokens) - tile.tokens.lowerBound
        return max(1, tokens / (tile.pairs ? pairsOfTile : WideTile.columns))
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
        // Kernels read the numbers of a last column or pair that no token has, places in a panel among them.
        let width = tile.pairs ? 2 : 1
        if width * tile.tokens.count < tile.columns { _ = round(tile.tokens.upperBound - 1, tile.columns - width) }
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

    func wideScratch(_ input: WideActivations) -> Int {
        guard !input.isStreamed else { return 0 }
        return panelProduct(input, slices: 0).scratchFloats(groups: WideActivations.panelRows / PackedLayout.rows)
    }

    private func panelProduct(_ input: WideActivations, slices: Int) -> PanelProduct {
        PanelProduct(
            slices: slices, tiles: input.tileCount, panels: Self.widePanels, panelBytes: WidePanel.sliceBytes)
    }

    /// Computes columns `rows` of the product, a multiple of 16.
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
                    c: output[tile.tokens.lowerBound] + firstRow, cStride: output.stride,
                    trailing: weights.trailing(groups.lowerBound)))
        }
    }

    private func multiplyPanels(
        _ input: WideActivations, _ weights: PackedWeights, _ groups: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: WideKernels
    ) {
        let layout = weights.layout
        let blocks = weights.columns / layout.type.blockValues
        let blocksOfSlice = WideTile.sliceColumns / layout.type.blockValues
        @inline(__always)
        func blockCount(_ slice: Int) -> Int { min(blocksOfSlice, blocks - slice * blocksOfSlice) }
        panelProduct(input, slices: (blocks + blocksOfSlice - 1) / blocksOfSlice).run(
            groups, scratch,
            unpack: { group, slice, panel in
                let first = slice * blocksOfSlice
                kernels.unpackPanel(
                    layout, weights.group(group) + first * layout.blockBytes,
                    weights.trailing(group).map { $0 + first * PackedLayout.trailingBytes }, blockCount(slice), panel)
            },
            multiply: { slice, panels, count, results in
                var index = 0
                while index < input.tileCount {
                    let tile = input[index], tiles = input.tilesOfShape(from: index)
                    kernels.multiplyTiles(
                        WideProduct(
                            layout: layout, tiles: tile.base + slice * tile.sliceStride, tileCount: tiles,
                            columns: tile.columns, pairs: tile.pairs, panels: panels, panelCount: count,
                            parts: blockCount(slice) * layout.parts,
                            c: results + index * count * PanelProduct.resultFloats, accumulate: slice > 0))
                    index += tiles
                }
            },
            copyOut: { index, firstGroup, count, results in
                for (place, token) in input[index].tokens.enumerated() {
                    kernels.scaleResults(
                        results + place * PackedLayout.rows, PanelProduct.resultFloats, count, input.scales[token],
                        output[token] + firstGroup * PackedLayout.rows)
                }
            })
    }
}
