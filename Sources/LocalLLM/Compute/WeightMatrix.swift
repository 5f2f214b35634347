import KernelFormats

/// The weights of a linear layer: `rows` outputs by `columns` inputs, row-major, in the format of the file.
struct WeightMatrix: Sendable {
    let tensor: TensorView
    let rows: Int
    let columns: Int

    /// - Parameter tensor: Two dimensions, the row length first.
    init(_ tensor: TensorView) {
        self.tensor = tensor
        columns = tensor.shape[0]
        rows = tensor.shape.dropFirst().reduce(1, *)
    }

    var type: TensorType { tensor.type }
    func row(_ index: Int) -> UnsafeRawPointer { tensor.bytes.baseAddress! + index * tensor.rowBytes }
}

/// A linear layer: `y = W·x + b`.
struct Linear: Sendable {
    let weights: WeightMatrix
    /// `[rows]` floats.
    let bias: [Float]?
}
