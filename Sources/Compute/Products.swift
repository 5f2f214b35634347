import KernelFormats

/// Matrix products of activations and the weights of linear layers.
///
/// The result of a row does not depend on the other rows of the step, so a text does not depend on the batch or on what
/// the prefix cache holds.
extension Compute {
    /// `output = input · layerᵀ`.
    ///
    /// - Parameters:
    ///   - exact: Rows of `input` from this one on are a prompt's, which are multiplied less exactly.
    ///   - sensitive: Whether these rows are quantized to 14 or 15 bits all the same, instead of 8.
    ///   - stepRows: The step's row of each row of `input`; `nil`: they are the same.
    package func multiply(
        _ input: Matrix, by layer: Linear, into output: Matrix, exact: Int = .max, sensitive: Bool = false,
        stepRows: [Int]? = nil
    ) {
        multiply {
            $0.add(input, by: layer, into: output, exact: exact, sensitive: sensitive, stepRows: stepRows)
        }
    }

    /// Computes the products that `list` adds, in one parallel region.
    ///
    /// Packed weights use integer kernels, and weights in F16 and BF16 for prompts on AVX-512; others use float kernels.
    package func multiply(_ list: (inout ProductList) -> Void) {
        products.removeAll()
        products.adapters = adapters
        list(&products)
        timed(ProfiledPart(self.products)) {
            prepare(&self.products)
            let products = self.products
            let inner = innerValues(of: products)
            let kernelScratch = products.inputs.reduce(Self.floatScratch) { max($0, scratchFloats($1)) }
            reserveScratch(floats: kernelScratch + products.gateFloats)
            func multiplyRun(_ run: Range<Int>, _ worker: Int) {
                let scratch = scratchOfWorker(worker)
                products.forEach(in: run) { product, rows in
                    let (input, output) = (products.inputs[product.input], product.output)
                    multiply(input, product.layer, rows, into: output, scratch)
                    add(product.updates, inner, to: output, rows)
                    guard let gate = product.gate else { return }
                    // Memory for the columns of this block only; its start is shifted so that they keep their numbers.
                    let gates = Matrix(
                        scratch + kernelScratch - rows.lowerBound, rows: output.rows, columns: rows.upperBound,
                        stride: rows.count)
                    multiply(input, gate.layer, rows, into: gates, scratch)
                    add(gate.updates, inner, to: gates, rows)
                    for token in 0..<output.rows {
                        let values = output[token] + rows.lowerBound
                        kernels.gate(
                            gates[token] + rows.lowerBound, values, gate.activation, values, rows.count)
                    }
                }
            }
            if products.streamsWeights {
                pool.forEachRun(products.blockCount, multiplyRun)
            } else {
                pool.forEach(products.blockCount) { block, worker in multiplyRun(block..<block + 1, worker) }
            }
        }
        for late in products.lateGates { activate(late.gates, late.output, late.activation, into: late.output) }
        if let observer {
            for product in products.products {
                let input = products.inputs[product.input].matrix
                observer(product.layer.weights, input)
                if let gate = product.gate { observer(gate.layer.weights, input) }
            }
        }
    }

    private func multiply(
        _ input: PreparedInput, _ layer: Linear, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        let packed = multiplyPacked(input, layer.weights, rows, into: output, scratch)
        if packed < rows.count {
            multiplyFloats(input, layer.weights, rows.lowerBound + packed..<rows.upperBound, into: output, scratch)
        }
        layer.finish(output, rows)
    }

