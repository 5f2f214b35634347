package import KernelFormats

/// Matrix products of one parallel region, with their weight rows divided into blocks for the workers.
///
/// One list is reused for all steps, so that none of them allocates.
package struct ProductList {
    struct Product {
        /// Index of its input in `inputs`.
        let input: Int
        let layer: Linear
        let output: Matrix
        /// What adapters add to the outputs.
        let updates: [AdapterUpdate]
        /// Factor on the outputs; `nil`: none.
        var gate: Gate?
        fileprivate let blockRows: Int
        fileprivate var blocks: Int { (layer.weights.rows + blockRows - 1) / blockRows }
    }

    /// Gates of the same input, which multiply a block of outputs as soon as it is computed.
    struct Gate {
        let layer: Linear
        let updates: [AdapterUpdate]
        let activation: Activation
    }

    /// Outputs and their gates, which multiply them when all products are computed.
    struct LateGate {
        fileprivate(set) var gates: Matrix
        fileprivate(set) var output: Matrix
        let activation: Activation
    }

    /// Adapters of the step.
    var adapters: [AdapterRows] = []
    /// Floats of the products scale · A·x of all updates.
    private(set) var innerFloats = 0
    /// Floats of scratch for the gates of a block.
    private(set) var gateFloats = 0
    private(set) var lateGates: [LateGate] = []

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
        lateGates.removeAll(keepingCapacity: true)
        blockCount = 0
        gateFloats = 0
        innerFloats = 0
    }

    /// Adds `output = input · layerᵀ`. Products with the same input must be added in a row.
    ///
    /// - Parameters:
    ///   - exact: Rows of `input` from this one on are a prompt's, which are multiplied less exactly.
    ///   - sensitive: Whether these rows are quantized to 14 or 15 bits all the same, instead of 8.
    ///   - stepRows: The step's row of each row of `input`; `nil`: they are the same.
    package mutating func add(
        _ input: Matrix, by layer: Linear, into output: Matrix, exact: Int = .max, sensitive: Bool = false,
        stepRows: [Int]? = nil
    ) {
        // A prefill step before the end of the prompt has no output rows, and so no rows of logits.
        guard input.rows > 0 else { return }
        let input = layer.inputRange.map { copy(input, within: $0) } ?? input
        let prepared = PreparedInput(input, exact: exact, sensitive: sensitive)
        if inputs.last.map({ !prepared.isSame(as: $0) }) ?? true { inputs.append(prepared) }
        let product = Product(
            input: inputs.count - 1, layer: layer, output: output, updates: updates(of: layer, stepRows),
            blockRows: blockRows(input, layer.weights))
        products.append(product)
        blockCount += product.blocks
    }

    /// Adds `output = activation(input · gateᵀ) · (input · layerᵀ)`, a gated linear unit. The gates of a block stay in the
    /// worker's caches: for 512 tokens of a prompt, all of them are larger than most processors' L3 cache.
    ///
    /// - Parameter gates: Memory for all gates, `[rows, outputs]`, if blocks cannot be gated.
    package mutating func add(
        _ input: Matrix, by layer: Linear, gatedBy gate: Linear, _ activation: Activation, into output: Matrix,
        gates: @autoclosure () -> Matrix, exact: Int = .max, stepRows: [Int]? = nil
    ) {
        guard canGateBlocks(input, layer, gate) else {
            let gates = gates()
            add(input, by: gate, into: gates, exact: exact, stepRows: stepRows)
            add(input, by: layer, into: output, exact: exact, stepRows: stepRows)
            return addLate(LateGate(gates: gates, output: output, activation: activation))
        }
        add(input, by: layer, into: output, exact: exact, stepRows: stepRows)
        guard let last = products.indices.last, input.rows > 0 else { return }
        products[last].gate = Gate(layer: gate, updates: updates(of: gate, stepRows), activation: activation)
        gateFloats = max(gateFloats, input.rows * products[last].blockRows)
    }

    /// Rows of the input from which on blocks are gated. Fewer are limited by reading the weights, which is fastest from
    /// one end of a matrix to the other.
    private static let leastGatedRows = 32

    /// Whether both products are divided into the same blocks, of a multiple of 16 rows: for other numbers of values,
    /// activations may be computed with other bits.
    private func canGateBlocks(_ input: Matrix, _ layer: Linear, _ gate: Linear) -> Bool {
        let (weights, gates) = (layer.weights, gate.weights)
        return input.rows >= Self.leastGatedRows && layer.inputRange == nil && gate.inputRange == nil
            && weights.rows % PackedLayout.rows == 0
            && (weights.packed != nil && gates.packed != nil
                || weights.packedFloats != nil && gates.packedFloats != nil)
            && blockRows(input, weights) == blockRows(input, gates)
    }

    /// Adds to `lateGates`, or to its last element if the rows follow in memory, as those of experts do.
    private mutating func addLate(_ late: LateGate) {
        guard let last = lateGates.last, last.gates[last.gates.rows] == late.gates.base,
            last.output[last.output.rows] == late.output.base, last.output.columns == late.output.columns
        else { return lateGates.append(late) }
        let rows = last.gates.rows + late.gates.rows
        lateGates[lateGates.count - 1].gates = last.gates[rows: 0, count: rows]
        lateGates[lateGates.count - 1].output = last.output[rows: 0, count: rows]
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

    /// - Parameter stepRows: The step's row of each row of the input; `nil`: they are the same.
    private mutating func updates(of layer: Linear, _ stepRows: [Int]?) -> [AdapterUpdate] {
        var updates: [AdapterUpdate] = []
        for use in adapters {
            guard let update = AdapterUpdate(use, layer.weights, stepRows, inner: innerFloats) else { continue }
            updates.append(update)
            innerFloats += update.innerFloats
        }
        return updates
    }

    /// Whether kernels read all weights from one end to the other, so that they may take any number of blocks at once.
    var streamsWeights: Bool {
        inputs.allSatisfy(\.isSingleTile) && products.allSatisfy { $0.gate == nil && $0.layer.weights.packed != nil }
    }

    /// Calls `body` with the products that a run of blocks belongs to, and the weight rows of each.
    func forEach(in run: Range<Int>, _ body: (_ product: Product, _ rows: Range<Int>) -> Void) {
        var first = 0
        for product in products {
            let blocks = run.clamped(to: first..<first + product.blocks)
            if !blocks.isEmpty {
                let start = (blocks.lowerBound - first) * product.blockRows
                body(product, start..<min(start + blocks.count * product.blockRows, product.layer.weights.rows))
            }
            first += product.blocks
        }
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
