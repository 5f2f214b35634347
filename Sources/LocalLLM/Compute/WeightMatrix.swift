import KernelFormats

/// The weights of a linear layer: `rows` outputs by `columns` inputs, row-major, in the format of the file.
struct WeightMatrix: Sendable {
    let tensor: TensorView
    /// The same, for the integer kernels.
    let packed: PackedWeights?
    let rows: Int
    let columns: Int

    /// - Parameter tensor: Two dimensions, the row length first.
    init(_ tensor: TensorView, packed: PackedWeights? = nil) {
        self.tensor = tensor
        self.packed = packed
        columns = tensor.shape[0]
        rows = tensor.shape.dropFirst().reduce(1, *)
    }

    var type: TensorType { tensor.type }
    func row(_ index: Int) -> UnsafeRawPointer { tensor.bytes.baseAddress! + index * tensor.rowBytes }
}

/// A linear layer: `y = scale · W·x + b`.
struct Linear: Sendable {
    let weights: WeightMatrix
    /// One for all weights: formats whose block scales alone do not reach far enough (NVFP4) come with it.
    var scale: Float = 1
    /// `[rows]` floats.
    var bias: [Float]?

    /// Finishes columns `rows` of the product in `output`.
    func finish(_ output: Matrix, _ rows: Range<Int>) {
        guard scale != 1 || bias != nil else { return }
        for row in 0..<output.rows {
            let values = output[row]
            if scale != 1 { for index in rows { values[index] *= scale } }
            if let bias { for index in rows { values[index] += bias[index] } }
        }
    }
}
