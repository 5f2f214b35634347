import GGUF
import Compute

/// Kimi delta attention (Kimi team 2025): the delta rule with a decay per row of the state.
///
///     q, k, v = silu(convolution(in·input))        q, k of length 1        β = sigmoid(b·input)
///     w = exp(A·softplus(f·input + bias))        output = out·(norm(delta rule(q/√width, k, v, w, β)) · sigmoid(g·input))
///
/// In Kimi K3, Ling 3 and GLM 5 Next, w = exp(bound·sigmoid(A·(f·input + bias))), which is at least exp(bound). f and g
/// are products of two low-rank matrices in some models. State: the convolution's, then the heads'
/// `[heads][width][width]`.
final class KimiDeltaAttention: Mixer {
    /// Differences between models.
    struct Style: Sendable {
        /// Whether decays are bounded if the file has `kda.gate_lower_bound`.
        var isBounded = false
        /// Whether `ssm_a` is A for bounded decays, instead of −A.
        var ratesArePositive = false
        /// Epsilon of the length norm of queries and keys; `nil`: the other norms' epsilon.
        var lengthEpsilon: Float?
    }

    /// A projection, optionally factored through a low rank.
    private struct Projection {
        let down: Linear?
        let up: Linear
    }

    private let heads: Int
    private let headWidth: Int
    private let inputs: [Linear]
    private let decay: Projection
    private let gate: Projection
    private let beta: Linear
    private let output: Linear
    private let convolution: CausalConvolution
    /// A, `[heads]`: negative, but positive with a bound.
    private let rates: [Float]
    /// Lower bound of the decays' logarithms; `nil`: none.
    private let bound: Float?
    private let stepBias: [Float]
    /// Norm of each head's output.
    private let norm: Norm
    /// Scales each head's query and key to length 1.
    private let lengthNorm: Norm
    private let recurrence: ChannelDecayRecurrence

    init(_ layer: LayerBuilder, heads: Int, _ style: Style = Style()) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        let epsilon = layer.model.epsilon
        self.heads = heads
        headWidth = try hyper.count("kda.head_dim")
        let inner = heads * headWidth
        // The architecture has no biases or scales here.
        layer.leaveUnused(["attn_q", "attn_k", "attn_v"])
        func weights(_ part: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
            Linear(weights: file.weights(try file.tensor(name + part + ".weight", shape: [inputs, outputs])))
        }
        inputs = [
            try weights("attn_q", from: width, to: inner), try weights("attn_k", from: width, to: inner),
            try weights("attn_v", from: width, to: inner),
        ]
        let headWidth = self.headWidth
        func projection(_ part: String) throws(ModelFileError) -> Projection {
            guard layer.has(part + "_b.weight") else {
                let name = layer.has(part + "_a.weight") ? part + "_a" : part
                return Projection(down: nil, up: try weights(name, from: width, to: inner))
            }
            return Projection(
                down: try weights(part + "_a", from: width, to: headWidth),
                up: try weights(part + "_b", from: headWidth, to: inner))
        }
        decay = try projection("ssm_f")
        gate = try projection("ssm_g")
        beta = try weights("ssm_beta", from: width, to: heads)
        output = try weights("attn_output", from: inner, to: width)
        convolution = try CausalConvolution(
            file, ["q", "k", "v"].map { name + "ssm_conv1d_\($0).weight" }, taps: try hyper.count("ssm.conv_kernel"),
            channels: 3 * inner, silu: true)
        bound = style.isBounded ? try Self.bound(hyper) : nil
        let rates = try file.floats(name + "ssm_a", dimensions: [heads])
        self.rates = bound == nil || style.ratesArePositive ? rates : rates.map { -$0 }
        stepBias = try file.floats(name + "ssm_dt.bias", dimensions: [inner])
        norm = Norm(.rms, weight: try file.vector(name + "ssm_norm.weight", headWidth), epsilon: epsilon)
        lengthNorm = Norm(length: 1, width: headWidth, epsilon: style.lengthEpsilon ?? epsilon)
        recurrence = ChannelDecayRecurrence(
            heads: heads, keyWidth: headWidth, valueWidth: headWidth, kind: .delta,
            scale: 1 / Float(headWidth).squareRoot())
    }

    /// −∞ in the file means no bound.
    private static func bound(_ hyper: Hyperparameters) throws(ModelFileError) -> Float? {
        guard let bound = try hyper.double("kda.gate_lower_bound"), bound > -.infinity else { return nil }
        guard (-80..<0).contains(bound) else {
            throw hyper.invalid("kda.gate_lower_bound", "between -80 and 0", found: bound)
        }
        return Float(bound)
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs, exact) = (context.work, context.compute, context.runs, context.step.answerRows)
        let (rows, inner) = (input.rows, heads * headWidth)
        let projected = work[.projected, rows, 3 * inner]
        let (decayRank, gateRank) = (work[.lowRank, rows, headWidth], work[.shifts, rows, headWidth])
        let (betas, decays) = (work[.gains, rows, heads], work[.decays, rows, inner])
        let gates = work[.gate, rows, inner]
        let small = [(decay, decayRank, decays), (gate, gateRank, gates)]
        compute.multiply {
            for (index, weights) in inputs.enumerated() {
                $0.add(
                    input, by: weights, into: projected[columns: index * inner, count: inner], exact: exact,
                    sensitive: true)
            }
            for (projection, rank, output) in small {
                if let down = projection.down {
                    $0.add(input, by: down, into: rank)
                } else {
                    $0.add(input, by: projection.up, into: output)
                }
            }
            $0.add(input, by: beta, into: betas)
        }
        compute.multiply {
            for (projection, rank, output) in small where projection.down != nil {
                $0.add(rank, by: projection.up, into: output)
            }
        }
        compute.apply(.sigmoid, to: betas)
        compute.discretize(decays, bias: stepBias, headRates: rates, bound: bound)

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
        compute.multiply(mixed, bySigmoidOf: gates)
        compute.multiply(mixed, by: self.output, into: output, exact: exact, sensitive: true)
    }
}
