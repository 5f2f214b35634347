import GGUF
import Compute
import KernelFormats

/// The gated delta net (Yang et al. 2024) of Qwen3-Next and Qwen 3.5.
///
///     q, k, v = silu(convolution(in·input))        q, k of length 1        β = sigmoid(b·input)
///     g = exp(A·softplus(a·input + bias))        output = out·(norm(delta rule(q/√width, k, v, g, β)) · silu(z·input))
///
/// State: the convolution's, then the heads' `[heads][keyWidth][valueWidth]`.
final class GatedDeltaNet: Mixer {
    /// Layout of the projections in the file.
    private enum Projections {
        /// Queries, keys and values of all heads concatenated; z separately.
        case apart(qkv: Linear, z: Linear)
        /// Per group: query, key, values of its heads, z of its heads. Used in the first files of Qwen3-Next.
        case byGroup(Linear)
    }
    private enum StepProjections {
        case apart(beta: Linear, alpha: Linear)
        /// Per group: β of its heads, then their step sizes.
        case byGroup(Linear)
    }

    private let shape: StateSpaceShape
    private let projections: Projections
    private let steps: StepProjections
    private let output: Linear
    private let convolution: CausalConvolution
    /// A, below 0, `[heads]`.
    private let rates: [Float]
    private let stepBias: [Float]
    /// Norm of each head's output.
    private let norm: Norm
    /// Scale queries and keys of each head to a fixed length.
    private let queryNorm: Norm
    private let keyNorm: Norm
    private let recurrence: ScalarDecayRecurrence
    private let gateIsSigmoid: Bool

    /// - Parameters:
    ///   - interleavesGroups: Whether group g has the heads g, g + groups, …, as in Qwen 3.5's files.
    ///   - gateIsSigmoid: Whether z is applied with sigmoid instead of SiLU (Qwen 4).
    init(_ layer: LayerBuilder, interleavesGroups: Bool, gateIsSigmoid: Bool = false) throws(ModelFileError) {
        self.gateIsSigmoid = gateIsSigmoid
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        let epsilon = layer.model.epsilon
        shape = try StateSpaceShape(hyper, hasHeads: true)
        let (heads, groups, keyWidth) = (shape.rank, shape.groups, shape.states)
        let channels = 2 * groups * keyWidth + shape.inner
        // Some files have both layouts.
        layer.leaveUnused(["ssm_in"])
        projections =
            file.tensorIfPresent(name + "attn_qkv.weight") != nil
            ? .apart(
                qkv: try file.linear(name + "attn_qkv", from: width, to: channels),
                z: try file.linear(name + "attn_gate", from: width, to: shape.inner))
            : .byGroup(try file.linear(name + "ssm_in", from: width, to: channels + shape.inner))
        steps =
            file.tensorIfPresent(name + "ssm_ba.weight") != nil
            ? .byGroup(try file.linear(name + "ssm_ba", from: width, to: 2 * heads))
            : .apart(
                beta: try file.linear(name + "ssm_beta", from: width, to: heads),
                alpha: try file.linear(name + "ssm_alpha", from: width, to: heads))
        output = try file.linear(name + "ssm_out", from: shape.inner, to: width)
        convolution = try CausalConvolution(
            file, [name + "ssm_conv1d.weight"], taps: shape.taps, channels: channels, silu: true)
        rates = try file.floats(name + "ssm_a", dimensions: [heads])
        stepBias = try file.floats(name + "ssm_dt.bias", dimensions: [heads])
        norm = Norm(.rms, weight: try file.vector(name + "ssm_norm.weight", shape.headWidth), epsilon: epsilon)
        // The query length includes attention's scale 1/√width.
        queryNorm = Norm(length: 1 / Float(keyWidth).squareRoot(), width: keyWidth, epsilon: epsilon)
        keyNorm = Norm(length: 1, width: keyWidth, epsilon: epsilon)
        recurrence = ScalarDecayRecurrence(
            groups: groups, heads: heads, keyWidth: keyWidth, valueWidth: shape.headWidth, isDelta: true,
            interleavesGroups: interleavesGroups)
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let exact = context.step.answerRows
        let rows = input.rows
        let projected = work[.projected, rows, convolution.channels]
        let gate = work[.gate, rows, shape.inner]
        let (betas, decays) = (work[.gains, rows, shape.rank], work[.decays, rows, shape.rank])
        project(input, exact: exact, into: projected, gate, betas, decays, work, compute)
        compute.apply(.sigmoid, to: betas)
        compute.discretize(decays, bias: stepBias, rates: rates, into: decays, decays: decays)

        let convolved = work[.convolved, rows, convolution.channels]
        convolution.forward(projected, into: convolved, runs, compute)
        let shared = shape.groups * shape.states
        let (queries, keys) = (convolved[columns: 0, count: shared], convolved[columns: shared, count: shared])
        compute.normalize(queries, queryNorm, into: queries)
        compute.normalize(keys, keyNorm, into: keys)
        let inputs = ScalarDecayRecurrence.Inputs(
            queries: queries, keys: keys,
            values: convolved[columns: 2 * shared, count: shape.inner], decays: decays, gains: betas)
        let mixed = work[.attended, rows, shape.inner]
        recurrence.forward(inputs, into: mixed, runs, stateOffset: convolution.stateFloats, compute)
        compute.normalize(mixed, norm, into: mixed)
        if gateIsSigmoid {
            compute.multiply(mixed, bySigmoidOf: gate)
        } else {
            compute.activate(gate, mixed, .silu, into: mixed)
        }
        compute.multiply(mixed, by: self.output, into: output, exact: exact)
    }

