import KernelFormats

#if arch(x86_64)
    import KernelsAVX2
#endif

/// The input of a product, laid out as the kernels for its layers' formats read it.
struct PreparedInput {
    let matrix: Matrix
    #if arch(x86_64)
        /// For packed weights.
        fileprivate(set) var rounded: RoundedActivations?
    #endif
    /// For many rows and weights as they are in the file: as `KernelsAVX2.packTile` makes them.
    fileprivate(set) var tiles: UnsafePointer<Float>?

    fileprivate init(_ matrix: Matrix) { self.matrix = matrix }

    /// Whether weights are read row by row, each for all rows of input.
    var hasFewRows: Bool { matrix.rows <= Compute.dotRows }
}

extension Compute {
    /// Input rows up to which unpacking a weight again for every four of them is cheaper than packing panels.
    static let dotRows = 8

    /// The inputs of these products, in memory that the next call uses again.
    func prepare(_ products: [Product]) -> [PreparedInput] {
        var inputs = products.map { PreparedInput($0.input) }
        #if arch(x86_64)
            guard let kernels = kernels.products else { return inputs }
            let layouts = products.map { InputLayout(of: $0, kernels) }
            // All memory first: it moves when it grows.
            var rounded = roundedActivations(bytes: layouts.reduce(0) { $0 + $1.roundedBytes })
            var floats = packedActivations(floats: layouts.reduce(0) { $0 + $1.tileFloats })
            for (index, layout) in layouts.enumerated() {
                let matrix = inputs[index].matrix
                if layout.roundedBytes > 0 {
                    inputs[index].rounded = RoundedActivations(
                        rounded, tokens: matrix.rows, paired: layout.paired, columns: matrix.columns)
                    rounded += layout.roundedBytes
                }
                if layout.tileFloats > 0 {
                    inputs[index].tiles = pack(matrix, into: floats)
                    floats += layout.tileFloats
                }
            }
            round(inputs)
        #endif
        return inputs
    }
}

#if arch(x86_64)
    /// What an input is laid out as, and the memory that this takes; 0 where it is not.
    private struct InputLayout {
        /// Rows that are rounded to two columns.
        let paired: Int
        private(set) var roundedBytes = 0
        private(set) var tileFloats = 0

        init(of product: Product, _ kernels: ProductKernels) {
            let input = product.input
            let packed = product.layers.filter { $0.weights.packed != nil }
            paired =
                packed.contains { kernels.needsPairs($0.weights.type) } ? input.rows : min(product.exact, input.rows)
            if !packed.isEmpty {
                roundedBytes =
                    RoundedActivations.tileCount(tokens: input.rows, paired: paired)
                    * RoundedActivations.tileBytes(columns: input.columns)
            }
            if packed.count < product.layers.count, input.rows > Compute.dotRows {
                tileFloats = (input.rows + tileTokens - 1) / tileTokens * tileTokens * ((input.columns + 7) & ~7)
            }
        }
    }

    extension Compute {
        /// Values that another thread does not round sooner than it wakes up.
        private static let serialValues = 1 << 13

        /// Fills the tiles of rounded activations.
        private func round(_ inputs: [PreparedInput]) {
            let tileCounts = inputs.map { $0.rounded?.tileCount ?? 0 }
            let values = inputs.reduce(0) { $0 + $1.matrix.rows * $1.matrix.columns }
            forEachPiece(tileCounts.reduce(0, +), serially: values <= Self.serialValues) { piece, _ in
                var (index, tile) = (0, piece)
                while tile >= tileCounts[index] {
                    tile -= tileCounts[index]
                    index += 1
                }
                inputs[index].rounded!.fill(tile, from: inputs[index].matrix)
            }
        }
    }
#endif
