import KernelFormats

/// The input of products in the layouts that its layers' kernels read.
struct PreparedInput {
    let matrix: Matrix
    /// Rows from this one on may be quantized to 8 bits.
    let exact: Int
    /// The layouts that its layers need.
    fileprivate var needs = InputNeeds()
    /// Quantized activations, for packed weights.
    fileprivate(set) var rounded: RoundedActivations?
    /// The same for the AVX-512 tier.
    fileprivate(set) var wide: WideActivations?
    /// Tiles of floats, for `PackedFloats`.
    fileprivate(set) var floats: FloatActivations?
    /// For weights in the file's format: the rows in the order in which products of many rows read them, see
    /// `Compute.copy`. `nil`: rows are read in place.
    fileprivate(set) var copy: UnsafePointer<Float>?

    init(_ matrix: Matrix, exact: Int) {
        self.matrix = matrix
        self.exact = exact
    }

    /// Number of input rows up to which they fit the L1 cache without copying.
    static let fewRows = 8

    var hasFewRows: Bool { matrix.rows <= Self.fewRows }
}

extension Compute {
    /// Lays out the inputs of products, in buffers that are reused.
    func prepare(_ list: inout ProductList) {
        let needsPairs = kernels.wideProducts != nil ? { _ in false } : kernels.products?.needsPairs
        for product in list.products { list.inputs[product.input].needs.add(product.layer.weights, needsPairs) }
        var floats = packedActivations(floats: list.inputs.reduce(0) { $0 + $1.copiedFloats + $1.interleavedFloats })
        for index in list.inputs.indices where list.inputs[index].copiedFloats > 0 {
            list.inputs[index].copy = copy(list.inputs[index].matrix, into: floats)
            floats += list.inputs[index].copiedFloats
        }
        interleave(&list.inputs, into: floats)
        if let kernels = kernels.wideProducts { return roundWide(&list.inputs, kernels) }
        // Reserve all memory first: growing the buffer moves it.
        if let kernels = kernels.products {
            var rounded = roundedActivations(bytes: list.inputs.reduce(0) { $0 + $1.roundedBytes(kernels) })
            for index in list.inputs.indices where list.inputs[index].needs.rounded {
                let input = list.inputs[index]
                list.inputs[index].rounded = RoundedActivations(
                    rounded, tokens: input.matrix.rows, paired: input.pairedRows, columns: input.matrix.columns,
                    kernels)
                rounded += input.roundedBytes(kernels)
            }
            round(list.inputs, kernels)
        }
    }
}

/// The layouts that the layers of an input need.
private struct InputNeeds {
    /// Whether some layers have packed weights, and some have not.
    var (rounded, floats) = (false, false)
    /// Whether some layers have `PackedFloats`.
    var interleaved = false
    /// Whether all rows are quantized to 14 bits, two columns each.
    var pairs = false

    /// - Parameter needsPairs: `nil` if the tier has no integer products.
    mutating func add(_ weights: WeightMatrix, _ needsPairs: ((PackedLayout.Format) -> Bool)?) {
        if weights.packedFloats != nil {
            interleaved = true
            return
        }
        guard let needsPairs, let packed = weights.packed else {
            floats = true
            return
        }
        rounded = true
        pairs = pairs || needsPairs(packed.layout.format)
    }
}

extension PreparedInput {
    /// Floats to copy; 0 for few rows that need no padding, which are read in place.
    fileprivate var copiedFloats: Int {
        guard needs.floats, !hasFewRows || matrix.columns % 8 != 0 else { return 0 }
        return matrix.rows * ((matrix.columns + 7) & ~7)
    }
}

extension PreparedInput {
    /// Floats of `FloatActivations`; 0 for a single row, which is read in place.
    fileprivate var interleavedFloats: Int {
        needs.interleaved && matrix.rows > 1 ? FloatActivations(matrix.base, matrix).floats : 0
    }
}

extension PreparedInput {
    fileprivate var pairedRows: Int { needs.pairs ? matrix.rows : min(exact, matrix.rows) }

    fileprivate func roundedBytes(_ kernels: ProductKernels) -> Int {
        guard needs.rounded else { return 0 }
        return RoundedActivations.tiling(
            tokens: matrix.rows, paired: pairedRows, columns: matrix.columns, kernels
        ).0.bytes
    }
}

extension Compute {
    /// Number of values below which waking other threads does not pay.
    private static let serialValues = 1 << 13

    /// Lays out activations as `FloatActivations`.
    private func interleave(_ inputs: inout [PreparedInput], into memory: UnsafeMutablePointer<Float>) {
        var memory = memory
        for index in inputs.indices where inputs[index].needs.interleaved {
            let matrix = inputs[index].matrix
            guard matrix.rows > 1 else {
                inputs[index].floats = FloatActivations(matrix.base, matrix)
                continue
            }
            let activations = FloatActivations(memory, matrix)
            forEachPiece(activations.pieces, serially: matrix.rows * matrix.columns <= Self.serialValues) { piece, _ in
                activations.fill(piece, from: matrix, kernels.rows)
            }
            inputs[index].floats = activations
            memory += activations.floats
        }
    }

    /// Fills the tiles of the AVX-512 tier.
    private func roundWide(_ inputs: inout [PreparedInput], _ kernels: WideKernels) {
        func activations(_ input: PreparedInput, at base: UnsafeMutableRawPointer?) -> WideActivations? {
            guard input.needs.rounded else { return nil }
            return WideActivations(
                base, tokens: input.matrix.rows, paired: input.pairedRows, columns: input.matrix.columns)
        }
        // Reserve all memory first: growing the buffer moves it.
        var base = roundedActivations(bytes: inputs.reduce(0) { $0 + (activations($1, at: nil)?.bytes ?? 0) })
        var (tiles, values) = (0, 0)
        for index in inputs.indices {
            guard let wide = activations(inputs[index], at: base) else { continue }
            inputs[index].wide = wide
            base += wide.bytes
            tiles += wide.tileCount
            values += inputs[index].matrix.rows * inputs[index].matrix.columns
        }
        let inputs = inputs
        forEachPiece(tiles, serially: values <= Self.serialValues) { piece, _ in
            var tile = piece
            for input in inputs {
                guard let wide = input.wide else { continue }
                if tile < wide.tileCount { return wide.fill(tile, from: input.matrix, kernels) }
                tile -= wide.tileCount
            }
        }
    }

    /// Fills the tiles of quantized activations.
    private func round(_ inputs: [PreparedInput], _ kernels: ProductKernels) {
        let tiles = inputs.reduce(0) { $0 + ($1.rounded?.tiles.count ?? 0) }
        let values = inputs.reduce(0) { $0 + $1.matrix.rows * $1.matrix.columns }
        forEachPiece(tiles, serially: values <= Self.serialValues) { piece, _ in
            var tile = piece
            for input in inputs {
                guard let rounded = input.rounded else { continue }
                if tile < rounded.tiles.count { return rounded.fill(tile, from: input.matrix, kernels) }
                tile -= rounded.tiles.count
            }
        }
    }
}
