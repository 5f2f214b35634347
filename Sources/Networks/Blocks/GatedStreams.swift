import GGUF
import Compute
import KernelFormats

/// Several residual streams that blocks read through a gate and write with a weight per stream (Qwen 4's
/// hyper-connections).
///
///     zᵢ = norm(xᵢ)        input = mean(z · σ(up · silu(down·z / n)))        xᵢ += 2·σ(inject·z / n)ᵢ · output
final class GatedStreams: ResidualConnection {
    private let streams: Int
    private let norm: Norm
    private let down: Linear
    private let up: Linear
    /// `nil`: the connection only gathers the streams.
    private let inject: Linear?

    /// - Parameter name: Prefix of the tensors `{name}_norm.weight`, `_down`, `_up` and `_inject`.
    init(_ model: DecoderBuilder, _ name: String, writes: Bool = true) throws(ModelFileError) {
        let file = model.file
        streams = try HyperConnection.streams(model)
        let size = streams * model.width
        let rank = try model.hyper.count("hyper_connection.low_rank")
        norm = try Self.norm(model, name + "_norm.weight", streams)
        func weights(_ part: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
            Linear(weights: file.weights(try file.tensor("\(name)_\(part).weight", shape: [inputs, outputs])))
        }
        down = try weights("down", from: size, to: rank)
        up = try weights("up", from: rank, to: size)
        inject = writes ? try weights("inject", from: size, to: streams) : nil
    }

    /// A norm of each stream separately. Files have its weights as one vector for all streams, or as one per stream.
    static func norm(_ model: DecoderBuilder, _ name: String, _ streams: Int) throws(ModelFileError) -> Norm {
        let shape =
            model.file.tensorIfPresent(name)?.shape.count == 1 ? [streams * model.width] : [model.width, streams]
        return Norm(
            .rms, weight: try model.file.tensor(name, shape: shape).floats(), epsilon: model.epsilon,
            groupWidth: model.width)
    }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        let (compute, work, rows) = (context.compute, context.work, residual.rows)
        let normed = work[.streams, rows, residual.columns]
        compute.normalize(residual, norm, into: normed)
        let low = work[.lowRank, rows, down.weights.rows], gates = work[.gate, rows, residual.columns]
        let weights = work[.connection, rows, streams]
        compute.multiply {
            $0.add(normed, by: down, into: low)
            if let inject { $0.add(normed, by: inject, into: weights) }
        }
        compute.scale(low, by: 1 / Float(streams))
        compute.activate(low, .silu)
        compute.multiply(low, by: up, into: gates)
        compute.multiply(normed, bySigmoidOf: gates)
        compute.averageStreams(normed, into: input)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let weights = context.work[.connection, residual.rows, streams]
        compute.scale(weights, by: 1 / Float(streams))
        compute.apply(.sigmoid, to: weights)
        compute.scale(weights, by: 2)
        compute.add(output, times: weights, toStreams: residual)
    }
}
