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
    /// Packed weights use integer kernels, and so do weights in F16 and BF16 for prompts on x86-64; others use float kernels.
    package func multiply(_ list: (inout ProductList) -> Void) {
        products.removeAll()
        products.adapters = adapters
        list(&products)
        timed(ProfiledPart(self.products)) {
            prepare(&self.products)
            let products = self.products
            let inner = innerValues(of: products)
            let kernelScratch = products.activations.reduce(0) { max($0, $1.scratchFloats) }
            reserveScratch(floats: kernelScratch + products.gateFloats)
            func multiplyRun(_ run: Range<Int>, _ worker: Int) {
                let scratch = scratchOfWorker(worker)
                products.forEach(in: run) { product, rows in
                    let output = product.output
                    func multiplyOutput() {
                        products.multiply(by: product.factor, rows, into: output, scratch)
                        add(product.factor.updates, inner, to: output, rows)
                    }
                    guard let gate = product.gate else { return multiplyOutput() }
                    // Memory for the columns of this block only; its start is shifted so that they keep their numbers.
                    let gates = Matrix(
                        scratch + kernelScratch - rows.lowerBound, rows: output.rows, columns: rows.upperBound,
                        stride: rows.count)
                    products.multiply(by: gate.factor, rows, into: gates, scratch)
                    add(gate.factor.updates, inner, to: gates, rows)
                    multiplyOutput()
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
                let input = products.input(of: product)
                observer(product.factor.layer.weights, input)
                if let gate = product.gate { observer(gate.factor.layer.weights, input) }
            }
        }
    }

    /// Number of values below which waking other threads does not pay.
    private static let serialValues = 1 << 13

    /// Lays out the inputs of products, in memory that is reused.
    func prepare(_ list: inout ProductList) {
        list.layOut { memoryOfActivations(bytes: $0) }
        var (items, values) = (0, 0)
        for activations in list.activations where activations.items > 0 {
            items += activations.items
            values += activations.matrix.rows * activations.matrix.columns
        }
        let list = list
        forEachItem(items, serially: values <= Self.serialValues) { item, _ in
            var item = item
            for activations in list.activations {
                if item < activations.items { return activations.fill(item) }
                item -= activations.items
            }
        }
    }
}

extension ProductList {
    func input(of product: Product) -> Matrix { activations[product.factor.activations].matrix }

    /// Computes columns `rows` of the product with a layer.
    fileprivate func multiply(
        by factor: Factor, _ rows: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>
    ) {
        let weights = factor.layer.weights
        var rest = rows.upperBound..<rows.upperBound
        if let restActivations = factor.restActivations {
            rest = max(rows.lowerBound, min(rows.upperBound, weights.wholeGroups))..<rows.upperBound
            if !rest.isEmpty { activations[restActivations].multiply(by: weights, rest, into: output, scratch) }
        }
        let whole = rows.lowerBound..<rest.lowerBound
        if !whole.isEmpty { activations[factor.activations].multiply(by: weights, whole, into: output, scratch) }
        factor.layer.finish(output, rows)
    }
}
