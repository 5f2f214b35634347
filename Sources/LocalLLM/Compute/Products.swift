import COpenBLAS
import KernelFormats
import KernelsPortable

#if arch(x86_64)
    import KernelsAVX2
#endif

/// Some rows multiplied by some layers: `outputs[i] = input · layers[i]ᵀ`.
struct Product {
    let input: Matrix
    let layers: [Linear]
    let outputs: [Matrix]
    /// Rows of `input` from this one on may be rounded to 8 bits instead of 14.
    var exact = Int.max
}

/// Matrix products: activations by the weights of linear layers.
extension Compute {
    func multiply(_ input: Matrix, by layer: Linear, into output: Matrix, exact: Int = .max) {
        multiply([Product(input: input, layers: [layer], outputs: [output], exact: exact)])
    }

    /// - Parameter exact: Rows of `input` from this one on may be rounded to 8 bits instead of 14.
    func multiply(_ input: Matrix, by layers: [Linear], into outputs: [Matrix], exact: Int = .max) {
        multiply([Product(input: input, layers: layers, outputs: outputs, exact: exact)])
    }

    /// All products in one parallel region.
    ///
    /// Packed weights are multiplied as whole numbers. Others go row by row, each read once from memory for all of a few
    /// rows of input, or, for many of them (a prompt), by panels turned into floats once.
    func multiply(_ products: [Product]) {
        let inputs = prepare(products)
        reserveScratch(floats: inputs.map(scratchFloats).max() ?? 0)
        forEachBlock(of: products) { product, layer, rows, worker in
            let (linear, output) = (products[product].layers[layer], products[product].outputs[layer])
            multiply(inputs[product], linear.weights, rows, into: output, scratchOfWorker(worker))
            linear.finish(output, rows)
        }
    }

    private func multiply(
        _ input: PreparedInput, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        #if arch(x86_64)
            if let kernels = kernels.products {
                if let rounded = input.rounded, let packed = weights.packed {
                    return multiplyPacked(rounded, packed, rows, into: output, scratch, kernels)
                }
                if let tiles = input.tiles {
                    return multiplyPanels(input.matrix, tiles, weights, rows, into: output, scratch, kernels)
                }
            }
        #endif
        if input.hasFewRows {
            multiplyRows(input.matrix, weights, rows, into: output, scratch)
        } else {
            multiplyBLAS(input.matrix, weights, rows, into: output, scratch)
        }
    }

    private func scratchFloats(_ input: PreparedInput) -> Int {
        #if arch(x86_64)
            max(floatScratch(columns: input.matrix.columns), integerScratch(tiles: input.rounded?.tileCount ?? 0))
        #else
            input.matrix.columns * Self.panelRows
        #endif
    }

    private static let dotBlockRows = 16
    /// Fewer products than this are not worth handing to another thread: some 10 µs of work.
    private static let pieceProducts = 1 << 16
    /// Weight rows that a worker takes at once: enough for the inner blocking of the products for many rows, and of 4096
    /// columns in floats still only 1 MiB.
    private static let panelRows = 64

    private func blockRows(_ input: Matrix) -> Int {
        input.rows <= Self.dotRows
            ? max(Self.dotBlockRows, (Self.pieceProducts / (input.rows * input.columns) + 15) & ~15) : Self.panelRows
    }

    /// A layer's weight rows in blocks.
    private struct Part {
        let product: Int
        let layer: Int
        let rows: Int
        let blockRows: Int
        var blocks: Int { (rows + blockRows - 1) / blockRows }
    }

    /// Calls `body(product, layer, rows, worker)` for blocks of the layers' weight rows, shared out over the workers.
    private func forEachBlock(
        of products: [Product],
        _ body: (_ product: Int, _ layer: Int, _ rows: Range<Int>, _ worker: Int) -> Void
    ) {
        var parts: [Part] = []
        // The logits of a step in the middle of a prompt are a product of no rows.
        for (index, product) in products.enumerated() where product.input.rows > 0 {
            let blockRows = blockRows(product.input)
            for (layer, linear) in product.layers.enumerated() {
                parts.append(Part(product: index, layer: layer, rows: linear.weights.rows, blockRows: blockRows))
            }
        }
        pool.forEach(parts.reduce(0) { $0 + $1.blocks }) { piece, worker in
            var (index, block) = (0, piece)
            while block >= parts[index].blocks {
                block -= parts[index].blocks
                index += 1
            }
            let part = parts[index]
            let first = block * part.blockRows
            body(part.product, part.layer, first..<min(first + part.blockRows, part.rows), worker)
        }
    }

