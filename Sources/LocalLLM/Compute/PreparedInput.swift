import KernelFormats

#if arch(x86_64)
    import KernelsAVX2
#endif

/// The input of products, laid out as the kernels for its layers' formats read it.
struct PreparedInput {
    let matrix: Matrix
    /// Rows from this one on may be rounded to 8 bits.
    let exact: Int
    #if arch(x86_64)
        /// For packed weights.
        fileprivate(set) var rounded: RoundedActivations?
        /// Which layouts its layers want.
        fileprivate var needs = InputNeeds()
    #endif
    /// For many rows and weights as they are in the file: as `KernelsAVX2.packTile` makes them.
    fileprivate(set) var tiles: UnsafePointer<Float>?

    init(_ matrix: Matrix, exact: Int) {
        self.matrix = matrix
        self.exact = exact
    }

    /// Input rows up to which unpacking a weight again for every four of them is cheaper than packing panels.
    static let fewRows = 8

    /// Whether weights are read row by row, each for all rows of input.
    var hasFewRows: Bool { matrix.rows <= Self.fewRows }
}

extension Compute {
    /// Lays out the inputs of some products, in memory that the next ones use again.
    func prepare(_ list: inout ProductList) {
        #if arch(x86_64)
            guard let kernels = kernels.products else { return }
            for product in list.products { list.inputs[product.input].needs.add(product.layer.weights, kernels) }
            // All memory first: it moves when it grows.
            var rounded = roundedActivations(bytes: list.inputs.reduce(0) { $0 + $1.roundedBytes })
            var floats = packedActivations(floats: list.inputs.reduce(0) { $0 + $1.tileFloats })
            for index in list.inputs.indices {
                let input = list.inputs[index]
                if input.roundedBytes > 0 {
                    list.inputs[index].rounded = RoundedActivations(
                        rounded, tokens: input.matrix.rows, paired: input.pairedRows, columns: input.matrix.columns)
                    rounded += input.roundedBytes
                }
                if input.tileFloats > 0 {
                    list.inputs[index].tiles = pack(input.matrix, into: floats)
                    floats += input.tileFloats
                }
            }
            round(list.inputs)
        #endif
    }
}

#if arch(x86_64)
    /// What the layers of an input read.
    private struct InputNeeds {
        /// Whether some have packed weights, and some have not.
        var (rounded, floats) = (false, false)
        /// Whether all rows are rounded to 14 bits, two columns each.
        var pairs = false

        mutating func add(_ weights: WeightMatrix, _ kernels: ProductKernels) {
            if weights.packed == nil {
                floats = true
            } else {
                rounded = true
                pairs = pairs || kernels.needsPairs(weights.type)
            }
        }
    }

    extension PreparedInput {
        fileprivate var pairedRows: Int { needs.pairs ? matrix.rows : min(exact, matrix.rows) }

        fileprivate var roundedBytes: Int {
            guard needs.rounded else { return 0 }
            return RoundedActivations.tileCount(tokens: matrix.rows, paired: pairedRows)
                * RoundedActivations.tileBytes(columns: matrix.columns)
        }

        fileprivate var tileFloats: Int {
            guard needs.floats, !hasFewRows else { return 0 }
            return (matrix.rows + tileTokens - 1) / tileTokens * tileTokens * ((matrix.columns + 7) & ~7)
        }
    }

    extension Compute {
        /// Values that another thread does not round sooner than it wakes up.
        private static let serialValues = 1 << 13

        /// Fills the tiles of rounded activations.
        private func round(_ inputs: [PreparedInput]) {
            let tiles = inputs.reduce(0) { $0 + ($1.rounded?.tileCount ?? 0) }
            let values = inputs.reduce(0) { $0 + $1.matrix.rows * $1.matrix.columns }
            forEachPiece(tiles, serially: values <= Self.serialValues) { piece, _ in
                var tile = piece
                for input in inputs {
                    guard let rounded = input.rounded else { continue }
                    if tile < rounded.tileCount { return rounded.fill(tile, from: input.matrix) }
                    tile -= rounded.tileCount
                }
            }
        }
    }
#endif
