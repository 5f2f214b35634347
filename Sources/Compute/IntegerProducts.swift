import KernelFormats

/// Products of packed weights and activations in `IntegerTile`s, of AVX2 and NEON.
final class IntegerScheme: ProductScheme {
    fileprivate let kernels: ProductKernels

    init(_ kernels: ProductKernels) { self.kernels = kernels }

    func takes(_ weights: WeightMatrix) -> Bool { weights.packed != nil }

    func needsExactRows(_ weights: WeightMatrix) -> Bool {
        weights.packed.map { kernels.needsPairs($0.layout.format) } ?? false
    }

    var boundsSplitWeights: Bool { kernels.boundsSplitWeights }

    func layOut(_ input: ProductInput, allExact: Bool) -> any Activations {
        RoundedActivations(
            input.matrix, paired: allExact || input.isSensitive ? input.matrix.rows : input.exactRows, self)
    }

    func blockRows(_ weights: WeightMatrix, inputRows: Int, threads: Int) -> Int {
        guard inputRows <= ProductInput.fewRows else { return PanelProduct.blockRows(weights, threads: threads) }
        // Packed weights are in groups of 16 rows, of which tiles take two at a time.
        return ProductInput.blockRows(weights, inputRows: inputRows, unit: inputRows == 1 ? 16 : 32)
    }
}

/// Quantized activations in tiles: first the tokens with two columns each (14 bits), then the others (8 bits).
struct RoundedActivations: Activations {
    let matrix: Matrix
    private let scheme: IntegerScheme
    /// Whether its tiles are for `multiplyTokens`; all tokens have 14 bits then.
    private let isFew: Bool
    private let tiles: Tiling
    private var memory: UnsafeMutableRawPointer?
    /// `[tokens]`, by which results are multiplied. They come before the tiles.
    private var scales: UnsafeMutablePointer<Float> { memory!.assumingMemoryBound(to: Float.self) }

    /// How tokens are distributed over tiles.
    fileprivate struct Tiling {
        /// Number of tokens quantized to 14 bits; those after them are quantized to 8.
        let pairedTokens: Int
        fileprivate let pairsOfTile: Int
        fileprivate let partCount: Int
        private let scaleBytes: Int
        /// Indices of the tiles of tokens with 14 bits, and with 8.
        let paired: Range<Int>
        let single: Range<Int>

        fileprivate init(tokens: Int, paired: Int, columns: Int, pairsOfTile: Int) {
            pairedTokens = paired
            self.pairsOfTile = pairsOfTile
            partCount = columns / PackedLayout.columns
            scaleBytes = (4 * tokens + 63) / 64 * 64
            self.paired = 0..<Self.count(paired, of: pairsOfTile)
            single =
                self.paired.upperBound..<self.paired.upperBound + Self.count(tokens - paired, of: IntegerTile.columns)
        }

        private static func count(_ tokens: Int, of size: Int) -> Int { (tokens + size - 1) / size }

        var count: Int { single.upperBound }
        var bytes: Int { offset(of: count) }

        fileprivate func offset(of tile: Int) -> Int {
            let before = min(tile, paired.upperBound)
            // Each tile has room for several tokens, so one token has room for the bytes behind its blocks (AVX2).
            let pairBytes = IntegerTile.blockBytes(columns: 2 * pairsOfTile)
            return scaleBytes + partCount
                * (before * pairBytes + (tile - before) * IntegerTile.blockBytes(columns: IntegerTile.columns))
        }
    }

    private struct Tile {
        let base: UnsafeMutableRawPointer
        let tokens: Range<Int>
        let pairs: Bool
        /// Columns of the tile: for as many tokens as it has, or one more to make them even.
        let columns: Int
    }

    /// - Parameter paired: Number of tokens quantized to 14 bits.
    fileprivate init(_ matrix: Matrix, paired: Int, _ scheme: IntegerScheme) {
        self.matrix = matrix
        self.scheme = scheme
        let kernels = scheme.kernels
        isFew = paired == matrix.rows && paired <= kernels.fewTokens
        tiles = Tiling(
            tokens: matrix.rows, paired: paired, columns: matrix.columns,
            pairsOfTile: isFew ? kernels.pairsOfRow : kernels.pairsOfTile)
    }

