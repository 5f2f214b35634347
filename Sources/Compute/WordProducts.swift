import KernelFormats

/// Rows of prompts in `WordTile`s, for products with weights in F16 and BF16.
struct WordActivations {
    /// The rows of the input.
    let rows: Range<Int>
    let tileCount: Int
    /// `[rows]` powers of two.
    let scales: UnsafeMutablePointer<Float>
    private let slices: UnsafeMutableRawPointer
    private let sliceCount: Int

    /// - Parameters:
    ///   - base: `bytes` bytes at a cache line; `nil` to compute `bytes`.
    ///   - columns: Columns of the matrix.
    init(_ base: UnsafeMutableRawPointer?, rows: Range<Int>, columns: Int) {
        self.rows = rows
        tileCount = (rows.count + WordTile.tokens - 1) / WordTile.tokens
        sliceCount = (columns + WordTile.sliceColumns - 1) / WordTile.sliceColumns
        let base = base ?? UnsafeMutableRawPointer(bitPattern: 64)!
        scales = base.assumingMemoryBound(to: Float.self)
        slices = base + (4 * rows.count + 63) / 64 * 64
    }

    /// Whether weights have products of this kind.
    static func areRead(by weights: WeightMatrix) -> Bool {
        weights.packedFloats.map { $0.type != .F32 && $0.columns % 2 == 0 } ?? false
    }

    private var sliceStride: Int { tileCount * WordTile.sliceBytes }

    var bytes: Int { slices + sliceCount * sliceStride - UnsafeMutableRawPointer(scales) }

    func tile(_ index: Int, slice: Int) -> UnsafeMutableRawPointer {
        slices + slice * sliceStride + index * WordTile.sliceBytes
    }

    /// Places of a tile's rows in `rows`.
    func places(ofTile index: Int) -> Range<Int> {
        index * WordTile.tokens..<min((index + 1) * WordTile.tokens, rows.count)
    }

    /// Quantizes the rows of `input` that a tile holds.
    func fill(_ index: Int, from input: Matrix, _ kernels: WordKernels) {
        for (token, place) in places(ofTile: index).enumerated() {
            scales[place] = kernels.roundWords(
                input[rows.lowerBound + place], input.columns, tile(index, slice: 0), sliceStride, token)
        }
    }

    /// A product of which two panels stay in the L1 cache.
    fileprivate var product: PanelProduct {
        PanelProduct(slices: sliceCount, tiles: tileCount, panels: 2, panelBytes: WordPanel.sliceBytes)
    }

    var scratchFloats: Int { product.scratchFloats(groups: FloatActivations.panelRows / PackedFloats.rows) }
}

extension Compute {
    /// Computes columns `rows` of the product, a multiple of 16, for the rows of `input`.
    func multiplyWords(
        _ input: WordActivations, _ weights: PackedFloatWeights, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: WordKernels
    ) {
        @inline(__always)
        func columns(_ slice: Int) -> Range<Int> {
            let first = slice * WordTile.sliceColumns
            return first..<min(first + WordTile.sliceColumns, weights.columns)
        }
        input.product.run(
            rows.lowerBound / PackedFloats.rows..<rows.upperBound / PackedFloats.rows, scratch,
            unpack: { group, slice, panel in
                let columns = columns(slice)
                kernels.unpackWords(
                    weights.type,
                    weights.group(group) + columns.lowerBound * PackedFloats.rows * weights.type.blockBytes,
                    columns.count, panel)
            },
            multiply: { slice, panels, count, results in
                kernels.multiplyWords(
                    WordProduct(
                        tiles: input.tile(0, slice: slice), tileCount: input.tileCount, panels: panels,
                        panelCount: count, parts: (columns(slice).count + 31) / 32, c: results, accumulate: slice > 0))
            },
            copyOut: { tile, firstGroup, count, results in
                for (token, place) in input.places(ofTile: tile).enumerated() {
                    kernels.scaleResults(
                        results + token * PackedFloats.rows, PanelProduct.resultFloats, count, input.scales[place],
                        output[input.rows.lowerBound + place] + firstGroup * PackedFloats.rows)
                }
            })
    }
}