    private func multiplyRows(
        _ input: Matrix, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        #if arch(x86_64)
            if kernels.tier != .portable, weights.columns % 32 == 0, KernelsAVX2.reads(weights.type) {
                for column in rows {
                    for row in stride(from: 0, to: input.rows, by: 4) {
                        KernelsAVX2.dotRow(
                            weights.type, weights.row(column), input[row], xStride: input.stride,
                            tokens: min(4, input.rows - row), count: weights.columns, into: output[row] + column,
                            stride: output.stride)
                    }
                }
                return
            }
        #endif
        for column in rows {
            kernels.dequantize(weights.type, weights.row(column), scratch, weights.columns)
            for row in 0..<input.rows { output[row][column] = dot(scratch, input[row], count: weights.columns) }
        }
    }

    private func multiplyBLAS(
        _ input: Matrix, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        let columns = weights.columns
        for (index, row) in rows.enumerated() {
            kernels.dequantize(weights.type, weights.row(row), scratch + index * columns, columns)
        }
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasTrans, Int32(input.rows), Int32(rows.count), Int32(columns), 1,
            input.base, Int32(input.stride), scratch, Int32(columns), 0, output.base + rows.lowerBound,
            Int32(output.stride))
    }
}

#if arch(x86_64)
    extension Compute {
        /// Columns multiplied at once: a panel of 16 weight rows is then 16 KiB, half of the first-level cache, and a multiple
        /// of every format's block.
        private static let depth = 256
        /// Panels that one pass over the activations serves: 64 KiB, an eighth of the second-level cache.
        private static let panels = panelRows / KernelsAVX2.panelRows

        private func floatScratch(columns: Int) -> Int {
            kernels.tier != .portable
                ? max((1 + Self.panels) * KernelsAVX2.panelRows * Self.depth, columns) : columns * Self.panelRows
        }

        /// Columns `rows` of the product for many rows; see `KernelsAVX2.multiplyTile`.
        private func multiplyPanels(
            _ input: Matrix, _ tiles: UnsafePointer<Float>, _ weights: WeightMatrix, _ rows: Range<Int>,
            into output: Matrix, _ scratch: UnsafeMutablePointer<Float>, _ products: ProductKernels
        ) {
            let columns = (input.columns + 7) & ~7
            let tileCount = (input.rows + tileTokens - 1) / tileTokens
            let whole = rows.lowerBound..<rows.upperBound - rows.count % KernelsAVX2.panelRows
            for k in stride(from: 0, to: columns, by: Self.depth) {
                multiplyPanels(
                    tiles, tiles: tileCount, k: k, count: min(Self.depth, columns - k), weights, whole, into: output,
                    scratch, products)
            }
            multiplyRows(input, weights, whole.upperBound..<rows.upperBound, into: output, scratch)
        }

        /// `[columns / depth][tiles][depth][6]`.
        func pack(_ input: Matrix, into packed: UnsafeMutablePointer<Float>) -> UnsafePointer<Float> {
            let columns = (input.columns + 7) & ~7
            let tiles = (input.rows + tileTokens - 1) / tileTokens
            let parts = (columns + Self.depth - 1) / Self.depth
            pool.forEach(tiles * parts) { piece, _ in
                let (tile, k) = (piece % tiles, piece / tiles * Self.depth)
                let count = min(Self.depth, columns - k)
                let there = min(count, input.columns - k)
                let destination = packed + tileTokens * (tiles * k + tile * count)
                packTile(
                    input[tile * tileTokens] + k, stride: input.stride,
                    tokens: min(tileTokens, input.rows - tile * tileTokens), count: there, into: destination)
                (destination + tileTokens * there).update(repeating: 0, count: tileTokens * (count - there))
            }
            return UnsafePointer(packed)
        }

        /// Adds the part of the product that columns `k ..< k + count` make.
        private func multiplyPanels(
            _ packed: UnsafePointer<Float>, tiles: Int, k: Int, count: Int, _ weights: WeightMatrix, _ rows: Range<Int>,
            into output: Matrix, _ scratch: UnsafeMutablePointer<Float>, _ products: ProductKernels
        ) {
            let panelRows = KernelsAVX2.panelRows
            let panels = scratch + panelRows * Self.depth
            let there = min(count, weights.columns - k)
            let offset = k / weights.type.blockValues * weights.type.blockBytes
            for (index, first) in stride(from: rows.lowerBound, to: rows.upperBound, by: panelRows).enumerated() {
                for row in 0..<panelRows {
                    let values = scratch + row * Self.depth
                    kernels.dequantize(weights.type, weights.row(first + row) + offset, values, there)
                    (values + there).update(repeating: 0, count: count - there)
                }
                packPanel(scratch, stride: Self.depth, count: count, into: panels + index * panelRows * Self.depth)
            }
            for tile in 0..<tiles {
                products.multiplyFloatTile(
                    packed + tileTokens * (tiles * k + tile * count), panels, panelRows * Self.depth,
                    rows.count / panelRows, count, output[tile * tileTokens] + rows.lowerBound, output.stride,
                    min(tileTokens, output.rows - tile * tileTokens), k > 0)
            }
        }
    }
#endif
