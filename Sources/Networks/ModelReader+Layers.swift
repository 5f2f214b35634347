import GGUF
import Compute
import KernelFormats
import KernelsPortable

/// Tensors in the forms that networks use.
extension ModelReader {
    /// A matrix `[rows, columns]` with any number of rows.
    func matrix(_ name: String, columns: Int) throws(ModelFileError) -> WeightMatrix {
        guard let tensor = tensorIfPresent(name) else {
            throw ModelFileError(.missingTensor, "Tensor '\(name)' of \(columns) columns is missing.", path: path)
        }
        guard tensor.shape.count == 2, tensor.shape[0] == columns else {
            throw ModelFileError(
                .badTensor, "Tensor '\(name)' must have the shape [\(columns), any], but has \(tensor.shape).",
                path: tensor.file.path)
        }
        return WeightMatrix(tensor)
    }

    /// A weight matrix, repacked if there is a packer.
    func weights(_ tensor: TensorView) -> WeightMatrix { WeightMatrix(tensor, packed: packer?.pack(tensor)) }

    /// The weights of an output head, of which mostly the rows with the largest results are wanted.
    func headWeights(_ tensor: TensorView) -> WeightMatrix {
        WeightMatrix(tensor, packed: packer?.packHead(tensor))
    }

    /// `name.weight` `[outputs, inputs]`, with `name.scale` and `name.bias` if present.
    ///
    /// - Parameter isHead: Whether mostly the largest outputs are wanted.
    func linear(
        _ name: String, from inputs: Int, to outputs: Int, isHead: Bool = false
    ) throws(ModelFileError) -> Linear {
        let tensor = try tensor(name + ".weight", shape: [inputs, outputs])
        let scale = try vectorIfPresent(name + ".scale", 1)?[0] ?? 1
        let bias = try vectorIfPresent(name + ".bias", outputs)
        let isPlain = scale == 1 && bias == nil
        return Linear(weights: isHead && isPlain ? headWeights(tensor) : weights(tensor), scale: scale, bias: bias)
    }

    /// Splits the fused projection `name.weight` into parts of `outputs` rows each.
    func linears(
        _ name: String, from inputs: Int, to outputs: [Int], scaled: Bool = true
    ) throws(ModelFileError) -> [Linear] {
        let tensor = try tensor(name + ".weight", shape: [inputs, outputs.reduce(0, +)])
        let bias = try vectorIfPresent(name + ".bias", outputs.reduce(0, +))
        let scale = scaled ? try vectorIfPresent(name + ".scale", 1)?[0] ?? 1 : 1
        // Repacked weights can be split only at groups of rows.
        let packed = outputs.dropLast().allSatisfy { $0 % PackedLayout.rows == 0 } ? packer?.pack(tensor) : nil
        var first = 0
        return outputs.map { rows in
            let range = first..<first + rows
            first += rows
            return Linear(
                weights: WeightMatrix(tensor, rows: range, packed: packed?.suffix(fromRow: range.lowerBound)),
                scale: scale, bias: bias.map { Array($0[range]) })
        }
    }

    /// As `linear`; the scale multiplies the bias too, or is ignored if `scaled` is false.
    func mlpLinear(
        _ name: String, from inputs: Int, to outputs: Int, scaled: Bool
    ) throws(ModelFileError) -> Linear {
        var layer = try linear(name, from: inputs, to: outputs)
        if scaled { layer.bias = layer.bias?.map { $0 * layer.scale } } else { layer.scale = 1 }
        return layer
    }

    /// The `count` experts of `name` + `suffix`, a tensor of three dimensions, or of `name.0`, `name.1`, … in files
    /// from before April 2024.
    func experts(
        _ name: String, _ suffix: String, _ count: Int, from inputs: Int, to outputs: Int, scaled: Bool
    ) throws(ModelFileError) -> [Linear] {
        if tensorIfPresent(name + suffix + ".weight") == nil, tensorIfPresent(name + ".0.weight") != nil {
            var layers: [Linear] = []
            for expert in 0..<count {
                layers.append(try mlpLinear("\(name).\(expert)", from: inputs, to: outputs, scaled: scaled))
            }
            return layers
        }
        return try experts(name + suffix, count, from: inputs, to: [outputs], scaled: scaled).map { $0[0] }
    }

    /// The parts of each of the `count` matrices of `name`, a tensor of three dimensions.
    func experts(
        _ name: String, _ count: Int, from inputs: Int, to outputs: [Int], scaled: Bool
    ) throws(ModelFileError) -> [[Linear]] {
        let rows = outputs.reduce(0, +)
        let tensor = try tensor(name + ".weight", shape: [inputs, rows, count])
        let scales = scaled ? try vectorIfPresent(name + ".scale", count) : nil
        let biases = try tensorIfPresent(name + ".bias", shape: [rows, count])?.floats()
        let isAligned = outputs.allSatisfy { $0 % PackedLayout.rows == 0 }
        let isOnDisk = packer?.experts != nil && ExpertCache.isExperts(tensor)
        let matrices = isAligned ? packer?.experts?.add(tensor, count: count) : nil
        let packed = isAligned && !isOnDisk ? packer?.pack(tensor) : nil
        return (0..<count).map { expert in
            var first = expert * rows
            return outputs.map { rows in
                let range = first..<first + rows
                first += rows
                return Linear(
                    weights: WeightMatrix(
                        tensor, rows: range, packed: packed?.suffix(fromRow: range.lowerBound),
                        expert: matrices?[expert].suffix(fromRow: range.lowerBound - expert * outputs.reduce(0, +))),
                    scale: scales?[expert] ?? 1, bias: biases.map { Array($0[range]) })
            }
        }
    }

    func vector(_ name: String, _ count: Int) throws(ModelFileError) -> [Float] {
        try tensor(name, shape: [count]).floats()
    }

    func vectorIfPresent(_ name: String, _ count: Int) throws(ModelFileError) -> [Float]? {
        try tensorIfPresent(name, shape: [count])?.floats()
    }
}
