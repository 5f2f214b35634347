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

    /// As `linear`, but in an MLP the scale multiplies the bias too.
    func mlpLinear(
        _ name: String, from inputs: Int, to outputs: Int, scaled: Bool
    ) throws(ModelFileError) -> Linear {
        var layer = try linear(name, from: inputs, to: outputs)
        if scaled { layer.bias = layer.bias?.map { $0 * layer.scale } } else { layer.scale = 1 }
        return layer
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
