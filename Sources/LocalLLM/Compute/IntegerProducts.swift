import KernelFormats

/// Quantized activations in tiles: first the tokens with two columns each (14 bits), then the others (8 bits).
struct RoundedActivations {
    let base: UnsafeMutableRawPointer
    /// Number of tokens quantized to 14 bits; those after them are quantized to 8.
    let pairedTokens: Int
    let tokens: Int
    private let tileBytes: Int
    private let pairedTiles: Int
    let tileCount: Int

    struct Tile {
        let base: UnsafeMutableRawPointer
        let tokens: Range<Int>
        let pairs: Bool

        /// Columns of the tile: an even number, as small as the tokens allow.
        var columns: Int { pairs ? 2 * tokens.count : (tokens.count + 1) & ~1 }
    }

    static func tileBytes(columns: Int) -> Int {
        columns / PackedLayout.columns * IntegerTile.blockBytes(columns: IntegerTile.columns)
    }

    static func tileCount(tokens: Int, paired: Int) -> Int {
        tiles(paired, of: IntegerTile.columns / 2) + tiles(tokens - paired, of: IntegerTile.columns)
    }

    private static func tiles(_ tokens: Int, of size: Int) -> Int { (tokens + size - 1) / size }

    init(_ base: UnsafeMutableRawPointer, tokens: Int, paired: Int, columns: Int) {
        self.base = base
        self.tokens = tokens
        pairedTokens = paired
        tileBytes = Self.tileBytes(columns: columns)
        pairedTiles = Self.tiles(paired, of: IntegerTile.columns / 2)
        tileCount = Self.tileCount(tokens: tokens, paired: paired)
    }

    subscript(index: Int) -> Tile {
        let pairs = index < pairedTiles
        let size = pairs ? IntegerTile.columns / 2 : IntegerTile.columns
        let first = pairs ? index * size : pairedTokens + (index - pairedTiles) * size
        let end = min(first + size, pairs ? pairedTokens : tokens)
        return Tile(base: base + index * tileBytes, tokens: first..<end, pairs: pairs)
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
    /// Columns per inner loop: a panel of 16 rows then takes 5 or 6 KiB.
    private static let depth = 256
    /// Panels per tile that stay in the L1 cache with it.
    private static let panels = 4
    private static let panelBytes = depth / PackedLayout.columns * IntegerPanel.blockBytes(segments: 2)

    func integerScratch(tiles: Int) -> Int {
        Self.panels * (Self.panelBytes / 4 + tiles * IntegerTile.resultFloats)
    }

    /// Computes columns `rows` of the product, a multiple of 16.
    ///
    /// Results are collected in the worker's scratch, which stays in its L2 cache: rows of `output` are often a
    /// power of two apart and would evict each other.
    func multiplyPacked(
        _ input: RoundedActivations, _ weights: PackedWeights, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: ProductKernels
    ) {
        let layout = weights.layout
        let blocks = weights.columns / layout.type.blockValues
        let blocksAtOnce = Self.depth / layout.type.blockValues
        let groups = rows.lowerBound / PackedLayout.rows..<rows.upperBound / PackedLayout.rows
        if input.tokens == 1, input.pairedTokens == 1 {
            for group in groups {
                kernels.multiplyToken(
                    layout, input.base, weights.group(group), blocks, output[0] + group * PackedLayout.rows)
            }
            return
        }
        // With few tiles, only as many panels as a kernel takes at a time.
        let groupsAtOnce = input.tileCount > 2 ? Self.panels : 2
        let panels = UnsafeMutableRawPointer(scratch)
        let sums = scratch + Self.panels * Self.panelBytes / 4
        for first in stride(from: groups.lowerBound, to: groups.upperBound, by: groupsAtOnce) {
            let count = min(groupsAtOnce, groups.upperBound - first)
            for block in stride(from: 0, to: blocks, by: blocksAtOnce) {
                let blockCount = min(blocksAtOnce, blocks - block)
                for index in 0..<count {
                    kernels.unpackPanel(
                        layout, weights.group(first + index) + block * layout.blockBytes, blockCount,
                        panels + index * Self.panelBytes)
                }
                for tileIndex in 0..<input.tileCount {
                    let tile = input[tileIndex]
                    let codes = tile.base + block * layout.parts * IntegerTile.blockBytes(columns: tile.columns)
                    kernels.multiplyTile(
                        TileProduct(
                            layout: layout, tile: codes, columns: tile.columns, pairs: tile.pairs, panels: panels,
                            panelBytes: Self.panelBytes, panelCount: count, parts: blockCount * layout.parts,
                            c: sums + tileIndex * count * IntegerTile.resultFloats, tokens: tile.tokens.count,
                            accumulate: block > 0))
                }
            }
            for tileIndex in 0..<input.tileCount {
                for (place, token) in input[tileIndex].tokens.enumerated() {
                    for index in 0..<count {
                        let source = sums + (tileIndex * count + index) * IntegerTile.resultFloats
                        (output[token] + (first + index) * PackedLayout.rows).update(
                            from: source + place * PackedLayout.rows, count: PackedLayout.rows)
                    }
                }
            }
        }
    }
}
