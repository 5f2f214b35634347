import COpenBLAS
import KernelFormats
import KernelsPortable

#if arch(x86_64)
    import KernelsAVX2
#endif

/// Matrix products: activations by the weights of linear layers.
extension Compute {
    func multiply(_ input: Matrix, by layer: Linear, into output: Matrix, exact: Int = .max) {
        multiply(input, by: [layer], into: [output], exact: exact)
    }

    /// `outputs[i] = input · layers[i]ᵀ`, all in one parallel region.
    ///
    /// Packed weights are multiplied as whole numbers. Others go row by row, each read once from memory for all of a few
    /// rows of input, or, for many of them (a prompt), by panels turned into floats once.
    ///
    /// - Parameter exact: Rows of `input` from this one on may be rounded to 8 bits instead of 16.
    func multiply(_ input: Matrix, by layers: [Linear], into outputs: [Matrix], exact: Int = .max) {
        guard input.rows > 0 else { return }  // the logits of a step in the middle of a prompt
        let fewRows = input.rows <= Self.dotRows
        let blockRows =
            fewRows
            ? max(Self.dotBlockRows, (Self.pieceProducts / (input.rows * input.columns) + 15) & ~15) : Self.panelRows
        #if arch(x86_64)
            let packed = layers.filter { $0.weights.packed != nil }
            let allPairs = packed.contains { products.needsPairs($0.weights.type) }
            let rounded = packed.isEmpty ? nil : round(input, exact: allPairs ? .max : exact)
            reserveScratch(
                floats: max(floatScratch(columns: input.columns), integerScratch(tiles: rounded?.tileCount ?? 0)))
            let tiles = !fewRows && packed.count < layers.count && kernels.tier != .portable ? pack(input) : nil
            forEachBlock(of: layers, rows: blockRows) { layer, rows, worker in
                let (weights, output) = (layers[layer].weights, outputs[layer])
                if let rounded, let packed = weights.packed {
                    multiplyPacked(rounded, packed, rows, into: output, scratchOfWorker(worker))
                } else if let tiles {
                    multiplyPanels(input, tiles, weights, rows, into: output, scratchOfWorker(worker))
                } else if fewRows {
                    multiplyRows(input, weights, rows, into: output, scratchOfWorker(worker))
                } else {
                    multiplyBLAS(input, weights, rows, into: output, scratchOfWorker(worker))
                }
                layers[layer].finish(output, rows)
            }
        #else
            reserveScratch(floats: input.columns * Self.panelRows)
            forEachBlock(of: layers, rows: blockRows) { layer, rows, worker in
                let (weights, output) = (layers[layer].weights, outputs[layer])
                if fewRows {
                    multiplyRows(input, weights, rows, into: output, scratchOfWorker(worker))
                } else {
                    multiplyBLAS(input, weights, rows, into: output, scratchOfWorker(worker))
                }
                layers[layer].finish(output, rows)
            }
        #endif
    }

    /// Input rows up to which unpacking a weight again for every four of them is cheaper than packing panels.
    private static let dotRows = 8
    private static let dotBlockRows = 16
    /// Fewer products than this are not worth handing to another thread: some 10 µs of work.
    private static let pieceProducts = 1 << 16
    /// Weight rows that a worker takes at once: enough for the inner blocking of the products for many rows, and of 4096
    /// columns in floats still only 1 MiB.
    private static let panelRows = 64

    /// Calls `body(layer, rows, worker)` for blocks of the layers' weight rows, shared out over the workers.
    private func forEachBlock(
        of layers: [Linear], rows blockRows: Int, _ body: (_ layer: Int, _ rows: Range<Int>, _ worker: Int) -> Void
    ) {
        let counts = layers.map { ($0.weights.rows + blockRows - 1) / blockRows }
        pool.forEach(counts.reduce(0, +)) { piece, worker in
            var (layer, block) = (0, piece)
            while block >= counts[layer] {
                block -= counts[layer]
                layer += 1
            }
            body(layer, block * blockRows..<min((block + 1) * blockRows, layers[layer].weights.rows), worker)
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
            into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
        ) {
            let columns = (input.columns + 7) & ~7
            let tileCount = (input.rows + tileTokens - 1) / tileTokens
            let whole = rows.lowerBound..<rows.upperBound - rows.count % KernelsAVX2.panelRows
            for k in stride(from: 0, to: columns, by: Self.depth) {
                multiplyPanels(
                    tiles, tiles: tileCount, k: k, count: min(Self.depth, columns - k), weights, whole, into: output,
                    scratch)
            }
            multiplyRows(input, weights, whole.upperBound..<rows.upperBound, into: output, scratch)
        }

        /// `[columns / depth][tiles][depth][6]`.
        private func pack(_ input: Matrix) -> UnsafePointer<Float> {
            let columns = (input.columns + 7) & ~7
            let tiles = (input.rows + tileTokens - 1) / tileTokens
            let packed = packedActivations(floats: tiles * tileTokens * columns)
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
            into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
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