    /// Computes the columns of the product for which there are packed weights, and returns how many of `rows` they are.
    private func multiplyPacked(
        _ input: PreparedInput, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) -> Int {
        let rows = rows.clamped(to: 0..<weights.wholeGroups)
        guard !rows.isEmpty else { return 0 }
        if let kernels = kernels.wideProducts, let wide = input.wide, let packed = weights.packed {
            multiplyPacked(wide, packed, rows, into: output, scratch, kernels)
        } else if let kernels = kernels.products, let rounded = input.rounded, let packed = weights.packed {
            multiplyPacked(rounded, packed, rows, into: output, scratch, kernels)
        } else if let packed = weights.packedFloats {
            if let kernel = kernels.multiplyPackedFloats, let floats = input.floats {
                multiplyPackedFloats(floats, packed, rows, into: output, scratch, kernel)
            }
            if let kernels = kernels.words, let words = input.words {
                multiplyWords(words, packed, rows, into: output, scratch, kernels)
            }
        } else {
            return 0
        }
        return rows.count
    }

    private func scratchFloats(_ input: PreparedInput) -> Int {
        max(input.floats?.scratchFloats ?? 0, input.words?.scratchFloats ?? 0, integerScratchFloats(input))
    }

    private func integerScratchFloats(_ input: PreparedInput) -> Int {
        if let wide = input.wide { return wideScratch(wide) }
        return integerScratch(tiles: input.rounded?.tiles.count ?? 0)
    }
}

// MARK: Floats

extension Compute {
    /// Columns per partial sum, a multiple of every format's block. It determines the order of additions, so it is the
    /// same for any number of rows. The horizontal sums take 7 % of the time.
    private static let depth = 512
    /// Weight rows per inner loop over all tokens: 12 KiB, which fit an L1 cache of 32 KiB beside four tokens of 2 KiB.
    private static let rowsAtOnce = 6
    /// Tokens per loop over all weight rows: 192 KiB.
    private static let tokensAtOnce = 96
    /// The same for products with bfloat16 weights, whose activations take as much scratch as they have floats: 96 KiB.
    private static let splitTokensAtOnce = 48
    /// Weight rows per block, with few tokens and with many. 60 rows are 120 KiB of floats, which fit the L2 cache
    /// together with the tokens.
    static let floatGroupRows = 12
    static let floatPanelRows = 60
    private static let floatScratch = floatPanelRows * depth

    /// Copies the input by parts of columns, `[columns / depth][rows][depth]`, zero-padded to a multiple of 8 columns.
    ///
    /// Read in place, rows a power of two apart would evict each other from the caches.
    package func copy(_ input: Matrix, into copy: UnsafeMutablePointer<Float>) -> UnsafePointer<Float> {
        let parts = (input.columns + Self.depth - 1) / Self.depth
        forEachPiece(input.rows * parts, serially: input.rows * input.columns <= 1 << 13) { piece, _ in
            let (row, k) = (piece % input.rows, piece / input.rows * Self.depth)
            let count = min(Self.depth, input.columns - k)
            let padded = (count + 7) & ~7
            let destination = copy + input.rows * k + row * padded
            destination.update(from: input[row] + k, count: count)
            (destination + count).update(repeating: 0, count: padded - count)
        }
        return UnsafePointer(copy)
    }

    /// Computes columns `rows` of the product.
    private func multiplyFloats(
        _ input: PreparedInput, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        if weights.type == .BF16, weights.columns % 8 == 0, let multiply = kernels.multiplyBFloats {
            return multiplyBFloats(input, weights, rows, into: output, scratch, multiply)
        }
        if input.matrix.rows == 1, weights.type == .F16 || weights.type == .BF16, weights.columns % 8 == 0,
            let multiplyHalves = kernels.multiplyHalves
        {
            return multiplyHalves(
                HalfProduct(
                    a: input.matrix[0], w: weights.row(rows.lowerBound), isBFloat16: weights.type == .BF16,
                    rows: rows.count, columns: weights.columns, depth: Self.depth, c: output[0] + rows.lowerBound))
        }
        // Few tokens: stream the weights once. Many: per part of the columns, all weights of the block meet all tokens.
        let groupRows = input.hasFewRows ? Self.floatGroupRows : rows.count
        for first in stride(from: rows.lowerBound, to: rows.upperBound, by: groupRows) {
            let group = first..<min(first + groupRows, rows.upperBound)
            for k in stride(from: 0, to: weights.columns, by: Self.depth) {
                let count = min(Self.depth, weights.columns - k)
                multiplyFloats(input, weights, group, columns: k..<k + count, into: output, scratch)
            }
        }
    }

