import KernelFormats

/// Products of packed weights and activations in `WideTile`s, of AVX-512 and AVX-VNNI.
final class WideScheme: ProductScheme {
    fileprivate let kernels: WideKernels

    init(_ kernels: WideKernels) { self.kernels = kernels }

    func takes(_ weights: WeightMatrix) -> Bool { weights.packed != nil }
    func needsExactRows(_ weights: WeightMatrix) -> Bool { false }
    var boundsSplitWeights: Bool { true }

    func layOut(_ input: ProductInput, allExact: Bool) -> any Activations {
        WideActivations(input.matrix, paired: input.isSensitive ? input.matrix.rows : input.exactRows, self)
    }

    func blockRows(_ weights: WeightMatrix, inputRows: Int, threads: Int) -> Int {
        PanelProduct.blockRows(weights, threads: threads)
    }
}

/// Activations in `WideTile`s: first the tokens with two columns each (15 bits), then the others (8 bits).
struct WideActivations: Activations {
    let matrix: Matrix
    private let scheme: WideScheme
    /// Whether tiles are multiplied by packed weights without unpacking them to memory. All tokens have 15 bits then, and
    /// the slices of a tile are contiguous; else a slice of all tiles is.
    private let isStreamed: Bool
    let tileCount: Int
    private let sliceCount: Int
    /// Number of tokens with 15 bits, in two columns each.
    private let pairedTokens: Int
    private let pairedTiles: Int
    private let pairsOfTile: Int
    private var memory: UnsafeMutableRawPointer?

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

    /// - Parameter paired: Number of tokens with 15 bits.
    init(_ matrix: Matrix, paired: Int, _ scheme: WideScheme) {
        self.matrix = matrix
        self.scheme = scheme
        let tokens = matrix.rows
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
        sliceCount = (matrix.columns + WideTile.sliceColumns - 1) / WideTile.sliceColumns
    }

    private static func tiles(_ tokens: Int, of size: Int) -> Int { (tokens + size - 1) / size }

    private var slotBytes: Int {
        WideTile.sliceBytes * (isStreamed ? WideTile.streamedColumns(pairsOfTile) : WideTile.columns)
    }

    /// The scales come first, `[tokens]` powers of two.
    private var scaleBytes: Int { (4 * matrix.rows + 63) / 64 * 64 }
    private var scales: UnsafeMutablePointer<Float> { memory!.assumingMemoryBound(to: Float.self) }

    var bytes: Int { scaleBytes + tileCount * sliceCount * slotBytes }
    mutating func place(at memory: UnsafeMutableRawPointer) { self.memory = memory }

    var streamsWeights: Bool { isStreamed && tileCount == 1 }
    var valuesPerWeight: (floats: Int, bytes: Int) { (0, matrix.rows + pairedTokens) }

    subscript(index: Int) -> Tile {
        let pairs = index < pairedTiles
        let size = pairs ? pairsOfTile : WideTile.columns
        let first = pairs ? index * size : pairedTokens + (index - pairedTiles) * size
        let end = min(first + size, pairs ? pairedTokens : matrix.rows)
        let count = end - first
        let columns = isStreamed ? WideTile.streamedColumns(count) : pairs ? 2 * count : (count + 1) & ~1
        return Tile(
            base: memory! + scaleBytes + index * slotBytes * (isStreamed ? sliceCount : 1),
            sliceStride: isStreamed ? WideTile.sliceBytes * columns : tileCount * slotBytes, tokens: first..<end,
            pairs: pairs, columns: columns)
    }

    /// The number of tiles that have the shape of tile `index`, with it and those that follow. Their slices are contiguous
    /// if tiles are not streamed.
    private func tilesOfShape(from index: Int) -> Int {
        let tile = self[index]
        let tokens = (tile.pairs ? pairedTokens : matrix.rows) - tile.tokens.lowerBound
        return max(1, tokens / (tile.pairs ? pairsOfTile : WideTile.columns))
    }

    var items: Int { tileCount }

    /// Quantizes the rows that a tile holds.
    func fill(_ index: Int) {
        let tile = self[index]
        @inline(__always)
        func round(_ token: Int, _ column: Int) -> Float {
            scheme.kernels.roundToken(
                matrix[token], matrix.columns, tile.pairs, tile.base, tile.sliceStride, tile.columns, column,
                matrix[min(token + 1, matrix.rows - 1)])
        }
        for (place, token) in tile.tokens.enumerated() { scales[token] = round(token, tile.pairs ? 2 * place : place) }
        // Kernels read the numbers of a last column or pair that no token has, places in a panel among them.
        let width = tile.pairs ? 2 : 1
        if width * tile.tokens.count < tile.columns { _ = round(tile.tokens.upperBound - 1, tile.columns - width) }
    }

    private static let mostPanels = 4

