import KernelFormats
import KernelsPortable

/// Tensors as the shapes that networks are made of.
extension GGUFFile {
    /// `[rows, columns]`, any number of rows.
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

    /// A matrix that is multiplied by, repacked if this file's loading does that.
    func weights(_ tensor: TensorView) -> WeightMatrix { WeightMatrix(tensor, packed: packer?.pack(tensor)) }

    /// `name.weight` `[outputs, inputs]`, and `name.scale` and `name.bias` where there are such.
    func linear(_ name: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
        Linear(
            weights: weights(try tensor(name + ".weight", shape: [inputs, outputs])),
            scale: try vectorIfPresent(name + ".scale", 1)?[0] ?? 1,
            bias: try vectorIfPresent(name + ".bias", outputs))
    }

    /// Layers whose weights and biases are one below the other in `name.weight` and `name.bias`.
    func linears(_ name: String, from inputs: Int, to outputs: [Int]) throws(ModelFileError) -> [Linear] {
        let all = try linear(name, from: inputs, to: outputs.reduce(0, +))
        var first = 0
        return outputs.map { count in
            let rows = first..<first + count
            first += count
            return Linear(weights: all.weights[rows: rows], scale: all.scale, bias: all.bias.map { Array($0[rows]) })
        }
    }

    /// As `linear`, but in an MLP the scale multiplies the bias too.
    func mlpLinear(
        _ name: String, from inputs: Int, to outputs: Int, scaled: Bool
    ) throws(ModelFileError) -> Linear {
        var layer = try linear(name, from: inputs, to: outputs)
        if scaled { layer.bias = layer.bias?.map { $0 * layer.scale } } else { layer.scale = 1 }
        return layer
    }

    /// The `count` layers of `name_exps`, a tensor of three dimensions, or of `name.0`, `name.1`, …, as files had them before
    /// April 2024.
    func experts(
        _ name: String, _ count: Int, from inputs: Int, to outputs: Int, scaled: Bool
    ) throws(ModelFileError) -> [Linear] {
        if tensorIfPresent(name + "_exps.weight") == nil, tensorIfPresent(name + ".0.weight") != nil {
            var layers: [Linear] = []
            for expert in 0..<count {
                layers.append(try mlpLinear("\(name).\(expert)", from: inputs, to: outputs, scaled: scaled))
            }
            return layers
        }
        let tensor = try tensor(name + "_exps.weight", shape: [inputs, outputs, count])
        let scales = scaled ? try vectorIfPresent(name + "_exps.scale", count) : nil
        return WeightMatrix.each(of: tensor, count: count, packed: packer?.pack(tensor)).enumerated().map {
            Linear(weights: $1, scale: scales?[$0] ?? 1)
        }
    }

    func vector(_ name: String, _ count: Int) throws(ModelFileError) -> [Float] {
        try tensor(name, shape: [count]).floats()
    }

    func vectorIfPresent(_ name: String, _ count: Int) throws(ModelFileError) -> [Float]? {
        try tensorIfPresent(name, shape: [count])?.floats()
    }
}

extension TensorView {
    /// All values, as floats.
    func floats() -> [Float] {
        [Float](unsafeUninitializedCapacity: count) { buffer, initialized in
            dequantize(type, bytes.baseAddress!, into: buffer.baseAddress!, count: count)
            initialized = count
        }
    }
}
