import GGUF
import Compute

/// Compresses each group of tokens to one vector, a mean that is weighted per value (DeepSeek V4):
///
///     c = Σₜ softmaxₜ(gateₜ + biasₜ) · valueₜ        vector = rotate(norm(c)) at the position of the group's first token
///
/// Groups of 4 overlap. The state is that of the means.
final class VectorCompressor {
    private let width: Int
    /// Tokens per group.
    private let tokens: Int
    /// To `[next group | own group]` with overlap.
    private let value: Linear
    private let gate: Linear
    private let means: GroupMeans
    private let norm: Norm
    private let rotary: Rotary

    init(_ layer: LayerBuilder, width: Int, tokens: Int, _ rotary: Rotary) throws(ModelFileError) {
        self.width = width
        self.tokens = tokens
        self.rotary = rotary
        let overlaps = tokens == 4
        let columns = overlaps ? 2 * width : width
        value = try layer.linear("attn_compressor_kv", from: layer.width, to: columns)
        gate = try layer.linear("attn_compressor_gate", from: layer.width, to: columns)
        means = GroupMeans(
            width: width, tokens: tokens, overlaps: overlaps,
            bias: try layer.file.tensor(layer.name + "attn_compressor_ape.weight", shape: [columns, tokens]).floats())
        norm = try layer.model.norm(layer.name + "attn_compressor_norm", width: width)
    }

    var state: LayerState {
        .both(.compressed(width: width, tokens: tokens), .recurrent(floats: means.stateFloats))
    }

    /// Stores the vectors of all groups that end in this step.
    func compress(_ input: Matrix, _ context: LayerContext) {
        let (compute, work) = (context.compute, context.work)
        let values = work[.projected, input.rows, value.weights.rows]
        let gates = work[.convolved, input.rows, gate.weights.rows]
        compute.multiply {
            $0.add(input, by: value, into: values)
            $0.add(input, by: gate, into: gates)
        }
        for (run, segment) in zip(context.runs, context.step.segments) {
            let first = run.start / tokens
            let count = (run.start + run.rows.count) / tokens - first
            let vectors = work[.readings, max(1, count), width]
            means.forward(values, gates, run, into: vectors, compute)
            guard count > 0 else { continue }
            compute.normalize(vectors, norm, into: vectors)
            let angles = rotary.angles(
                of: (0..<count).map { Int32((first + $0) * tokens) }, in: work, index: context.angles.count)
            let rope = 2 * rotary.frequencies.count
            compute.rotate(vectors[columns: width - rope, count: rope], headWidth: rope, by: angles)
            compute.storeCompressed(
                vectors[rows: 0, count: count], first: first, tokens: tokens, of: segment.state, layer: context.layer)
        }
    }
}
