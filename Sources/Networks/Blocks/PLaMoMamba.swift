import GGUF
import Compute
import KernelFormats

/// PLaMo 2's Mamba: Mamba 2's recurrence, with B, C and step sizes selected as in Mamba and then normalized.
///
///     z, x = in·input, head by head        x = silu(convolution(x))        B, C, Δ = norm(select·x)
///     S = exp(Δ·A)·S + B·(Δ·x)ᵀ        y = Sᵀ·C + D·x        output = out·(y · silu(z))        Δ = softplus(step·Δ + bias)
///
/// State: the convolution's, then S `[heads][states][headWidth]`.
final class PLaMoMamba: Mixer {
    private let shape: StateSpaceShape
    private let rank: Int
    private let input: Linear
    private let select: Linear
    private let step: Linear
    private let output: Linear
    private let convolution: CausalConvolution
    /// A, negative, and D, `[heads]`.
    private let rates: [Float]
    private let skips: [Float]
    /// Norms of B, C and Δ.
    private let norms: [Norm]
    private let recurrence: ScalarDecayRecurrence

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        shape = try StateSpaceShape(hyper, hasHeads: true, hasGroups: false)
        rank = max(64, width / 16)
        let (inner, states) = (shape.inner, shape.states)
        input = try file.linear(name + "ssm_in", from: width, to: 2 * inner)
        select = try file.linear(name + "ssm_x", from: inner, to: rank + 2 * states)
        step = try file.linear(name + "ssm_dt", from: rank, to: shape.rank)
        output = try file.linear(name + "ssm_out", from: inner, to: width)
        convolution = try CausalConvolution(
            file, [name + "ssm_conv1d.weight"], taps: shape.taps, channels: inner, silu: true)
        rates = try file.floats(name + "ssm_a", dimensions: [shape.rank])
        skips = try file.floats(name + "ssm_d", dimensions: [shape.rank])
        norms = [
            try layer.model.norm(name + "ssm_b_norm", width: states),
            try layer.model.norm(name + "ssm_c_norm", width: states),
            try layer.model.norm(name + "ssm_dt_norm", width: rank),
        ]
        recurrence = ScalarDecayRecurrence(
            groups: 1, heads: shape.rank, keyWidth: states, valueWidth: shape.headWidth, isDelta: false)
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let (rows, inner, states, heads) = (input.rows, shape.inner, shape.states, shape.rank)
        let projected = work[.projected, rows, 2 * inner]
        compute.multiply(input, by: self.input, into: projected, exact: context.step.answerRows)
        let gate = work[.gate, rows, inner], x = work[.mixtures, rows, inner]
        for (part, first) in [(gate, 0), (x, shape.headWidth)] {
            compute.copy(
                projected.heads(heads, width: shape.headWidth, from: first, stride: 2 * shape.headWidth),
                into: part.heads(heads, width: shape.headWidth))
        }
        let convolved = work[.convolved, rows, inner]
        convolution.forward(x, into: convolved, runs, compute)
        let selected = work[.lowRank, rows, rank + 2 * states]
        compute.multiply(convolved, by: select, into: selected)
        let (b, c) = (selected[columns: 0, count: states], selected[columns: states, count: states])
        let low = selected[columns: 2 * states, count: rank]
        for (part, norm) in zip([b, c, low], norms) { compute.normalize(part, norm, into: part) }
        let (steps, decays) = (work[.gains, rows, heads], work[.decays, rows, heads])
        compute.multiply(low, by: step, into: steps)
        compute.discretize(steps, bias: nil, rates: rates, into: steps, decays: decays)
        let mixed = work[.attended, rows, inner]
        recurrence.forward(
            ScalarDecayRecurrence.Inputs(queries: c, keys: b, values: convolved, decays: decays, gains: steps),
            into: mixed, runs, stateOffset: convolution.stateFloats, compute)
        compute.add(convolved, timesHeads: skips, to: mixed)
        compute.activate(gate, mixed, .silu, into: mixed)
        compute.multiply(mixed, by: self.output, into: output, exact: context.step.answerRows)
    }
}
