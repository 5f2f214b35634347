import COpenBLAS
import KernelFormats
import KernelsPortable

#if arch(x86_64)
    import KernelsAVX2
#endif

/// Matrix products: activations by the weights of linear layers.
extension Compute {
    /// `output = input · layerᵀ`.
    ///
    /// - Parameter exact: Rows of `input` from this one on may be rounded to 8 bits instead of 14.
    func multiply(_ input: Matrix, by layer: Linear, into output: Matrix, exact: Int = .max) {
        multiply { $0.add(input, by: layer, into: output, exact: exact) }
    }

    /// The products that `list` adds, all in one parallel region.
    ///
    /// Packed weights are multiplied as whole numbers. Others go row by row, each read once from memory for all of a few
    /// rows of input, or, for many of them (a prompt), by panels turned into floats once.
    func multiply(_ list: (inout ProductList) -> Void) {
        products.removeAll()
        list(&products)
        prepare(&products)
        let products = products
        reserveScratch(floats: products.inputs.reduce(0) { max($0, scratchFloats($1)) })
        pool.forEach(products.blockCount) { block, worker in
            let (product, rows) = products[block: block]
            multiply(
                products.inputs[product.input], product.layer.weights, rows, into: product.output,
                scratchOfWorker(worker))
            product.layer.finish(product.output, rows)
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
            input.matrix.columns * ProductList.panelRows
        #endif
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
        private static let panels = ProductList.panelRows / KernelsAVX2.panelRows

        private func floatScratch(columns: Int) -> Int {
            kernels.tier != .portable
                ? max((1 + Self.panels) * KernelsAVX2.panelRows * Self.depth, columns) : columns * ProductList.panelRows
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
