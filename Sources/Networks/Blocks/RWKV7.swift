import GGUF
import Compute

/// The time mix of RWKV 7 (Peng et al. 2025), and of models in which it replaced attention (ARWKV 7).
///
///     Sₜ = diag(w)·Sₜ₋₁ + (κ·a)·(−Sₜ₋₁ᵀ·κ)ᵀ + k·vᵀ        w = exp(−e^(−1/2)·sigmoid(…))
///
/// r, w, k, v, a and g each read an interpolation of the token and the previous one, with fixed weights. κ is k times a
/// weight, scaled to length 1 in each head; layers after the first mix the first layer's values into theirs. State: the
/// last token `[width]`, the channel mix's last token `[width]` if there is one, the heads'
/// `[heads][headWidth][headWidth]`.
final class RWKV7: Mixer {
    /// A low-rank projection with a bias: `bias + up·f(down·x)`.
    private struct LowRank {
        let down: Linear
        let up: Linear
        let bias: [Float]?
    }

    private let width: Int
    /// Whether this is the first layer, whose values other layers mix into theirs.
    private let isFirst: Bool
    private let shift: TokenShift
    /// Interpolation weights of r, w, k, v, a and g, `[5 or 6][width]`.
    private let shares: [Float]
    private let mixtureCount: Int
    private let receptance: Linear
    private let key: Linear
    private let value: Linear
    private let output: Linear
    private let decay: LowRank
    private let rate: LowRank
    /// Weight of the first layer's values; unused in the first layer.
    private let residual: LowRank?
    private let gate: LowRank?
    private let heads: RWKV7State
    private let norm: Norm?
    private let recurrence: ChannelDecayRecurrence
    private let shiftFloats: Int

    /// - Parameter hasChannelMix: Whether the layer's feed-forward block stores a token in the state too.
    init(_ layer: LayerBuilder, hasChannelMix: Bool) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        self.width = width
        isFirst = layer.index == 0
        let headWidth = try hyper.count("wkv.head_size")
        guard width % headWidth == 0 else {
            throw hyper.invalid("wkv.head_size", "a divisor of the width \(width)", found: headWidth)
        }
        shift = TokenShift(width: width)
        shiftFloats = hasChannelMix ? 2 * width : width
        let mix = name + "time_mix_"
        func lowRank(_ part: String, _ key: String, hasBias: Bool = true) throws(ModelFileError) -> LowRank {
            let rank = try hyper.count("attention.\(key)_lora_rank")
            return LowRank(
                down: try file.linear(mix + part + "1", from: width, to: rank),
                up: try file.linear(mix + part + "2", from: rank, to: width),
                bias: hasBias ? try file.vector(mix + part + "0.weight", width) : nil)
        }
        receptance = try file.linear(mix + "receptance", from: width, to: width)
        key = try file.linear(mix + "key", from: width, to: width)
        value = try file.linear(mix + "value", from: width, to: width)
        output = try file.linear(mix + "output", from: width, to: width)
        decay = try lowRank("w", "decay")
        rate = try lowRank("a", "iclr")
        // There are no earlier values to mix into the first layer's.
        if isFirst { layer.leaveUnused(["time_mix_v0", "time_mix_v1", "time_mix_v2"]) }
        residual = isFirst ? nil : try lowRank("v", "value_residual_mix")
        gate =
            file.tensorIfPresent(mix + "g1.weight") == nil ? nil : try lowRank("g", "gate", hasBias: false)
        mixtureCount = gate == nil ? 5 : 6
        shares = try file.floats(mix + "lerp_fused.weight", dimensions: [width, mixtureCount])
        heads = RWKV7State(
            headWidth: headWidth, keyShare: try file.floats(mix + "k_k.weight", dimensions: [width]),
            keyRate: try file.floats(mix + "k_a.weight", dimensions: [width]),
            bonus: try file.floats(mix + "r_k.weight", dimensions: [width]))
        norm =
            file.tensorIfPresent(mix + "ln.weight") == nil
            ? nil : try Norm(file, rwkvHeads: mix + "ln", width: width, headWidth: headWidth)
        recurrence = ChannelDecayRecurrence(
            heads: width / headWidth, keyWidth: headWidth, valueWidth: headWidth, kind: .lowRank)
    }

    var state: LayerState { .recurrent(floats: shiftFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs, exact) = (context.work, context.compute, context.runs, context.step.answerRows)
        let rows = input.rows
        let mixtures = mix(input, runs, work, compute)
        func mixture(_ index: Int) -> Matrix { mixtures[columns: index * width, count: width] }
        let queries = work[.query, rows, width], keys = work[.key, rows, width]
        // Other layers read the first layer's values from here.
        let first = work[.firstValue, rows, width]
        let values = isFirst ? first : work[.value, rows, width]
        let decays = work[.decays, rows, width], writings = work[.writings, rows, width]
        let readings = work[.readings, rows, width], gates = work[.gate, rows, width]
        compute.multiply {
            $0.add(mixture(0), by: receptance, into: queries, exact: exact, sensitive: true)
            $0.add(mixture(2), by: key, into: keys, exact: exact, sensitive: true)
            $0.add(mixture(3), by: value, into: values, exact: exact, sensitive: true)
        }
        project(mixture(1), by: decay, .tanh, into: decays, work, compute)
        project(mixture(4), by: rate, nil, into: writings, work, compute)
        if let residual {
            project(mixture(3), by: residual, nil, into: gates, work, compute)
            compute.move(values, to: first, bySigmoidOf: gates)
        }
        if let gate { project(mixture(5), by: gate, .librarySigmoid, into: gates, work, compute) }
        heads.prepare(decays, keys, readings: readings, writings: writings, compute)

        let mixed = work[.attended, rows, width]
        recurrence.forward(
            ChannelDecayRecurrence.Inputs(
                queries: queries, keys: keys, values: values, decays: decays, readings: readings, writings: writings),
            into: mixed, runs, stateOffset: shiftFloats, compute)
        if let norm { compute.normalize(mixed, norm, into: mixed) }
        heads.addBonus(queries, keys, values, to: mixed, compute)
        if gate != nil { compute.multiply(mixed, byValuesOf: gates) }
        compute.multiply(mixed, by: self.output, into: output, exact: exact, sensitive: true)
    }

    /// The inputs of r, w, k, v, a and g, `[rows][5 or 6][width]`.
    private func mix(_ input: Matrix, _ runs: [RecurrentRun], _ work: Workspace, _ compute: Compute) -> Matrix {
        let shifts = work[.shifts, input.rows, width]
        shift.forward(input, into: shifts, runs, stateOffset: 0, compute)
        let mixtures = work[.mixtures, input.rows, mixtureCount * width]
        compute.interpolate(input, shifts, by: shares, into: mixtures)
        return mixtures
    }

    private func project(
        _ input: Matrix, by projection: LowRank, _ function: ValueFunction?, into output: Matrix,
        _ work: Workspace, _ compute: Compute
    ) {
        let rank = work[.lowRank, input.rows, projection.down.weights.rows]
        compute.multiply(input, by: projection.down, into: rank)
        if let function { compute.apply(function, to: rank) }
        compute.multiply(rank, by: projection.up, into: output)
        if let bias = projection.bias { compute.add(bias, to: output) }
    }
}
