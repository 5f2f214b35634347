import KernelFormats

/// Quantized activations in tiles: first the tokens with two columns each (14 bits), then the others (8 bits).
struct RoundedActivations {
    let base: UnsafeMutableRawPointer
    /// Whether its tiles are for `multiplyTokens`; all tokens have 14 bits then.
    let isFew: Bool
    let tokens: Int
    let tiles: Tiling
    /// Number of tokens quantized to 14 bits.
    var pairedTokens: Int { tiles.pairedTokens }

    /// How tokens are distributed over tiles.
    struct Tiling {
        /// Number of tokens quantized to 14 bits; those after them are quantized to 8.
        let pairedTokens: Int
        fileprivate let pairsOfTile: Int
        fileprivate let partCount: Int
        /// Indices of the tiles of tokens with 14 bits, and with 8.
        let paired: Range<Int>
        let single: Range<Int>

        fileprivate init(tokens: Int, paired: Int, columns: Int, pairsOfTile: Int) {
            pairedTokens = paired
            self.pairsOfTile = pairsOfTile
            partCount = columns / PackedLayout.columns
            self.paired = 0..<Self.count(paired, of: pairsOfTile)
            single =
                self.paired.upperBound..<self.paired.upperBound + Self.count(tokens - paired, of: IntegerTile.columns)
        }

        private static func count(_ tokens: Int, of size: Int) -> Int { (tokens + size - 1) / size }

        var count: Int { single.upperBound }
        var bytes: Int { offset(of: count) }

        fileprivate func offset(of tile: Int) -> Int {
            let before = min(tile, paired.upperBound)
            let pairBytes = IntegerTile.blockBytes(columns: 2 * pairsOfTile)
            return partCount
                * (before * pairBytes + (tile - before) * IntegerTile.blockBytes(columns: IntegerTile.columns))
        }
    }

    struct Tile {
        let base: UnsafeMutableRawPointer
        let tokens: Range<Int>
        let pairs: Bool
        /// Columns of the tile: for as many tokens as it has, or one more to make them even.
        let columns: Int
    }

    /// - Parameter paired: Number of tokens quantized to 14 bits.
    static func tiling(tokens: Int, paired: Int, columns: Int, _ kernels: ProductKernels) -> (Tiling, isFew: Bool) {
        let isFew = paired == tokens && tokens <= kernels.fewTokens
        return (
            Tiling(
                tokens: tokens, paired: paired, columns: columns,
                pairsOfTile: isFew ? kernels.pairsOfRow : kernels.pairsOfTile), isFew
        )
    }

    init(_ base: UnsafeMutableRawPointer, tokens: Int, paired: Int, columns: Int, _ kernels: ProductKernels) {
        self.base = base
        self.tokens = tokens
        (tiles, isFew) = Self.tiling(tokens: tokens, paired: paired, columns: columns, kernels)
    }

    subscript(index: Int) -> Tile {
        let pairs = tiles.paired.contains(index)
        let size = pairs ? tiles.pairsOfTile : IntegerTile.columns
        let first = pairs ? index * size : tiles.pairedTokens + (index - tiles.single.lowerBound) * size
        let count = min(size, (pairs ? tiles.pairedTokens : tokens) - first)
        let even = isFew || tiles.pairsOfTile % 2 == 1 && pairs ? count : (count + 1) & ~1
        return Tile(
            base: base + tiles.offset(of: index), tokens: first..<first + count, pairs: pairs,
            columns: pairs ? 2 * even : even)
    }

    /// Quantizes the rows of `input` that a tile holds.
    func fill(_ index: Int, from input: Matrix, _ kernels: ProductKernels) {
        let tile = self[index]
        for (place, token) in tile.tokens.enumerated() {
            kernels.roundToken(
                input[token], input.columns, tile.pairs, tile.base, tile.columns, tile.pairs ? 2 * place : place)
        }
    }
}

extension Compute {
    /// Columns per inner loop.
    private static let depth = 256
    /// Bytes of panels that stay in the L1 cache with a tile: four for tokens of 8 bits, 6 KiB each.
    private static let panelBytes = 4 * depth / PackedLayout.columns * IntegerPanel.blockBytes(segments: 2)

