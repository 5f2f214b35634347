import GGUF
import Compute
import KernelFormats

/// Mamba (Gu and Dao 2023): a state space model in which each channel has its own step size.
///
///     x, z = in·input        x = silu(convolution(x))        Δ, B, C = select·x        Δ = softplus(step·Δ + bias)
///     h = exp(Δ·A)·h + Δ·B·x        y = C·h + D·x        output = out·(y · silu(z))
///
/// Jamba normalizes Δ, B and C with weights, FalconMamba without. State: the convolution's, then h `[states][inner]`.
final class Mamba: Mixer {
    private let shape: StateSpaceShape
    private let input: Linear
    private let select: Linear
    private let step: Linear
    private let output: Linear
    private let convolution: CausalConvolution
    /// A `[states][inner]` and D `[inner]`.
    private let rates: [Float]
    private let skips: [Float]
    /// Norms of Δ, B and C.
    private let norms: [Norm]

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        shape = try StateSpaceShape(hyper, hasHeads: false)
        let (inner, states, rank) = (shape.inner, shape.states, shape.rank)
        input = try file.linear(name + "ssm_in", from: width, to: 2 * inner)
        select = try file.linear(name + "ssm_x", from: inner, to: rank + 2 * states)
        step = try file.linear(name + "ssm_dt", from: rank, to: inner)
        output = try file.linear(name + "ssm_out", from: inner, to: width)
        convolution = try CausalConvolution(
            file, [name + "ssm_conv1d.weight"], bias: name + "ssm_conv1d.bias", taps: shape.taps, channels: inner,
            silu: true)
        let rates = try file.floats(name + "ssm_a", dimensions: [states, inner])
        self.rates = (0..<states * inner).map { rates[$0 % inner * states + $0 / inner] }
        skips = try file.floats(name + "ssm_d", dimensions: [inner])
        let widths = [rank, states, states]
        if file.tensorIfPresent(name + "ssm_dt_norm.weight") != nil {
            var norms: [Norm] = []
            for (part, width) in zip(["dt", "b", "c"], widths) {
                norms.append(
                    Norm(
                        .rms, weight: try file.vector(name + "ssm_\(part)_norm.weight", width),
                        epsilon: layer.model.epsilon))
            }
            self.norms = norms
        } else if try hyper.bool("ssm.dt_b_c_rms") == true {
            norms = widths.map { layer.model.weightlessNorm($0, .rms) }
        } else {
            norms = []
        }
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + shape.states * shape.inner) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let (rows, inner, rank, states) = (input.rows, shape.inner, shape.rank, shape.states)
        let projected = work[.projected, rows, 2 * inner]
        compute.multiply(input, by: self.input, into: projected, exact: context.step.answerRows)
        let convolved = work[.convolved, rows, inner]
        convolution.forward(projected[columns: 0, count: inner], into: convolved, runs, compute)
        let selected = work[.lowRank, rows, rank + 2 * states]
        compute.multiply(convolved, by: select, into: selected)
        let low = selected[columns: 0, count: rank]
        let (b, c) = (selected[columns: rank, count: states], selected[columns: rank + states, count: states])
        for (part, norm) in zip([low, b, c], norms) { compute.normalize(part, norm, into: part) }
        // Step sizes, replaced by the scan's output.
        let steps = work[.decays, rows, inner]
        compute.multiply(low, by: step, into: steps)
        compute.apply(.softplus, to: steps)
        compute.selectiveScan(
            convolved, steps: steps, b: b, c: c, rates: rates, skips: skips, runs,
            stateOffset: convolution.stateFloats, into: steps)
        compute.activate(projected[columns: inner, count: inner], steps, .silu, into: steps)
        compute.multiply(steps, by: self.output, into: output, exact: context.step.answerRows)
    }
}