    var bytes: Int { tiles.bytes }
    mutating func place(at memory: UnsafeMutableRawPointer) { self.memory = memory }

    var streamsWeights: Bool { isFew && tiles.count == 1 }
    var valuesPerWeight: (floats: Int, bytes: Int) { (0, matrix.rows + tiles.pairedTokens) }

    private subscript(index: Int) -> Tile {
        let pairs = tiles.paired.contains(index)
        let size = pairs ? tiles.pairsOfTile : IntegerTile.columns
        let first = pairs ? index * size : tiles.pairedTokens + (index - tiles.single.lowerBound) * size
        let count = min(size, (pairs ? tiles.pairedTokens : matrix.rows) - first)
        let even = isFew || tiles.pairsOfTile % 2 == 1 && pairs ? count : (count + 1) & ~1
        return Tile(
            base: memory! + tiles.offset(of: index), tokens: first..<first + count, pairs: pairs,
            columns: pairs ? 2 * even : even)
    }

    var items: Int { tiles.count }

    /// Quantizes the rows that a tile holds.
    func fill(_ index: Int) {
        let tile = self[index]
        for (place, token) in tile.tokens.enumerated() {
            scales[token] = scheme.kernels.roundToken(
                matrix[token], matrix.columns, tile.pairs, tile.base, tile.columns, tile.pairs ? 2 * place : place)
        }
    }

    /// Columns per inner loop.
    private static let depth = 256
    /// Bytes of panels that stay in the L1 cache with a tile: four for tokens of 8 bits, 6 KiB each.
    private static let panelBytes = 4 * depth / PackedLayout.columns * IntegerPanel.blockBytes(segments: 2)

    var scratchFloats: Int {
        Self.panelBytes / 4 + PanelProduct.rows / PackedLayout.rows * tiles.count * PanelProduct.resultFloats
    }

    func multiply(
        by weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
    ) {
        guard let weights = weights.packed else { return }
        let groups = rows.lowerBound / PackedLayout.rows..<rows.upperBound / PackedLayout.rows
        guard isFew else {
            multiplyTiles(tiles.paired, pairs: true, by: weights, groups, into: output, scratch)
            multiplyTiles(tiles.single, pairs: false, by: weights, groups, into: output, scratch)
            return
        }
        // One after the other with each group, which is in the cache for all tiles but the first.
        let groupsAtOnce = tiles.count == 1 ? groups.count : 1
        for first in stride(from: groups.lowerBound, to: groups.upperBound, by: groupsAtOnce) {
            for index in tiles.paired {
                multiply(self[index], by: weights, first..<first + groupsAtOnce, into: output)
            }
        }
    }

    private func multiply(
        _ tile: Tile, by weights: PackedWeights, _ groups: Range<Int>, bounds: UnsafePointer<Float>? = nil,
        into output: Matrix
    ) {
        scheme.kernels.multiplyTokens(
            PackedProduct(
                layout: weights.layout, tile: tile.base, tokens: tile.tokens.count, scales: nil,
                weights: weights.group(groups.lowerBound), groups: groups.count,
                blocks: weights.columns / weights.layout.type.blockValues,
                c: output[tile.tokens.lowerBound] + groups.lowerBound * PackedLayout.rows, cStride: output.stride,
                trailing: weights.trailing(groups.lowerBound), bounds: bounds))
    }