    func integerScratch(tiles: Int) -> Int { Self.panelBytes / 4 + 4 * tiles * IntegerTile.resultFloats }

    /// Computes columns `rows` of the product, a multiple of 16.
    func multiplyPacked(
        _ input: RoundedActivations, _ weights: PackedWeights, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: ProductKernels
    ) {
        let groups = rows.lowerBound / PackedLayout.rows..<rows.upperBound / PackedLayout.rows
        guard input.isFew else {
            let (paired, single) = (input.tiles.paired, input.tiles.single)
            multiplyTiles(paired, pairs: true, of: input, weights, groups, into: output, scratch, kernels)
            multiplyTiles(single, pairs: false, of: input, weights, groups, into: output, scratch, kernels)
            return
        }
        let blocks = weights.columns / weights.layout.type.blockValues
        // One after the other with each group, which is in the cache for all tiles but the first.
        let groupsAtOnce = input.tiles.count == 1 ? groups.count : 1
        for first in stride(from: groups.lowerBound, to: groups.upperBound, by: groupsAtOnce) {
            for index in input.tiles.paired {
                let tile = input[index]
                kernels.multiplyTokens(
                    weights.layout, tile.base, tile.tokens.count, weights.group(first), blocks, groupsAtOnce,
                    output[tile.tokens.lowerBound] + first * PackedLayout.rows, output.stride)
            }
        }
    }

    /// Multiplies tiles by panels of unpacked weights.
    ///
    /// Results are collected in the worker's scratch, which stays in its L2 cache: rows of `output` are often a
    /// power of two apart and would evict each other.
    private func multiplyTiles(
        _ tiles: Range<Int>, pairs: Bool, of input: RoundedActivations, _ weights: PackedWeights,
        _ groups: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>, _ kernels: ProductKernels
    ) {
        guard !tiles.isEmpty else { return }
        let layout = weights.layout
        let blocks = weights.columns / layout.type.blockValues
        let blocksAtOnce = Self.depth / layout.type.blockValues
        let panelBytes =
            Self.depth / PackedLayout.columns
            * (pairs ? kernels.pairPanelBytes(layout.segments) : IntegerPanel.blockBytes(segments: layout.segments))
        // With few tiles, only as many panels as a kernel takes at a time.
        let groupsAtOnce = tiles.count > 2 ? min(4, Self.panelBytes / panelBytes) : 2
        let panels = UnsafeMutableRawPointer(scratch)
        let sums = scratch + Self.panelBytes / 4
        for first in stride(from: groups.lowerBound, to: groups.upperBound, by: groupsAtOnce) {
            let count = min(groupsAtOnce, groups.upperBound - first)
            for block in stride(from: 0, to: blocks, by: blocksAtOnce) {
                let blockCount = min(blocksAtOnce, blocks - block)
                for index in 0..<count {
                    kernels.unpackPanel(
                        layout, weights.group(first + index) + block * layout.blockBytes, blockCount,
                        panels + index * panelBytes, pairs)
                }
                for (place, tileIndex) in tiles.enumerated() {
                    let tile = input[tileIndex]
                    let codes = tile.base + block * layout.parts * IntegerTile.blockBytes(columns: tile.columns)
                    kernels.multiplyTile(
                        TileProduct(
                            layout: layout, tile: codes, columns: tile.columns, pairs: tile.pairs, panels: panels,
                            panelBytes: panelBytes, panelCount: count, parts: blockCount * layout.parts,
                            c: sums + place * count * IntegerTile.resultFloats, tokens: tile.tokens.count,
                            accumulate: block > 0))
                }
            }
            for (place, tileIndex) in tiles.enumerated() {
                for (row, token) in input[tileIndex].tokens.enumerated() {
                    for index in 0..<count {
                        let source = sums + (place * count + index) * IntegerTile.resultFloats
                        (output[token] + (first + index) * PackedLayout.rows).update(
                            from: source + row * PackedLayout.rows, count: PackedLayout.rows)
                    }
                }
            }
        }
    }
}