    private func project(
        _ input: Matrix, exact: Int, into qkv: Matrix, _ gate: Matrix, _ betas: Matrix, _ alphas: Matrix,
        _ work: Workspace,
        _ compute: Compute
    ) {
        let grouped = work[.mixtures, input.rows, qkv.columns + gate.columns]
        let groupedSteps = work[.lowRank, input.rows, 2 * shape.rank]
        compute.multiply {
            switch projections {
            case .apart(let qkvWeights, let zWeights):
                $0.add(input, by: qkvWeights, into: qkv, exact: exact)
                $0.add(input, by: zWeights, into: gate, exact: exact)
            case .byGroup(let weights): $0.add(input, by: weights, into: grouped, exact: exact)
            }
            switch steps {
            case .apart(let beta, let alpha):
                $0.add(input, by: beta, into: betas)
                $0.add(input, by: alpha, into: alphas)
            case .byGroup(let weights): $0.add(input, by: weights, into: groupedSteps)
            }
        }
        if case .byGroup = projections {
            let (key, value) = (shape.states, shape.inner / shape.groups)
            let shared = shape.groups * key
            ungroup(
                grouped,
                into: [
                    qkv[columns: 0, count: shared], qkv[columns: shared, count: shared],
                    qkv[columns: 2 * shared, count: shape.inner], gate,
                ], widths: [key, key, value, value], compute)
        }
        if case .byGroup = steps {
            let members = shape.rank / shape.groups
            ungroup(groupedSteps, into: [betas, alphas], widths: [members, members], compute)
        }
    }

    /// Splits rows of groups, each with a part for every output, into one matrix per output.
    private func ungroup(_ input: Matrix, into outputs: [Matrix], widths: [Int], _ compute: Compute) {
        let stride = widths.reduce(0, +)
        var first = 0
        for (output, width) in zip(outputs, widths) {
            compute.copy(
                input.heads(shape.groups, width: width, from: first, stride: stride),
                into: output.heads(shape.groups, width: width))
            first += width
        }
    }
}

extension Norm {
    /// Scales vectors of `width` values to this length: x · length / √(Σx² + ε).
    init(length: Float, width: Int, epsilon: Float) {
        let count = Float(width)
        self.init(
            .rms, weight: Array(repeating: length / count.squareRoot(), count: width), epsilon: epsilon / count)
    }
}
