import GGUF
import Compute
import KernelFormats

/// The time mix of RWKV 6 (Peng et al. 2024), and of models in which it replaced attention (QRWKV 6).
///
/// w, k, v, r and g each read an interpolation of the token and the previous one, whose weights depend on both. Heads
/// decay by w = exp(−exp(decay)), one factor per row of their state. RWKV itself has a bonus for the current token and
/// a norm of each head's output; QRWKV has neither, uses k·(1 − w) as keys, and shares keys and values among heads.
/// State: the last token `[width]`, the channel mix's last token `[width]` if there is one, the heads'
/// `[heads][headWidth][headWidth]`.
final class RWKV6: Mixer {
    private let width: Int
    private let headWidth: Int
    private let kvHeads: Int
    private let extra: Int
    private let shift: TokenShift
    /// Tensors `time_mix_lerp_*`: weights of x `[width]`, and of w, k, v, r, g `[5][width]`.
    private let share: [Float]
    private let shares: [Float]
    private let mixtureDown: Linear
    private let mixtureUps: [Linear]
    private let decayDown: Linear
    private let decayUp: Linear
    private let decayBase: [Float]
    private let receptance: Linear
    private let key: Linear
    private let value: Linear
    private let gate: Linear
    private let output: Linear
    /// u, `[width]`; `nil` in QRWKV.
    private let bonus: [Float]?
    private let norm: Norm?
    private let recurrence: ChannelDecayRecurrence
    private let shiftFloats: Int