    /// Multiplies tiles by panels of unpacked weights.
    private func multiplyTiles(
        _ tiles: Range<Int>, pairs: Bool, by weights: PackedWeights, _ groups: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        guard !tiles.isEmpty else { return }
        let kernels = scheme.kernels
        let layout = weights.layout
        let panelBytes =
            Self.depth / PackedLayout.columns
            * (pairs ? kernels.pairPanelBytes(layout.segments) : IntegerPanel.blockBytes(segments: layout.segments))
        let product = PanelProduct(
            columns: weights.columns, sliceColumns: Self.depth, tiles: tiles.count,
            // With few tiles, only as many panels as a kernel takes at a time.
            panels: tiles.count > 2 ? min(4, Self.panelBytes / panelBytes) : 2, panelBytes: panelBytes)
        product.run(
            groups, into: output, scratch,
            unpack: { group, slice, panel in
                let blocks = weights.blocks(product.columns(ofSlice: slice), ofGroup: group)
                kernels.unpackPanel(layout, blocks.base, blocks.trailing, blocks.count, panel, pairs)
            },
            multiply: { slice, panels, count, results, destination in
                let columns = product.columns(ofSlice: slice)
                let firstPart = columns.lowerBound / PackedLayout.columns
                for (place, index) in tiles.enumerated() {
                    let tile = self[index]
                    let blockBytes = IntegerTile.blockBytes(columns: tile.columns)
                    kernels.multiplyTile(
                        TileProduct(
                            layout: layout, tile: tile.base + firstPart * blockBytes,
                            tileStride: weights.columns / PackedLayout.columns * blockBytes, columns: tile.columns,
                            pairs: tile.pairs, panels: panels, panelBytes: panelBytes,
                            panelCount: count, parts: columns.count / PackedLayout.columns,
                            c: results + place * count * PanelProduct.resultFloats, tokens: tile.tokens.count,
                            accumulate: slice > 0,
                            destination: destination.advanced(by: tile.tokens.lowerBound)))
                }
            },
            copyOut: { place, firstGroup, count, results in
                for (row, token) in self[tiles.lowerBound + place].tokens.enumerated() {
                    let source = results + row * PackedLayout.rows
                    let target = output[token] + firstGroup * PackedLayout.rows
                    if let scaleResults = kernels.scaleResults {
                        scaleResults(source, PanelProduct.resultFloats, count, scales[token], target)
                        continue
                    }
                    for index in 0..<count {
                        (target + index * PackedLayout.rows).update(
                            from: source + index * PanelProduct.resultFloats, count: PackedLayout.rows)
                    }
                }
            })
    }
}

extension RoundedActivations: BoundingActivations {
    /// Each block of 32 columns of the first tile.
    private func forEachBlock(_ body: (_ index: Int, _ codes: UnsafeMutableRawPointer) -> Void) {
        let tile = self[0]
        for block in 0..<matrix.columns / PackedLayout.columns {
            body(block, tile.base + block * IntegerTile.blockBytes(columns: tile.columns))
        }
    }

    /// The scale of a token in a block.
    private func scale(_ token: Int, _ codes: UnsafeMutableRawPointer) -> Float {
        codes.load(fromByteOffset: 32 * boundsPerBlock + 8 * token, as: Float.self)
    }

    var isFinite: Bool {
        var isFinite = true
        forEachBlock { _, codes in
            for token in 0..<matrix.rows where !scale(token, codes).isFinite { isFinite = false }
        }
        return isFinite
    }

    var boundsPerBlock: Int { self[0].columns }

    func multiply(
        by weights: PackedWeights, groups: Range<Int>, bounds: UnsafePointer<Float>?, into output: Matrix
    ) {
        multiply(self[0], by: weights, groups, bounds: bounds, into: output)
    }

    func fillBounds(_ bounds: UnsafeMutablePointer<Float>) {
        let columns = boundsPerBlock
        bounds.update(repeating: 0, count: matrix.columns / PackedLayout.columns * columns)
        forEachBlock { block, codes in
            for token in 0..<matrix.rows {
                var (sum, magnitude) = (0, 0)
                for word in 0..<16 {
                    let pair = codes + 2 * columns * word + 4 * token
                    for offset in [0, 2] {
                        let code = Int(pair.load(fromByteOffset: offset, as: Int16.self))
                        sum += code
                        magnitude += abs(code)
                    }
                }
                bounds[block * columns + 2 * token + 1] = splitBound(
                    ofCodes: sum, magnitude, scale: scale(token, codes), blocks: matrix.columns / PackedLayout.columns)
            }
        }
    }
}
