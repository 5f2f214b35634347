import GGUF
import Compute

extension CausalConvolution {
    /// - Parameters:
    ///   - names: Tensors `[taps, channels / names.count]`, concatenated along the channels; dimensions of 1 are
    ///     ignored.
    ///   - bias: An optional vector in the file.
    init(
        _ file: ModelReader, _ names: [String], bias: String? = nil, taps: Int, channels: Int, silu: Bool
    ) throws(ModelFileError) {
        let part = channels / names.count
        var weights = [Float](repeating: 0, count: taps * channels)
        for (index, name) in names.enumerated() {
            let values = try file.floats(name, dimensions: [taps, part])
            for channel in 0..<part {
                for tap in 0..<taps { weights[tap * channels + index * part + channel] = values[channel * taps + tap] }
            }
        }
        var own: [Float]?
        if let bias { own = try file.vectorIfPresent(bias, channels) }
        self.init(channels: channels, taps: taps, silu: silu, weights: weights, bias: own)
    }
}

extension ModelReader {
    /// The values of a tensor with these dimensions; dimensions of 1 are ignored.
    func floats(_ name: String, dimensions: [Int]) throws(ModelFileError) -> [Float] {
        guard let tensor = tensorIfPresent(name) else {
            throw ModelFileError(.missingTensor, "Tensor '\(name)' of shape \(dimensions) is missing.", path: path)
        }
        guard tensor.shape.filter({ $0 != 1 }) == dimensions.filter({ $0 != 1 }) else {
            throw ModelFileError(
                .badTensor, "Tensor '\(name)' must have the shape \(dimensions), but has \(tensor.shape).",
                path: tensor.file.path)
        }
        return tensor.floats()
    }
}
