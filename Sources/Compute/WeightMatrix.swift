package import GGUF
package import KernelFormats

/// The weights of a linear layer: `rows` outputs by `columns` inputs, row-major, in the file's format.
package struct WeightMatrix: Sendable {
    package let tensor: TensorView
    private let loaded: RepackedWeights?
    /// The matrix of an expert that is not always in memory.
    package let expert: ExpertCache.Matrix?
    package let rows: Int
    package let columns: Int
    /// Row of `tensor` at which this matrix starts.
    package let firstRow: Int

    /// - Parameter tensor: Two-dimensional, row length first.
    package init(_ tensor: TensorView, packed: RepackedWeights? = nil) {
        self.init(tensor, rows: 0..<tensor.shape.dropFirst().reduce(1, *), packed: packed)
    }

    /// A range of rows of a tensor with any number of dimensions.
    ///
    /// - Parameters:
    ///   - packed: Packed weights beginning with the first of these rows.
    ///   - expert: The same of an expert that is not always in memory.
    package init(_ tensor: TensorView, rows: Range<Int>, packed: RepackedWeights?, expert: ExpertCache.Matrix? = nil) {
        self.tensor = tensor
        loaded = packed
        self.expert = expert
        columns = tensor.shape[0]
        self.rows = rows.count
        firstRow = rows.lowerBound
    }

    /// The first rows, a multiple of 16, which `packed` or `packedFloats` hold if the matrix is repacked. The others are read
    /// from the tensor.
    var wholeGroups: Int { rows / PackedLayout.rows * PackedLayout.rows }

    /// The weights repacked for the integer kernels, if they are, and are in memory.
    var packed: PackedWeights? {
        guard case .integers(let weights)? = loaded ?? expert?.packed else { return nil }
        return weights
    }

    /// Weights in F32, F16 or BF16, repacked; see `PackedFloats`.
    var packedFloats: PackedFloatWeights? {
        guard case .floats(let weights)? = loaded ?? expert?.packed else { return nil }
        return weights
    }

    /// The `count` matrices of a three-dimensional tensor.
    package static func each(of tensor: TensorView, count: Int, packed: RepackedWeights?) -> [WeightMatrix] {
        let rows = tensor.count / tensor.shape[0] / count
        return (0..<count).map { index in
            let first = index * rows
            return WeightMatrix(tensor, rows: first..<first + rows, packed: packed?.suffix(fromRow: first))
        }
    }

    /// Some of the rows. The result has packed weights only if the range begins at the border of a packed group.
    subscript(rows range: Range<Int>) -> WeightMatrix {
        let isAligned = range.lowerBound % PackedLayout.rows == 0
        return WeightMatrix(
            tensor, rows: firstRow + range.lowerBound..<firstRow + range.upperBound,
            packed: isAligned ? loaded?.suffix(fromRow: range.lowerBound) : nil,
            expert: isAligned ? expert?.suffix(fromRow: range.lowerBound) : nil)
    }

    package var type: TensorType { tensor.type }
    package func row(_ index: Int) -> UnsafeRawPointer {
        tensor.bytes.baseAddress! + (firstRow + index) * tensor.rowBytes
    }
}

/// A linear layer: `y = scale · W·x + b`.
package struct Linear: Sendable {
    package let weights: WeightMatrix
    /// Scale of all weights, which comes with formats whose block scales have too little range (NVFP4).
    package var scale: Float = 1
    /// `[rows]` floats.
    package var bias: [Float]?
    /// Range to clamp inputs and outputs to; `nil`: none.
    package var inputRange: ClosedRange<Float>?
    package var outputRange: ClosedRange<Float>?

    package init(
        weights: WeightMatrix, scale: Float = 1, bias: [Float]? = nil, inputRange: ClosedRange<Float>? = nil,
        outputRange: ClosedRange<Float>? = nil
    ) {
        self.weights = weights
        self.scale = scale
        self.bias = bias
        self.inputRange = inputRange
        self.outputRange = outputRange
    }

    /// Applies scale, bias and range to columns `rows` of the product in `output`.
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