    /// - Parameters:
    ///   - kvHeads: Heads of keys and values; 0: as many as heads.
    ///   - hasChannelMix: Whether the layer's feed-forward block stores a token in the state too.
    init(_ layer: LayerBuilder, kvHeads: Int, hasChannelMix: Bool) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        self.width = width
        headWidth = try hyper.count("wkv.head_size")
        guard width % headWidth == 0 else {
            throw hyper.invalid("wkv.head_size", "a divisor of the width \(width)", found: headWidth)
        }
        let heads = width / headWidth
        self.kvHeads = kvHeads == 0 ? heads : kvHeads
        guard heads % self.kvHeads == 0 else {
            throw hyper.invalid("attention.head_count_kv", "a divisor of the \(heads) heads", found: kvHeads)
        }
        shift = TokenShift(width: width)
        shiftFloats = hasChannelMix ? 2 * width : width
        extra = try hyper.count("time_mix_extra_dim")
        let rank = try hyper.count("time_decay_extra_dim")
        let mix = name + "time_mix_"
        share = try file.floats(mix + "lerp_x.weight", dimensions: [width])
        if file.tensorIfPresent(mix + "lerp_fused.weight") != nil {
            shares = try file.floats(mix + "lerp_fused.weight", dimensions: [width, 5])
            layer.leaveUnused(["w", "k", "v", "r", "g"].map { "time_mix_lerp_\($0)" })
        } else {
            var shares: [Float] = []
            for part in ["w", "k", "v", "r", "g"] {
                shares += try file.floats(mix + "lerp_\(part).weight", dimensions: [width])
            }
            self.shares = shares
        }
        mixtureDown = try file.linear(mix + "w1", from: width, to: 5 * extra)
        mixtureUps = WeightMatrix.each(
            of: try file.tensor(mix + "w2.weight", shape: [extra, width, 5]), count: 5, packed: nil
        ).map { Linear(weights: $0) }
        decayDown = try file.linear(mix + "decay_w1", from: width, to: rank)
        decayUp = try file.linear(mix + "decay_w2", from: rank, to: width)
        decayBase = try file.floats(mix + "decay.weight", dimensions: [width])
        receptance = try file.linear(mix + "receptance", from: width, to: width)
        key = try file.linear(mix + "key", from: width, to: self.kvHeads * headWidth)
        value = try file.linear(mix + "value", from: width, to: self.kvHeads * headWidth)
        gate = try file.linear(mix + "gate", from: width, to: width)
        output = try file.linear(mix + "output", from: width, to: width)
        let hasBonus = file.tensorIfPresent(mix + "first.weight") != nil
        bonus = hasBonus ? try file.floats(mix + "first.weight", dimensions: [headWidth, heads]) : nil
        norm = hasBonus ? try Norm(file, rwkvHeads: mix + "ln", width: width, headWidth: headWidth) : nil
        recurrence = ChannelDecayRecurrence(
            heads: heads, keyWidth: headWidth, valueWidth: headWidth, kind: hasBonus ? .bonus : .accumulate,
            scale: hasBonus ? 1 : 1 / Float(headWidth).squareRoot())
    }

    var state: LayerState { .recurrent(floats: shiftFloats + recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs, exact) = (context.work, context.compute, context.runs, context.step.answerRows)
        let rows = input.rows
        let mixtures = mix(input, runs, work, compute)
        func mixture(_ index: Int) -> Matrix { mixtures[columns: index * width, count: width] }
        let rank = work[.lowRank, rows, decayDown.weights.rows]
        let queries = work[.query, rows, width]
        let keys = work[.key, rows, width], values = work[.value, rows, width]
        let gates = work[.gate, rows, width], decays = work[.decays, rows, width]
        compute.multiply {
            $0.add(mixture(0), by: decayDown, into: rank)
            $0.add(
                mixture(1), by: key, into: keys[columns: 0, count: kvHeads * headWidth], exact: exact, sensitive: true)
            $0.add(
                mixture(2), by: value, into: values[columns: 0, count: kvHeads * headWidth], exact: exact,
                sensitive: true)
            $0.add(mixture(3), by: receptance, into: queries, exact: exact, sensitive: true)
            $0.add(mixture(4), by: gate, into: gates, exact: exact, sensitive: true)
        }
        compute.apply(.tanh, to: rank)
        compute.multiply(rank, by: decayUp, into: decays)
        compute.discretize(decays, negatedExponentialOf: decayBase)
        for shared in [keys, values] { compute.repeatHeads(shared, count: kvHeads, width: headWidth) }
        if bonus == nil { compute.reduce(keys, by: decays) }

        let mixed = work[.attended, rows, width]
        recurrence.forward(
            ChannelDecayRecurrence.Inputs(queries: queries, keys: keys, values: values, decays: decays, bonus: bonus),
            into: mixed, runs, stateOffset: shiftFloats, compute)
        if let norm { compute.normalize(mixed, norm, into: mixed) }
        if bonus != nil {
            compute.activate(gates, mixed, .silu, into: mixed)
        } else {
            compute.multiply(mixed, bySigmoidOf: gates)
        }
        compute.multiply(mixed, by: self.output, into: output, exact: exact, sensitive: true)
    }

    /// The inputs of w, k, v, r and g, `[rows][5][width]`.
    private func mix(_ input: Matrix, _ runs: [RecurrentRun], _ work: Workspace, _ compute: Compute) -> Matrix {
        let rows = input.rows
        let shifts = work[.shifts, rows, width]
        shift.forward(input, into: shifts, runs, stateOffset: 0, compute)
        let mixtures = work[.mixtures, rows, 5 * width]
        let rank = work[.lowRank, rows, 5 * extra]
        let base = mixtures[columns: 0, count: width]
        compute.interpolate(input, shifts, by: share, into: base)
        compute.multiply(base, by: mixtureDown, into: rank)
        compute.apply(.tanh, to: rank)
        compute.multiply {
            for (index, up) in mixtureUps.enumerated() {
                $0.add(
                    rank[columns: index * extra, count: extra], by: up,
                    into: mixtures[columns: index * width, count: width])
            }
        }
        compute.interpolate(input, shifts, adding: shares, toWeightsIn: mixtures)
        return mixtures
    }
}

extension Norm {
    /// RWKV's norm of each head's output. All published models use this epsilon, which files do not declare.
    init(_ file: ModelReader, rwkvHeads name: String, width: Int, headWidth: Int) throws(ModelFileError) {
        self.init(
            .layer, weight: try file.vector(name + ".weight", width), bias: try file.vector(name + ".bias", width),
            epsilon: 64e-5, groupWidth: headWidth)
    }
}
