import KernelFormats

/// The input of products in the layouts that its layers' kernels read.
struct PreparedInput {
    let matrix: Matrix
    /// Rows from this one on are a prompt's, and quantized to 8 bits unless they are `sensitive`.
    private let exact: Int
    private let sensitive: Bool
    /// The layouts that its layers need.
    fileprivate var needs = InputNeeds()
    /// Quantized activations, for packed weights.
    fileprivate(set) var rounded: RoundedActivations?
    /// The same for the AVX-512 tier.
    fileprivate(set) var wide: WideActivations?
    /// Tiles of floats, for `PackedFloats`, of the first rows.
    fileprivate(set) var floats: FloatActivations?
    /// Tiles of 16-bit integers, for F16 and BF16, of the other rows.
    fileprivate(set) var words: WordActivations?
    /// For weights in the file's format: the rows in the order in which products of many rows read them, see
    /// `Compute.copy`. `nil`: rows are read in place.
    fileprivate(set) var copy: UnsafePointer<Float>?

    init(_ matrix: Matrix, exact: Int, sensitive: Bool) {
        self.matrix = matrix
        self.exact = min(exact, matrix.rows)
        self.sensitive = sensitive && exact < matrix.rows
    }

    /// Whether the rows and their precision are the same.
    func isSame(as other: PreparedInput) -> Bool {
        matrix.base == other.matrix.base && matrix.rows == other.matrix.rows && exact == other.exact
            && sensitive == other.sensitive
    }

    /// Number of input rows up to which they fit the L1 cache without copying.
    static let fewRows = 8

    var hasFewRows: Bool { matrix.rows <= Self.fewRows }

    /// Whether all rows are a tile that is multiplied by packed weights without unpacking them to memory.
    var isSingleTile: Bool {
        if let wide { return wide.isStreamed && wide.tileCount == 1 }
        return rounded.map { $0.isFew && $0.tiles.count == 1 } ?? false
    }
}

extension Compute {
    /// Lays out the inputs of products, in buffers that are reused.
    func prepare(_ list: inout ProductList) {
        let needsPairs = kernels.wideProducts != nil ? { _ in false } : kernels.products?.needsPairs
        for product in list.products {
            list.inputs[product.input].needs.add(product.layer.weights, needsPairs, words: kernels.words != nil)
            if let gate = product.gate {
                list.inputs[product.input].needs.add(gate.layer.weights, needsPairs, words: kernels.words != nil)
            }
        }
        var floats = packedActivations(floats: list.inputs.reduce(0) { $0 + $1.copiedFloats + $1.interleavedFloats })
        for index in list.inputs.indices where list.inputs[index].copiedFloats > 0 {
            list.inputs[index].copy = copy(list.inputs[index].matrix, into: floats)
            floats += list.inputs[index].copiedFloats
        }
        interleave(&list.inputs, into: floats)
        if let kernels = kernels.wideProducts { return roundWide(&list.inputs, kernels, self.kernels.words) }
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
    /// Whether some layers have packed weights, and some weights that are read as they are in the file.
    var (rounded, floats) = (false, false)
    /// Whether some layers have `PackedFloats` that multiply all rows as floats, and some that multiply those of prompts as
    /// integers.
    var (interleaved, words) = (false, false)
    /// Whether all rows are quantized to 14 bits, two columns each.
    var pairs = false

    /// - Parameters:
    ///   - needsPairs: `nil` if the tier has no integer products.
    ///   - words: Whether the tier has `WordKernels`.
    mutating func add(_ weights: WeightMatrix, _ needsPairs: ((PackedLayout.Format) -> Bool)?, words: Bool) {
        // Rows behind the last whole group are read from the file.
        if weights.rows > weights.wholeGroups { floats = true }
        if weights.packedFloats != nil {
            if words, WordActivations.areRead(by: weights) { self.words = true } else { interleaved = true }
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
    /// Rows that are multiplied as 16-bit integers. A layer that needs floats of all rows makes them floats for all layers.
    fileprivate var wordRows: Range<Int> { (needs.words && !needs.interleaved ? exact : matrix.rows)..<matrix.rows }

    /// Rows in `FloatActivations`.
    fileprivate var floatRows: Matrix {
        matrix[rows: 0, count: needs.interleaved || needs.words ? wordRows.lowerBound : 0]
    }

    /// Floats of `FloatActivations`; 0 for a single row, which is read in place.
    fileprivate var interleavedFloats: Int {
        floatRows.rows > 1 ? FloatActivations(matrix.base, floatRows).floats : 0
    }
}

extension PreparedInput {
    fileprivate var pairedRows: Int { needs.pairs || sensitive ? matrix.rows : exact }

    fileprivate func roundedBytes(_ kernels: ProductKernels) -> Int {
        guard needs.rounded else { return 0 }
        return RoundedActivations.tiling(
            tokens: matrix.rows, paired: pairedRows, columns: matrix.columns, kernels
        ).0.bytes
    }
}

extension PreparedInput {
    /// - Parameter base: `nil` to learn how much memory they need.
    fileprivate func wide(at base: UnsafeMutableRawPointer?) -> WideActivations? {
        guard needs.rounded else { return nil }
        return WideActivations(base, tokens: matrix.rows, paired: pairedRows, columns: matrix.columns)
    }

    /// The same, behind those of `wide`.
    fileprivate func words(at base: UnsafeMutableRawPointer?) -> WordActivations? {
        guard !wordRows.isEmpty else { return nil }
        let offset = wide(at: nil)?.bytes ?? 0
        return WordActivations(base.map { $0 + offset }, rows: wordRows, columns: matrix.columns)
    }
}

extension Compute {
    /// Number of values below which waking other threads does not pay.
    private static let serialValues = 1 << 13

    /// Lays out activations as `FloatActivations`.
    private func interleave(_ inputs: inout [PreparedInput], into memory: UnsafeMutablePointer<Float>) {
        var memory = memory
        for index in inputs.indices where inputs[index].floatRows.rows > 0 {
            let matrix = inputs[index].floatRows
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
    private func roundWide(_ inputs: inout [PreparedInput], _ kernels: WideKernels, _ words: WordKernels?) {
        // Reserve all memory first: growing the buffer moves it.
        var bytes = 0
        for input in inputs {
            bytes += input.wide(at: nil)?.bytes ?? 0
            bytes += input.words(at: nil)?.bytes ?? 0
        }
        var base = roundedActivations(bytes: bytes)
        var (tiles, values) = (0, 0)
        for index in inputs.indices {
            let (wide, words) = (inputs[index].wide(at: base), inputs[index].words(at: base))
            (inputs[index].wide, inputs[index].words) = (wide, words)
            guard wide != nil || words != nil else { continue }
            base += (wide?.bytes ?? 0) + (words?.bytes ?? 0)
            tiles += (wide?.tileCount ?? 0) + (words?.tileCount ?? 0)
            values += inputs[index].matrix.rows * inputs[index].matrix.columns
        }
        let inputs = inputs
        forEachPiece(tiles, serially: values <= Self.serialValues) { piece, _ in
            var tile = piece
            for input in inputs {
                if let wide = input.wide {
                    if tile < wide.tileCount { return wide.fill(tile, from: input.matrix, kernels) }
                    tile -= wide.tileCount
                }
                if let activations = input.words, let words {
                    if tile < activations.tileCount { return activations.fill(tile, from: input.matrix, words) }
                    tile -= activations.tileCount
                }
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
