package import KernelFormats

/// Matrix products of one parallel region, with their weight rows divided into blocks for the workers.
///
/// One list is reused for all steps, so that none of them allocates.
package struct ProductList {
    struct Product {
        let factor: Factor
        let output: Matrix
        /// Factor on the outputs; `nil`: none.
        var gate: Gate?
        fileprivate let blockRows: Int
        fileprivate var blocks: Int { (factor.layer.weights.rows + blockRows - 1) / blockRows }
    }

    /// A layer by which an input is multiplied.
    struct Factor {
        let layer: Linear
        /// Index in `activations` of the input in the layout of the layer's scheme.
        let activations: Int
        /// The same for the rows behind the last whole group, which are not repacked; `nil`: there are none.
        let restActivations: Int?
        /// What adapters add to the outputs.
        let updates: [AdapterUpdate]
    }

    /// Gates of the same input, which multiply a block of outputs as soon as it is computed.
    struct Gate {
        let factor: Factor
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

    private let schemes: [any ProductScheme]
    private let threads: Int

    /// Each input once, for all products that read it.
    private var inputs: [ProductInput] = []
    /// The layouts that products read.
    private var layouts: [Layout] = []
    /// Each of them, once all products are known.
    var activations: [any Activations] = []
    private(set) var products: [Product] = []
    private(set) var blockCount = 0
    /// Copies of inputs, clamped to their layers' ranges.
    private var ranged: [AlignedBuffer] = []
    private var rangedCount = 0

    /// The last input in the layout of a scheme.
    private struct Layout {
        let input: Int
        let scheme: Int
        var allExact: Bool
    }

    init(schemes: [any ProductScheme], threads: Int) {
        (self.schemes, self.threads) = (schemes, threads)
    }

    mutating func removeAll() {
        rangedCount = 0
        inputs.removeAll(keepingCapacity: true)
        layouts.removeAll(keepingCapacity: true)
        activations.removeAll(keepingCapacity: true)
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
        let last = ProductInput(input, exactRows: exact, isSensitive: sensitive)
        if inputs.last != last { inputs.append(last) }
        let product = Product(
            factor: factor(layer, stepRows), output: output,
            blockRows: schemes[scheme(of: layer.weights)].blockRows(
                layer.weights, inputRows: input.rows, threads: threads))
        products.append(product)
        blockCount += product.blocks
    }

    /// A layer by which the last input is multiplied.
    private mutating func factor(_ layer: Linear, _ stepRows: [Int]?) -> Factor {
        let (weights, scheme, last) = (layer.weights, scheme(of: layer.weights), schemes.count - 1)
        let hasRest = scheme < last && weights.rows > weights.wholeGroups
        return Factor(
            layer: layer, activations: layout(scheme, weights), restActivations: hasRest ? layout(last, weights) : nil,
            updates: updates(of: layer, stepRows))
    }

    /// The first that takes the weights: the last takes all.
    private func scheme(of weights: WeightMatrix) -> Int {
        schemes.firstIndex { $0.takes(weights) } ?? schemes.count - 1
    }

    /// Index of the last input's layout for some weights.
    private mutating func layout(_ scheme: Int, _ weights: WeightMatrix) -> Int {
        let exact = schemes[scheme].needsExactRows(weights)
        let known = layouts.firstIndex { $0.input == inputs.count - 1 && $0.scheme == scheme }
        guard let known else {
            layouts.append(Layout(input: inputs.count - 1, scheme: scheme, allExact: exact))
            return layouts.count - 1
        }
        layouts[known].allExact = layouts[known].allExact || exact
        return known
    }

    /// Lays out the inputs, in memory that `memory` returns for a number of bytes. They must be filled.
    mutating func layOut(in memory: (_ bytes: Int) -> UnsafeMutableRawPointer) {
        var bytes = 0
        for layout in layouts {
            activations.append(schemes[layout.scheme].layOut(inputs[layout.input], allExact: layout.allExact))
            bytes += Self.cacheLines(activations[activations.count - 1].bytes)
        }
        var place = memory(bytes)
        for index in activations.indices {
            activations[index].place(at: place)
            place += Self.cacheLines(activations[index].bytes)
        }
    }

    private static func cacheLines(_ bytes: Int) -> Int { (bytes + 63) & ~63 }

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
        products[last].gate = Gate(factor: factor(gate, stepRows), activation: activation)
        gateFloats = max(gateFloats, input.rows * products[last].blockRows)
    }

    /// Rows of the input from which on blocks are gated. Fewer are limited by reading the weights, which is fastest from
    /// one end of a matrix to the other.
    private static let leastGatedRows = 32

    /// Whether both products are divided into the same blocks, of a multiple of 16 rows: for other numbers of values,
    /// activations may be computed with other bits.
    private func canGateBlocks(_ input: Matrix, _ layer: Linear, _ gate: Linear) -> Bool {
        guard input.rows >= Self.leastGatedRows, layer.inputRange == nil, gate.inputRange == nil,
            layer.weights.rows % PackedLayout.rows == 0
        else { return false }
        let scheme = scheme(of: layer.weights)
        func blockRows(_ weights: WeightMatrix) -> Int {
            schemes[scheme].blockRows(weights, inputRows: input.rows, threads: threads)
        }
        return scheme < schemes.count - 1 && self.scheme(of: gate.weights) == scheme
            && blockRows(layer.weights) == blockRows(gate.weights)
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
        products.allSatisfy { $0.gate == nil && activations[$0.factor.activations].streamsWeights }
    }

    /// Calls `body` with the products that a run of blocks belongs to, and the weight rows of each.
    func forEach(in run: Range<Int>, _ body: (_ product: Product, _ rows: Range<Int>) -> Void) {
        var first = 0
        for product in products {
            let blocks = run.clamped(to: first..<first + product.blocks)
            if !blocks.isEmpty {
                let start = (blocks.lowerBound - first) * product.blockRows
                body(product, start..<min(start + blocks.count * product.blockRows, product.factor.layer.weights.rows))
            }
            first += product.blocks
        }
    }
}