    /// - Parameter panels: Those that stay in the L1 cache with a tile.
    private func panelProduct(panels: Int) -> PanelProduct {
        PanelProduct(
            columns: matrix.columns, sliceColumns: WideTile.sliceColumns, tiles: tileCount, panels: panels,
            panelBytes: WidePanel.sliceBytes)
    }

    var scratchFloats: Int { isStreamed ? 0 : panelProduct(panels: Self.mostPanels).scratchFloats }

    func multiply(
        by weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
    ) {
        guard let weights = weights.packed else { return }
        let groups = rows.lowerBound / PackedLayout.rows..<rows.upperBound / PackedLayout.rows
        if isStreamed {
            for index in 0..<tileCount { multiply(self[index], by: weights, groups, into: output) }
        } else {
            multiplyPanels(by: weights, groups, into: output, scratch)
        }
    }

    private func multiply(
        _ tile: Tile, by weights: PackedWeights, _ groups: Range<Int>, bounds: UnsafePointer<Float>? = nil,
        into output: Matrix
    ) {
        scheme.kernels.multiplyTokens(
            PackedProduct(
                layout: weights.layout, tile: tile.base, tokens: tile.tokens.count,
                scales: scales + tile.tokens.lowerBound, weights: weights.group(groups.lowerBound),
                groups: groups.count, blocks: weights.columns / weights.layout.type.blockValues,
                c: output[tile.tokens.lowerBound] + groups.lowerBound * PackedLayout.rows, cStride: output.stride,
                trailing: weights.trailing(groups.lowerBound), bounds: bounds))
    }

    private func multiplyPanels(
        by weights: PackedWeights, _ groups: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
    ) {
        let kernels = scheme.kernels
        let layout = weights.layout
        // With all multiples of its scales, a panel has 8 KiB, or 12 KiB if 32 columns have two.
        let product = panelProduct(panels: layout.segments == 2 ? 2 : Self.mostPanels)
        product.run(
            groups, into: output, scratch,
            unpack: { group, slice, panel in
                let blocks = weights.blocks(product.columns(ofSlice: slice), ofGroup: group)
                kernels.unpackPanel(layout, blocks.base, blocks.trailing, blocks.count, panel)
            },
            multiply: { slice, panels, count, results, destination in
                var index = 0
                while index < tileCount {
                    let tile = self[index], tiles = tilesOfShape(from: index)
                    kernels.multiplyTiles(
                        WideProduct(
                            layout: layout, tiles: tile.base + slice * tile.sliceStride, tileCount: tiles,
                            columns: tile.columns, pairs: tile.pairs, panels: panels, panelCount: count,
                            parts: product.columns(ofSlice: slice).count / PackedLayout.columns,
                            c: results + index * count * PanelProduct.resultFloats, accumulate: slice > 0,
                            destination: destination.advanced(by: tile.tokens.lowerBound)))
                    index += tiles
                }
            },
            copyOut: { index, firstGroup, count, results in
                for (place, token) in self[index].tokens.enumerated() {
                    kernels.scaleResults(
                        results + place * PackedLayout.rows, PanelProduct.resultFloats, count, scales[token],
                        output[token] + firstGroup * PackedLayout.rows)
                }
            })
    }
}

extension WideActivations: BoundingActivations {
    var isFinite: Bool { (0..<matrix.rows).allSatisfy { scales[$0].isFinite } }

    var boundsPerBlock: Int { self[0].columns }

    func multiply(
        by weights: PackedWeights, groups: Range<Int>, bounds: UnsafePointer<Float>?, into output: Matrix
    ) {
        multiply(self[0], by: weights, groups, bounds: bounds, into: output)
    }

    func fillBounds(_ bounds: UnsafeMutablePointer<Float>) {
        let tile = self[0]
        let blocks = matrix.columns / PackedLayout.columns
        let columns = tile.columns
        bounds.update(repeating: 0, count: blocks * columns)
        for block in 0..<blocks {
            let slice = tile.base + block / WideTile.sliceParts * tile.sliceStride
            let part = block % WideTile.sliceParts
            for column in stride(from: 0, to: 2 * tile.tokens.count, by: 2) {
                var (sum, magnitude) = (0, 0)
                for step in 0..<8 {
                    let codes = slice + 4 * ((8 * part + step) * columns + column)
                    for index in 0..<4 {
                        let first = codes.load(fromByteOffset: index, as: Int8.self)
                        let second = codes.load(fromByteOffset: 4 + index, as: Int8.self)
                        let code = Int(first) << WideTile.pairShift + Int(second)
                        sum += code
                        magnitude += abs(code)
                    }
                }
                let factor = (slice + WideTile.factors * columns + 4 * (part * columns + column)).load(as: Float.self)
                bounds[block * columns + column + 1] = splitBound(
                    ofCodes: sum, magnitude, scale: factor, blocks: blocks)
            }
        }
    }
}
