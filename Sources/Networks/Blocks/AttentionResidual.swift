import GGUF
import Compute

/// A residual stream that restarts every few layers; blocks read an attention-weighted sum of it and its snapshots
/// (Kimi K3).
///
///     input = Σᵢ softmaxᵢ(score · rms(xᵢ)) · xᵢ        over the current stream and the snapshots
///
/// Rows hold the current stream and the snapshots behind it: `[current, first, second, …]`, `width` values each.
final class AttentionResidual: ResidualConnection {
    private let score: Norm
    /// Number of snapshots when the block reads.
    private let kept: Int
    /// Whether a snapshot is taken after reading; the stream then restarts with the block's output.
    private let begins: Bool

    init(_ model: DecoderBuilder, _ name: String, kept: Int, begins: Bool) throws(ModelFileError) {
        score = try model.norm(name)
        self.kept = kept
        self.begins = begins
    }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        let (compute, width) = (context.compute, input.columns)
        let weights = context.work[.connection, residual.rows, kept + 1]
        for stream in 0...kept {
            compute.normalize(residual[columns: stream * width, count: width], score, into: input)
            compute.sum(input, into: weights[columns: stream, count: 1])
        }
        compute.softmaxOfFew(weights)
        compute.sumStreams(residual, times: weights, into: input)
        guard begins else { return }
        let current = residual[columns: 0, count: width]
        compute.copy(current, into: residual[columns: (kept + 1) * width, count: width])
        compute.clear(current)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        context.compute.add(output, to: residual[columns: 0, count: output.columns])
    }
}
