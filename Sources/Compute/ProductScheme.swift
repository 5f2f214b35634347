/// A way to multiply activations by weights: which weights it takes, the layout in which it reads activations, and the
/// products.
///
/// `KernelSet.schemes` lists those of a tier. Whatever is above them knows neither tiers nor layouts.
protocol ProductScheme: AnyObject, Sendable {
    /// Whether it multiplies by these weights: by all rows, or by the first `wholeGroups` of them.
    func takes(_ weights: WeightMatrix) -> Bool

    /// Whether even a prompt's rows must be exact for these weights.
    func needsExactRows(_ weights: WeightMatrix) -> Bool

    /// Weight rows per block: what a thread computes at a time.
    func blockRows(_ weights: WeightMatrix, inputRows: Int, threads: Int) -> Int

    /// The layout of an input, which has no memory yet.
    ///
    /// - Parameter allExact: Whether the weights of some layer need exact rows.
    func layOut(_ input: ProductInput, allExact: Bool) -> any Activations

    /// Whether its activations are `BoundingActivations`.
    var boundsSplitWeights: Bool { get }
}

extension ProductScheme {
    var boundsSplitWeights: Bool { false }
}

/// The rows that products read, and how exactly.
struct ProductInput: Equatable {
    let matrix: Matrix
    /// Rows from this one on are a prompt's, which are multiplied less exactly.
    let exactRows: Int
    /// Whether these are quantized to 14 or 15 bits all the same, instead of 8.
    let isSensitive: Bool

    init(_ matrix: Matrix, exactRows: Int, isSensitive: Bool) {
        self.matrix = matrix
        self.exactRows = min(exactRows, matrix.rows)
        self.isSensitive = isSensitive && exactRows < matrix.rows
    }

    /// Inputs of one list are the same if they begin at the same place.
    static func == (a: Self, b: Self) -> Bool {
        a.matrix.base == b.matrix.base && a.matrix.rows == b.matrix.rows && a.exactRows == b.exactRows
            && a.isSensitive == b.isSensitive
    }

    /// Number of rows up to which products are limited by reading the weights.
    static let fewRows = 8

    /// Least multiplications per block, about 10 µs of work. For one token 150 KB of weights: with 36 KB, prefetching begins
    /// anew so often that reading takes a quarter longer.
    static let leastBlockProducts = 1 << 18

    /// Weight rows per block for few rows of input: a multiple of `unit`.
    static func blockRows(_ weights: WeightMatrix, inputRows: Int, unit: Int) -> Int {
        max(1, (leastBlockProducts / (inputRows * weights.columns) + unit - 1) / unit) * unit
    }
}

/// The rows of an input in the layout that a scheme's kernels read.
protocol Activations {
    var matrix: Matrix { get }
    /// Bytes of memory that the layout takes; 0: the rows are read in place.
    var bytes: Int { get }
    /// - Parameter memory: `bytes` bytes that begin at a cache line.
    mutating func place(at memory: UnsafeMutableRawPointer)

    /// Parts of the layout, which are filled in any order, by several threads.
    var items: Int { get }
    func fill(_ item: Int)

    /// Floats of scratch for `multiply`.
    var scratchFloats: Int { get }
    /// Whether weights are read once, from one end to the other, without being unpacked to memory.
    var streamsWeights: Bool { get }
    /// Values by which each weight is multiplied, as floats and as bytes: a value of more than 8 bits is two bytes.
    var valuesPerWeight: (floats: Int, bytes: Int) { get }

    /// Computes columns `rows` of the product.
    func multiply(
        by weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>)
}

/// Activations of a few rows, of one tile, that can be multiplied by the leading part of split weights, for upper bounds of
/// the outputs.
protocol BoundingActivations: Activations {
    /// Whether all values are.
    var isFinite: Bool { get }
    /// Floats of `PackedProduct.bounds` per block of 32 columns.
    var boundsPerBlock: Int { get }
    /// Computes them: `splitBound` of each block and row.
    func fillBounds(_ bounds: UnsafeMutablePointer<Float>)
    /// Multiplies all bits of some groups of rows, or computes bounds of their outputs.
    func multiply(
        by weights: PackedWeights, groups: Range<Int>, bounds: UnsafePointer<Float>?, into output: Matrix)
}

extension BoundingActivations {
    /// `scale · (126.5 · Σ x - 1.5 · Σ |x|)` of a block of activations' codes x: codes of weights are 128 more than weights, and
    /// the bits that are left out, 0 to 3, are taken as 1.5.
    ///
    /// - Parameters:
    ///   - sum: Σ x.
    ///   - magnitude: Σ |x|.
    ///   - blocks: Number of blocks of a row.
    func splitBound(ofCodes sum: Int, _ magnitude: Int, scale: Float, blocks: Int) -> Float {
        // Each result, of bounds and of outputs, is rounded some 400 · blocks times by 2^-24 of a sum of |weight · x|.
        let reach = 1.5 + 0x1p-24 * Double(400 * blocks + 1000)
        return Float(Double(scale) * (126.5 * Double(sum) - reach * Double(magnitude)))
    }
}

extension KernelSet {
    /// The tier's ways to multiply. The last takes all weights.
    var schemes: [any ProductScheme] {
        var schemes: [any ProductScheme] = []
        if let wideProducts { schemes.append(WideScheme(wideProducts)) }
        if let products { schemes.append(IntegerScheme(products)) }
        if let multiplyPackedFloats {
            schemes.append(PackedFloatScheme(multiplyPackedFloats, words: words, rows: rows))
        }
        return schemes + [FileScheme(self)]
    }
}
