import KernelFormats

/// Rows of prompts in `WordTile`s, for products with weights in F16 and BF16.
struct WordActivations {
    private let matrix: Matrix
    /// The rows of the input.
    let rows: Range<Int>
    let tileCount: Int
    private let sliceCount: Int
    private var memory: UnsafeMutableRawPointer?

    init(_ matrix: Matrix, rows: Range<Int>) {
        self.matrix = matrix
        self.rows = rows
        tileCount = (rows.count + WordTile.tokens - 1) / WordTile.tokens
        sliceCount = (matrix.columns + WordTile.sliceColumns - 1) / WordTile.sliceColumns
    }

    /// The scales come first, `[rows]` powers of two.
    private var scaleBytes: Int { (4 * rows.count + 63) / 64 * 64 }
    private var scales: UnsafeMutablePointer<Float> { memory!.assumingMemoryBound(to: Float.self) }

    var bytes: Int { scaleBytes + sliceCount * sliceStride }
    mutating func place(at memory: UnsafeMutableRawPointer) { self.memory = memory }

    /// Whether weights have products of this kind.
    static func areRead(by weights: PackedFloatWeights) -> Bool { weights.type != .F32 && weights.columns % 2 == 0 }

    private var sliceStride: Int { tileCount * WordTile.sliceBytes }

    private func tile(_ index: Int, slice: Int) -> UnsafeMutableRawPointer {
        memory! + scaleBytes + slice * sliceStride + index * WordTile.sliceBytes
    }

    /// Places of a tile's rows in `rows`.
    private func places(ofTile index: Int) -> Range<Int> {
        index * WordTile.tokens..<min((index + 1) * WordTile.tokens, rows.count)
    }

    /// Quantizes the rows that a tile holds.
    func fill(_ index: Int, _ kernels: WordKernels) {
        for (token, place) in places(ofTile: index).enumerated() {
            scales[place] = kernels.roundWords(
                matrix[rows.lowerBound + place], matrix.columns, tile(index, slice: 0), sliceStride, token)
        }
    }

    /// A product of which two panels stay in the L1 cache.
    private var product: PanelProduct {
        PanelProduct(
            columns: matrix.columns, sliceColumns: WordTile.sliceColumns, tiles: tileCount, panels: 2,
            panelBytes: WordPanel.sliceBytes)
    }

    var scratchFloats: Int { product.scratchFloats }

    /// Computes columns `outputs` of the product, a multiple of 16, for `rows`.
    func multiply(
        by weights: PackedFloatWeights, _ outputs: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: WordKernels
    ) {
        let product = product
        product.run(
            outputs.lowerBound / PackedFloats.rows..<outputs.upperBound / PackedFloats.rows, into: output, scratch,
            unpack: { group, slice, panel in
                let part = product.columns(ofSlice: slice)
                kernels.unpackWords(
                    weights.type,
                    weights.group(group) + part.lowerBound * PackedFloats.rows * weights.type.blockBytes,
                    part.count, panel)
            },
            multiply: { slice, panels, count, results, destination in
                kernels.multiplyWords(
                    WordProduct(
                        tiles: tile(0, slice: slice), tileCount: tileCount, panels: panels,
                        panelCount: count, parts: (product.columns(ofSlice: slice).count + 31) / 32, c: results,
                        accumulate: slice > 0, destination: destination.advanced(by: rows.lowerBound))
                )
            },
            copyOut: { tile, firstGroup, count, results in
                for (token, place) in places(ofTile: tile).enumerated() {
                    kernels.scaleResults(
                        results + token * PackedFloats.rows, PanelProduct.resultFloats, count, scales[place],
                        output[rows.lowerBound + place] + firstGroup * PackedFloats.rows)
                }
            })
    }
}
