/// Matrix products of one parallel region, with their weight rows divided into blocks for the workers.
///
/// One list is reused for all steps, so that none of them allocates.
struct ProductList {
    struct Product {
        /// Index of its input in `inputs`.
        let input: Int
        let layer: Linear
        let output: Matrix
        /// The step's row of each input row; `nil`: they are the same.
        let stepRows: [Int]?
        fileprivate let blockRows: Int
        fileprivate var blocks: Int { (layer.weights.rows + blockRows - 1) / blockRows }
    }

    /// Number of threads, if packed weights are multiplied by the AVX-512 tier, which takes blocks of its own.
    var wideThreads: Int?

    /// Each input once, for all products that read it.
    var inputs: [PreparedInput] = []
    private(set) var products: [Product] = []
    private(set) var blockCount = 0
    /// Copies of inputs, clamped to their layers' ranges.
    private var ranged: [AlignedBuffer] = []
    private var rangedCount = 0

    mutating func removeAll() {
        rangedCount = 0
        inputs.removeAll(keepingCapacity: true)
        products.removeAll(keepingCapacity: true)
        blockCount = 0
    }

    /// Adds `output = input · layerᵀ`. Products with the same input must be added in a row.
    ///
    /// - Parameters:
    ///   - exact: Rows of `input` from this one on are a prompt's, which are multiplied less exactly.
    ///   - sensitive: Whether these rows are quantized to 14 or 15 bits all the same, instead of 8.
    ///   - stepRows: The step's row of each row of `input`; `nil`: they are the same.
    mutating func add(
        _ input: Matrix, by layer: Linear, into output: Matrix, exact: Int = .max, sensitive: Bool = false,
        stepRows: [Int]? = nil
    ) {
        // A prefill step before the end of the prompt has no output rows, and so no rows of logits.
        guard input.rows > 0 else { return }
        let input = layer.inputRange.map { copy(input, within: $0) } ?? input
        let prepared = PreparedInput(input, exact: exact, sensitive: sensitive)
        if inputs.last.map({ !prepared.isSame(as: $0) }) ?? true { inputs.append(prepared) }
        let product = Product(
            input: inputs.count - 1, layer: layer, output: output, stepRows: stepRows,
            blockRows: blockRows(input, layer.weights))
        products.append(product)
        blockCount += product.blocks
    }

    private mutating func copy(_ input: Matrix, within range: ClosedRange<Float>) -> Matrix {
        let floats = input.rows * input.columns
        if rangedCount == ranged.count { ranged.append(AlignedBuffer(byteCount: 0)) }
        if ranged[rangedCount].byteCount < floats * MemoryLayout<Float>.stride {
            ranged[rangedCount] = AlignedBuffer(floats: floats)
        }
        let copy = ranged[rangedCount].matrix(rows: input.rows, columns: input.columns)
        rangedCount += 1
        for row in 0..<input.rows {
            let (from, to) = (input[row], copy[row])
            for column in 0..<input.columns {
                to[column] = min(range.upperBound, max(range.lowerBound, from[column]))
            }
        }
        return copy
    }

    /// The product of a block, and the block's weight rows.
    subscript(block block: Int) -> (product: Product, rows: Range<Int>) {
        var (index, block) = (0, block)
        while block >= products[index].blocks {
            block -= products[index].blocks
            index += 1
        }
        let product = products[index]
        let first = block * product.blockRows
        return (product, first..<min(first + product.blockRows, product.layer.weights.rows))
    }

    /// Weight rows per block with many input rows: enough for the products' inner blocking.
    private static let packedPanelRows = 64
    /// Minimum multiplications per block, about 10 µs of work. For one token 150 KB of weights: with 36 KB, prefetching
    /// begins anew so often that reading takes a quarter longer.
    private static let pieceProducts = 1 << 18

    private func blockRows(_ input: Matrix, _ weights: WeightMatrix) -> Int {
        if weights.packedFloats != nil { return FloatActivations.blockRows(input, weights, threads: wideThreads ?? 1) }
        let isPacked = weights.packed != nil
        if isPacked, let wideThreads { return WideActivations.blockRows(weights, threads: wideThreads) }
        // Packed weights are in groups of 16 rows, of which tiles take two at a time.
        let unit = !isPacked ? Compute.floatGroupRows : input.rows == 1 ? 16 : 32
        guard input.rows <= PreparedInput.fewRows else {
            return isPacked ? Self.packedPanelRows : Compute.floatPanelRows
        }
        return max(1, (Self.pieceProducts / (input.rows * input.columns) + unit - 1) / unit) * unit
    }
}
