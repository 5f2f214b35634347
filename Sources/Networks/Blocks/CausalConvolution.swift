import GGUF
import Compute

/// A depthwise causal convolution over the tokens of a sequence, followed by SiLU if the model has it. Its state is the
/// last `taps − 1` inputs, `[taps − 1][channels]`, oldest first.
struct CausalConvolution {
    let channels: Int
    let taps: Int
    let silu: Bool
    /// `[taps][channels]`
    private let weights: [Float]
    private let bias: [Float]?

    /// - Parameters:
    ///   - names: Tensors `[taps, channels / names.count]`, concatenated along the channels; dimensions of 1 are
    ///     ignored.
    ///   - bias: An optional vector in the file.
    init(
        _ file: ModelReader, _ names: [String], bias: String? = nil, taps: Int, channels: Int, silu: Bool
    ) throws(ModelFileError) {
        self.channels = channels
        self.taps = taps
        self.silu = silu
        let part = channels / names.count
        var weights = [Float](repeating: 0, count: taps * channels)
        for (index, name) in names.enumerated() {
            let values = try file.floats(name, dimensions: [taps, part])
            for channel in 0..<part {
                for tap in 0..<taps { weights[tap * channels + index * part + channel] = values[channel * taps + tap] }
            }
        }
        self.weights = weights
        self.bias = if let bias { try file.vectorIfPresent(bias, channels) } else { nil }
    }

    var stateFloats: Int { (taps - 1) * channels }

    /// - Parameters:
    ///   - input: `[rows, channels]`
    ///   - output: `[rows, channels]`, must not overlap `input`.
    ///   - runs: The convolution's state is at the start of theirs.
    func forward(_ input: Matrix, into output: Matrix, _ runs: [RecurrentRun], _ compute: Compute) {
        compute.reserveScratch(floats: taps * MemoryLayout<UnsafePointer<Float>>.size / MemoryLayout<Float>.size)
        compute.timed(ProfiledPart(name: "convolution")) {
            for run in runs {
                let isSmall = run.rows.count * channels * taps <= 1 << 14
                compute.forEachPiece(run.rows.count, serially: isSmall) { index, worker in
                    let row = run.rows.lowerBound + index
                    let inputs = UnsafeMutableRawPointer(compute.scratchOfWorker(worker))
                        .bindMemory(to: UnsafePointer<Float>.self, capacity: taps)
                    for tap in 0..<taps {
                        let source = index - (taps - 1) + tap
                        inputs[tap] = UnsafePointer(
                            source < 0
                                ? run.state + (taps - 1 + source) * channels : input[run.rows.lowerBound + source])
                    }
                    weights.withUnsafeBufferPointer { weights in
                        if let bias {
                            bias.withUnsafeBufferPointer { bias in
                                compute.kernels.recurrent.convolve(
                                    inputs, weights.baseAddress!, bias.baseAddress!, taps, channels, silu, output[row])
                            }
                        } else {
                            compute.kernels.recurrent.convolve(
                                inputs, weights.baseAddress!, nil, taps, channels, silu, output[row])
                        }
                    }
                }
                remember(input, run)
            }
        }
    }

    /// Stores the last inputs of a run in its state.
    private func remember(_ input: Matrix, _ run: RecurrentRun) {
        let kept = max(0, taps - 1 - run.rows.count)
        // Ascending: each slot is read before it is overwritten.
        for slot in 0..<taps - 1 {
            let source =
                slot < kept
                ? run.state + (slot + run.rows.count) * channels
                : input[run.rows.upperBound - (taps - 1) + slot]
            (run.state + slot * channels).update(from: source, count: channels)
        }
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
