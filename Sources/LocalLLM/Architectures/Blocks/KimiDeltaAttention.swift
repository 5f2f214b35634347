/// Kimi delta attention (Kimi team 2025): the delta rule with a decay for each row of the state.
///
///     q, k, v = silu(convolution(in·input))        q, k of length 1        β = sigmoid(b·input)
///     w = exp(A·softplus(f·input + bias))        output = out·(norm(delta rule(q/√width, k, v, w, β)) · sigmoid(g·input))
///
/// f and g are products of two low-rank matrices. The state: the convolution's, then the heads' `[heads][width][width]`.
final class KimiDeltaAttention: Mixer {
    private let heads: Int
    private let headWidth: Int
    private let inputs: [Linear]
    private let decayDown: Linear
    private let decayUp: Linear
    private let gateDown: Linear
    private let gateUp: Linear
    private let beta: Linear
    private let output: Linear
    private let convolution: CausalConvolution
    /// A, below 0, `[heads]`.
    private let rates: [Float]
    private let stepBias: [Float]
    /// Of each head's output.
    private let norm: Norm
    /// Of each head's query and key, to length 1.
    private let lengthNorm: Norm
    private let recurrence: ChannelDecayRecurrence

    init(_ layer: LayerBuilder, heads: Int) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        let epsilon = layer.model.epsilon
        self.heads = heads
        headWidth = try hyper.count("kda.head_dim")
        let inner = heads * headWidth
        // No biases or scales: the architecture has none here.
        layer.leaveUnused(["attn_q", "attn_k", "attn_v"])
        func weights(_ part: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
            Linear(weights: file.weights(try file.tensor(name + part + ".weight", shape: [inputs, outputs])))
        }
        inputs = [
            try weights("attn_q", from: width, to: inner), try weights("attn_k", from: width, to: inner),
            try weights("attn_v", from: width, to: inner),
        ]
        decayDown = try weights("ssm_f_a", from: width, to: headWidth)
        decayUp = try weights("ssm_f_b", from: headWidth, to: inner)
        gateDown = try weights("ssm_g_a", from: width, to: headWidth)
        gateUp = try weights("ssm_g_b", from: headWidth, to: inner)
        beta = try weights("ssm_beta", from: width, to: heads)
        output = try weights("attn_output", from: inner, to: width)
        convolution = try CausalConvolution(
            file, ["q", "k", "v"].map { name + "ssm_conv1d_\($0).weight" }, taps: try hyper.count("ssm.conv_kernel"),
            channels: 3 * inner, silu: true)
        rates = try file.floats(name + "ssm_a", dimensions: [heads])
        stepBias = try file.floats(name + "ssm_dt.bias", dimensions: [inner])
        norm = Norm(.rms, weight: try file.vector(name + "ssm_norm.weight", headWidth), epsilon: epsilon)
        lengthNorm = Norm(length: 1, width: headWidth, epsilon: epsilon)
        recurrence = ChannelDecayRecurrence(
            heads: heads, keyWidth: headWidth, valueWidth: headWidth, kind: .delta,
            scale: 1 / Float(headWidth).squareRoot())
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let (rows, inner) = (input.rows, heads * headWidth)
        let projected = work[.projected, rows, 3 * inner]
        let (decayRank, gateRank) = (work[.lowRank, rows, headWidth], work[.shifts, rows, headWidth])
        let (betas, decays) = (work[.gains, rows, heads], work[.decays, rows, inner])
        let gate = work[.gate, rows, inner]
        compute.multiply {
            for (index, weights) in inputs.enumerated() {
                $0.add(input, by: weights, into: projected[columns: index * inner, count: inner])
            }
            $0.add(input, by: decayDown, into: decayRank)
            $0.add(input, by: gateDown, into: gateRank)
            $0.add(input, by: beta, into: betas)
        }
        compute.multiply {
            $0.add(decayRank, by: decayUp, into: decays)
            $0.add(gateRank, by: gateUp, into: gate)
        }
        discretize(betas, decays, compute)

        let convolved = work[.convolved, rows, 3 * inner]
        convolution.forward(projected, into: convolved, runs, compute)
        let heads = convolved[columns: 0, count: 2 * inner]
        compute.normalize(heads, lengthNorm, into: heads)
        let mixed = work[.attended, rows, inner]
        recurrence.forward(
            ChannelDecayRecurrence.Inputs(
                queries: convolved[columns: 0, count: inner], keys: convolved[columns: inner, count: inner],
                values: convolved[columns: 2 * inner, count: inner], decays: decays, gains: betas), into: mixed, runs,
            stateOffset: convolution.stateFloats, compute)
        compute.normalize(mixed, norm, into: mixed)
        compute.multiply(mixed, bySigmoidOf: gate)
        compute.multiply(mixed, by: self.output, into: output)
    }

    /// β and w from what their projections gave.
    private func discretize(_ betas: Matrix, _ decays: Matrix, _ compute: Compute) {
        let (kernels, inner) = (compute.kernels.recurrent, decays.columns)
        compute.forEachRow(of: decays) { row in
            kernels.sigmoid(betas[row], betas[row], heads)
            let decay = decays[row]
            for index in 0..<inner { decay[index] += stepBias[index] }
            kernels.softplus(decay, decay, inner)
            for head in 0..<heads {
                let rate = rates[head]
                for index in head * headWidth..<(head + 1) * headWidth { decay[index] *= rate }
            }
            kernels.exponential(decay, decay, inner)
        }
    }
}
