import GGUF
import Compute
import KernelFormats

/// Mamba 2 (Dao and Gu 2024): a state space model whose heads decay by one factor per token.
///
///     z, x, B, C, Δ = in·input         x, B, C = silu(convolution(x, B, C))         Δ = softplus(Δ + bias)
///     S = exp(Δ·A)·S + B·(Δ·x)ᵀ        y = Sᵀ·C + D·x        output = out·norm(y · silu(z))
///
/// State: the convolution's, then S `[heads][states][headWidth]`.
final class Mamba2: Mixer {
    private let shape: StateSpaceShape
    private let input: Linear
    private let output: Linear
    private let convolution: CausalConvolution
    /// A, negative, and D, `[heads]`.
    private let rates: [Float]
    private let skips: [Float]
    private let stepBias: [Float]
    /// Norm of each group separately; `nil` in some Falcon-H1 models.
    private let norm: Norm?
    private let recurrence: ScalarDecayRecurrence

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        shape = try StateSpaceShape(hyper, hasHeads: true)
        let channels = shape.inner + 2 * shape.groups * shape.states
        input = try file.linear(name + "ssm_in", from: width, to: shape.inner + channels + shape.rank)
        output = try file.linear(name + "ssm_out", from: shape.inner, to: width)
        convolution = try CausalConvolution(
            file, [name + "ssm_conv1d.weight"], bias: name + "ssm_conv1d.bias", taps: shape.taps, channels: channels,
            silu: true)
        rates = try file.floats(name + "ssm_a", dimensions: [shape.rank])
        skips = try file.floats(name + "ssm_d", dimensions: [shape.rank])
        stepBias = try file.floats(name + "ssm_dt.bias", dimensions: [shape.rank])
        norm =
            file.tensorIfPresent(name + "ssm_norm.weight") == nil
            ? nil
            : Norm(
                .rms,
                weight: try file.floats(
                    name + "ssm_norm.weight", dimensions: [shape.inner / shape.groups, shape.groups]),
                epsilon: layer.model.epsilon, groupWidth: shape.inner / shape.groups)
        recurrence = ScalarDecayRecurrence(
            groups: shape.groups, heads: shape.rank, keyWidth: shape.states, valueWidth: shape.headWidth,
            isDelta: false)
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let (rows, inner) = (input.rows, shape.inner)
        let projected = work[.projected, rows, self.input.weights.rows]
        compute.multiply(input, by: self.input, into: projected, exact: context.step.answerRows)
        let convolved = work[.convolved, rows, convolution.channels]
        convolution.forward(
            projected[columns: inner, count: convolution.channels], into: convolved, runs, compute)
        let (decays, steps) = (work[.decays, rows, shape.rank], work[.gains, rows, shape.rank])
        compute.discretize(
            projected[columns: inner + convolution.channels, count: shape.rank], bias: stepBias, rates: rates,
            into: steps, decays: decays)

        let shared = shape.groups * shape.states
        let inputs = ScalarDecayRecurrence.Inputs(
            queries: convolved[columns: inner + shared, count: shared], keys: convolved[columns: inner, count: shared],
            values: convolved[columns: 0, count: inner], decays: decays, gains: steps)
        let mixed = work[.attended, rows, inner]
        recurrence.forward(inputs, into: mixed, runs, stateOffset: convolution.stateFloats, compute)
        compute.add(convolved[columns: 0, count: inner], timesHeads: skips, to: mixed)
        compute.activate(projected[columns: 0, count: inner], mixed, .silu, into: mixed)
        if let norm { compute.normalize(mixed, norm, into: mixed) }
        compute.multiply(mixed, by: self.output, into: output, exact: context.step.answerRows)
    }
}