    /// Multiplies bfloat16 weights in the order of columns of the other products.
    private func multiplyBFloats(
        _ input: PreparedInput, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>, _ multiply: (BFloatProduct) -> Void
    ) {
        let tokens = input.matrix.rows
        for k in stride(from: 0, to: weights.columns, by: Self.depth) {
            let count = min(Self.depth, weights.columns - k)
            let (a, aStride) = activations(input, columns: k..<k + count)
            for token in stride(from: 0, to: tokens, by: Self.splitTokensAtOnce) {
                multiply(
                    BFloatProduct(
                        a: a + token * aStride, aStride: aStride, tokens: min(Self.splitTokensAtOnce, tokens - token),
                        w: weights.row(rows.lowerBound) + 2 * k, wStride: 2 * weights.columns, rows: rows.count,
                        columns: count, c: output[token] + rows.lowerBound, cStride: output.stride, accumulate: k > 0,
                        scratch: scratch))
            }
        }
    }

    /// The activations of some columns, which begin at a multiple of `depth`, and the floats from one token to the next.
    private func activations(_ input: PreparedInput, columns: Range<Int>) -> (UnsafePointer<Float>, stride: Int) {
        guard let copy = input.copy else {
            return (UnsafePointer(input.matrix.base + columns.lowerBound), input.matrix.stride)
        }
        return (copy + input.matrix.rows * columns.lowerBound, (columns.count + 7) & ~7)
    }

    /// Computes the partial sums of some columns.
    private func multiplyFloats(
        _ input: PreparedInput, _ weights: WeightMatrix, _ rows: Range<Int>, columns: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        let tokens = input.matrix.rows
        let padded = (columns.count + 7) & ~7
        let (activations, aStride) = activations(input, columns: columns)
        let (values, wStride) = floats(weights, rows, columns, scratch, direct: input.hasFewRows)
        for token in stride(from: 0, to: tokens, by: Self.tokensAtOnce) {
            let count = min(Self.tokensAtOnce, tokens - token)
            for row in stride(from: 0, to: rows.count, by: Self.rowsAtOnce) {
                kernels.multiplyFloats(
                    FloatProduct(
                        a: activations + token * aStride, aStride: aStride, tokens: count, w: values + row * wStride,
                        wStride: wStride, rows: min(Self.rowsAtOnce, rows.count - row), count: padded,
                        c: output[token] + rows.lowerBound + row, cStride: output.stride,
                        accumulate: columns.lowerBound > 0))
            }
        }
    }

    /// Part of some weight rows as floats, with the number of floats from one row to the next.
    ///
    /// - Parameter direct: Whether floats may be read from the file in place.
    private func floats(
        _ weights: WeightMatrix, _ rows: Range<Int>, _ columns: Range<Int>, _ scratch: UnsafeMutablePointer<Float>,
        direct: Bool
    ) -> (UnsafePointer<Float>, stride: Int) {
        let (count, padded) = (columns.count, (columns.count + 7) & ~7)
        let offset = columns.lowerBound / weights.type.blockValues * weights.type.blockBytes
        #if _endian(little)
            if direct, weights.type == .F32, count == padded {
                let start = weights.row(rows.lowerBound) + offset
                if Int(bitPattern: start) % MemoryLayout<Float>.alignment == 0 {
                    return (start.assumingMemoryBound(to: Float.self), weights.columns)
                }
            }
        #endif
        for (index, row) in rows.enumerated() {
            let values = scratch + index * padded
            kernels.dequantize(weights.type, weights.row(row) + offset, values, count)
            (values + count).update(repeating: 0, count: padded - count)
        }
        return (UnsafePointer(scratch), padded)
    }
}
