import KernelFormats

#if arch(x86_64)
    import KernelsAVX2
#endif

/// The input of products, laid out as the kernels for its layers' formats read it.
struct PreparedInput {
    let matrix: Matrix
    /// Rows from this one on may be rounded to 8 bits.
    let exact: Int
    /// Which layouts its layers want.
    fileprivate var needs = InputNeeds()
    #if arch(x86_64)
        /// For packed weights.
        fileprivate(set) var rounded: RoundedActivations?
    #endif
    /// For weights as they are in the file: the rows in the order in which products of many rows read them, see
    /// `Compute.copy`. `nil`: they are read where they are.
    fileprivate(set) var copy: UnsafePointer<Float>?

    init(_ matrix: Matrix, exact: Int) {
        self.matrix = matrix
        self.exact = exact
    }

    /// Input rows up to which they stay in the first-level cache by themselves.
    static let fewRows = 8

    var hasFewRows: Bool { matrix.rows <= Self.fewRows }
}

extension Compute {
    /// Lays out the inputs of some products, in memory that the next ones use again.
    func prepare(_ list: inout ProductList) {
        for product in list.products { list.inputs[product.input].needs.add(product.layer.weights, kernels.products) }
        var floats = packedActivations(floats: list.inputs.reduce(0) { $0 + $1.copiedFloats })
        for index in list.inputs.indices where list.inputs[index].copiedFloats > 0 {
            list.inputs[index].copy = copy(list.inputs[index].matrix, into: floats)
            floats += list.inputs[index].copiedFloats
        }
        #if arch(x86_64)
            // All memory first: it moves when it grows.
            var rounded = roundedActivations(bytes: list.inputs.reduce(0) { $0 + $1.roundedBytes })
            for index in list.inputs.indices where list.inputs[index].roundedBytes > 0 {
                let input = list.inputs[index]
                list.inputs[index].rounded = RoundedActivations(
                    rounded, tokens: input.matrix.rows, paired: input.pairedRows, columns: input.matrix.columns)
                rounded += input.roundedBytes
            }
            round(list.inputs)
        #endif
    }
}

/// What the layers of an input read.
private struct InputNeeds {
    /// Whether some have packed weights, and some have not.
    var (rounded, floats) = (false, false)
    /// Whether all rows are rounded to 14 bits, two columns each.
    var pairs = false

    mutating func add(_ weights: WeightMatrix, _ kernels: ProductKernels?) {
        guard let kernels, let packed = weights.packed else {
            floats = true
            return
        }
        rounded = true
        pairs = pairs || kernels.needsPairs(packed.layout.format)
    }
}

extension PreparedInput {
    /// Few rows whose ends need no filling up are read where they are.
    fileprivate var copiedFloats: Int {
        guard needs.floats, !hasFewRows || matrix.columns % 8 != 0 else { return 0 }
        return matrix.rows * ((matrix.columns + 7) & ~7)
    }
}

#if arch(x86_64)
    extension PreparedInput {
        fileprivate var pairedRows: Int { needs.pairs ? matrix.rows : min(exact, matrix.rows) }

        fileprivate var roundedBytes: Int {
            guard needs.rounded else { return 0 }
            return RoundedActivations.tileCount(tokens: matrix.rows, paired: pairedRows)
                * RoundedActivations.tileBytes(columns: matrix.columns)
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
