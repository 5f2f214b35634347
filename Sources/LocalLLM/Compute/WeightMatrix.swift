import KernelFormats

/// The weights of a linear layer: `rows` outputs by `columns` inputs, row-major, in the format of the file.
struct WeightMatrix: Sendable {
    let tensor: TensorView
    /// The same, for the integer kernels.
    let packed: PackedWeights?
    let rows: Int
    let columns: Int
    /// That of the tensor which is this matrix's first.
    let firstRow: Int

    /// - Parameter tensor: Two dimensions, the row length first.
    init(_ tensor: TensorView, packed: PackedWeights? = nil) {
        self.init(tensor, rows: 0..<tensor.shape.dropFirst().reduce(1, *), packed: packed)
    }

    /// Rows of a tensor, however many dimensions it has.
    ///
    /// - Parameter packed: From the first of these rows on.
    init(_ tensor: TensorView, rows: Range<Int>, packed: PackedWeights?) {
        self.tensor = tensor
        self.packed = packed
        columns = tensor.shape[0]
        self.rows = rows.count
        firstRow = rows.lowerBound
    }

    /// The `count` matrices of a tensor of three dimensions.
    static func each(of tensor: TensorView, count: Int, packed: PackedWeights?) -> [WeightMatrix] {
        let rows = tensor.count / tensor.shape[0] / count
        return (0..<count).map { index in
            let first = index * rows
            return WeightMatrix(tensor, rows: first..<first + rows, packed: packed?.suffix(fromRow: first))
        }
    }

    /// Some of the rows, as a matrix of their own. It is not repacked where the rows do not begin and end between groups of
    /// repacked ones.
    subscript(rows range: Range<Int>) -> WeightMatrix {
        let isAligned = range.lowerBound % PackedLayout.rows == 0 && range.count % PackedLayout.rows == 0
        return WeightMatrix(
            tensor, rows: firstRow + range.lowerBound..<firstRow + range.upperBound,
            packed: isAligned ? packed?.suffix(fromRow: range.lowerBound) : nil)
    }

    var type: TensorType { tensor.type }
    func row(_ index: Int) -> UnsafeRawPointer { tensor.bytes.baseAddress! + (firstRow + index) * tensor.rowBytes }
}

/// A linear layer: `y = scale · W·x + b`.
struct Linear: Sendable {
    let weights: WeightMatrix
    /// One for all weights: formats whose block scales alone do not reach far enough (NVFP4) come with it.
    var scale: Float = 1
    /// `[rows]` floats.
    var bias: [Float]?
    /// What the inputs and the outputs are kept within; `nil`: they stay.
    var inputRange: ClosedRange<Float>?
    var outputRange: ClosedRange<Float>?

    /// Finishes columns `rows` of the product in `output`.
    func finish(_ output: Matrix, _ rows: Range<Int>) {
        guard scale != 1 || bias != nil || outputRange != nil else { return }
        for row in 0..<output.rows {
            let values = output[row]
            if scale != 1 { for index in rows { values[index] *= scale } }
            if let bias { for index in rows { values[index] += bias[index] } }
            if let range = outputRange {
                for index in rows { values[index] = min(range.upperBound, max(range.lowerBound, values[index])) }
            }
        }
    }
}
