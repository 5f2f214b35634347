import GGUF
import Compute
import Foundation
import KernelFormats

/// Builds the blocks of one layer from the file's tensors `blk.{index}.…`.
struct LayerBuilder {
    let model: DecoderBuilder
    let index: Int

    init(_ model: DecoderBuilder, _ index: Int) {
        self.model = model
        self.index = index
    }

    var file: ModelReader { model.file }
    var hyper: Hyperparameters { model.hyper }
    var family: Family { model.family }
    var width: Int { model.width }
    var name: String { "blk.\(index)." }
    /// The layer's window in tokens; `nil`: none.
    var window: Int? { index < model.layerCount ? model.windows[index] : nil }
    /// Whether the layer has no key and value heads, by which files of hybrid models mark recurrent layers.
    var isRecurrent: Bool { model.kvHeadCounts[index] == 0 }
    var isOfAlternatingWindows: Bool { model.windows.contains { $0 != nil } }

    func layer() throws(ModelFileError) -> DecoderNetwork.Layer {
        var layer = DecoderNetwork.Layer(
            mixer: try family.mixer(self), feedForward: try family.feedForward(self), isParallel: family.isParallel,
            branchScale: try model.factor(family.branchScale))
        if layer.mixer != nil {
            layer.mixerNorm = try norm(family.mixerNorm)
            layer.mixerPostNorm = try norm(family.mixerPostNorm)
        }
        if layer.feedForward != nil {
            layer.feedForwardNorm = try norm(family.feedForwardNorm)
            layer.feedForwardPostNorm = try norm(family.feedForwardPostNorm)
        }
        try family.adjust(&layer, self)
        return layer
    }

    // MARK: Tensors

    func has(_ name: String) -> Bool { file.contains(self.name + name) }

    /// Marks tensors of the layer as known but not used.
    func leaveUnused(_ names: [String]) {
        for name in names {
            for part in ["weight", "bias", "scale"] { _ = file.tensorIfPresent("\(self.name)\(name).\(part)") }
        }
    }

    func linear(_ name: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
        try file.linear(self.name + name, from: inputs, to: outputs)
    }

    func norm(_ name: String?) throws(ModelFileError) -> Norm? {
        guard let name else { return nil }
        return try model.norm(self.name + name)
    }

    // MARK: Attention

    /// - Parameters:
    ///   - shared: Layer whose keys and values this one attends to; `nil`: its own.
    ///   - values: Name of the projection of values.
    ///   - isHalfRotated: Whether half of `rope.dimension_count` is rotated.
    /// - Returns: `nil` if the layer has no heads.
    func attention(
        sharing shared: Int? = nil, values: String = "attn_v", isHalfRotated: Bool = false
    ) throws(ModelFileError) -> SelfAttention? {
        let (heads, kvHeads) = (model.headCounts[index], model.kvHeadCounts[index])
        guard heads > 0 else { return nil }
        guard kvHeads > 0 else {
            throw hyper.invalid("attention.head_count_kv", "above 0 in layer \(index)", found: kvHeads)
        }
        let (keyWidth, valueWidth) = try headWidths()
        let rotary = try rotary(headWidth: keyWidth, isHalved: isHalfRotated)
        var parts = try projections(
            heads: heads, kvHeads: kvHeads, keyWidth: keyWidth, valueWidth: valueWidth, values: values,
            queriesOnly: shared != nil)
        parts.queryNorm = try headNorm(.query, "attn_q_norm", heads: heads, keyWidth)
        parts.keyNorm = try headNorm(.key, "attn_k_norm", heads: kvHeads, keyWidth)
        parts.valueNorm = try headNorm(.value, "attn_v_norm", heads: kvHeads, valueWidth)
        parts.normsFollowRotation = family.normsFollowRotation
        let clamp = try model.factor(family.clamp)
        parts.clamp = clamp == 0 ? nil : clamp
        parts.rotary = rotary
        parts.temperature = try temperature()
        if has("attn_sub_norm.weight") {
            parts.innerNorm = try model.norm(name + "attn_sub_norm", width: heads * valueWidth)
        }
        return SelfAttention(
            parts,
            state: shared.map { .shared(layer: $0) }
                ?? .keysAndValues(heads: kvHeads, keyWidth: keyWidth, valueWidth: valueWidth, window: window),
            keyWidth: keyWidth, valueWidth: valueWidth,
            shape: AttentionShape(
                heads: heads, scale: try scoreScale(keyWidth: keyWidth), window: window,
                softcap: try model.factor(family.scoreSoftcap), slopes: try slopes(heads: heads),
                sinks: try file.vectorIfPresent(name + "attn_sinks.weight", heads)))
    }

    /// Widths of a key and of a value of one head. Windowed layers may have their own.
    func headWidths() throws(ModelFileError) -> (key: Int, value: Int) {
        let heads = model.headCounts.first { $0 > 0 } ?? 1
        var key = try hyper.countIfPresent("attention.key_length") ?? max(1, width / heads)
        var value = try hyper.countIfPresent("attention.value_length") ?? max(1, width / heads)
        if window != nil {
            key = try hyper.countIfPresent("attention.key_length_swa") ?? key
            value = try hyper.countIfPresent("attention.value_length_swa") ?? value
        }
        return (key, value)
    }

    /// Index of the layer's rotary embedding; `nil`: no rotation.
    func rotary(headWidth: Int, isHalved: Bool = false) throws(ModelFileError) -> Int? {
        guard let layout = family.rotary, try family.rotates(self) else { return nil }
        return model.index(
            of: try hyper.rotary(
                layout, headWidth: headWidth, trainedContext: model.trainedContext, context: model.context,
                sections: family.sections, isHalved: isHalved, windows: window == nil ? nil : family.windows))
    }

    private func projections(
        heads: Int, kvHeads: Int, keyWidth: Int, valueWidth: Int, values: String, queriesOnly: Bool
    ) throws(ModelFileError) -> SelfAttention.Parts {
        let widths = [heads * keyWidth, kvHeads * keyWidth, kvHeads * valueWidth]
        let output = try linear("attn_output", from: heads * valueWidth, to: width)
        var parts: SelfAttention.Parts
        if has("attn_qkv.weight") {
            var fused = try file.linears(name + "attn_qkv", from: width, to: widths, scaled: family.fusedScales)
            for (index, part) in ["attn_q", "attn_k", "attn_v"].enumerated() where fused[index].bias == nil {
                fused[index].bias = try file.vectorIfPresent(name + part + ".bias", widths[index])
            }
            parts = SelfAttention.Parts(query: fused[0], key: fused[1], value: fused[2], output: output)
            if queriesOnly { (parts.key, parts.value) = (nil, nil) }
        } else if queriesOnly {
            leaveUnused(["attn_k", "attn_v", "attn_k_norm"])
            parts = SelfAttention.Parts(query: try linear("attn_q", from: width, to: widths[0]), output: output)
        } else {
            parts = SelfAttention.Parts(
                query: try linear("attn_q", from: width, to: widths[0] * (family.queryHoldsGate ? 2 : 1)),
                queryHoldsGate: family.queryHoldsGate,
                key: try linear("attn_k", from: width, to: widths[1]),
                value: try linear(values, from: width, to: widths[2]),
                output: output)
        }
        parts.gate = try outputGate(heads: heads, valueWidth: valueWidth)
        return parts
    }

    /// A gate per value or per head of attention's output, if the file has one.
    func outputGate(heads: Int, valueWidth: Int) throws(ModelFileError) -> Linear? {
        guard let tensor = file.tensorIfPresent(name + "attn_gate.weight") else { return nil }
        let gates = tensor.count == width * heads ? heads : heads * valueWidth
        return Linear(weights: file.weights(try file.tensor(name + "attn_gate.weight", shape: [width, gates])))
    }

    /// Norm of queries or keys: one weight vector for each head, or one over all heads.
    private func headNorm(
        _ kind: Family.HeadNorm, _ name: String, heads: Int, _ headWidth: Int
    ) throws(ModelFileError) -> Norm? {
        if family.weightlessNorms.contains(kind) { return model.weightlessNorm(headWidth, .rms) }
        guard let tensor = file.tensorIfPresent(self.name + name + ".weight") else { return nil }
        if tensor.count == headWidth, !family.normsAllHeads {
            return try model.norm(self.name + name, width: headWidth)
        }
        if tensor.shape == [1, heads] {
            // One gain per head.
            let gains = tensor.floats().flatMap { Array(repeating: $0, count: headWidth) }
            return Norm(.rms, weight: gains, epsilon: model.epsilon, groupWidth: headWidth)
        }
        let all = try file.tensor(
            self.name + name + ".weight",
            shape: tensor.shape.count == 2 ? [headWidth, heads] : [heads * headWidth])
        return Norm(
            model.norm, weight: all.floats(),
            bias: try file.tensorIfPresent(self.name + name + ".bias", shape: all.shape)?.floats(),
            epsilon: model.epsilon, groupWidth: family.normsAllHeads ? nil : headWidth)
    }

    private func scoreScale(keyWidth: Int) throws(ModelFileError) -> Float {
        if let scale = family.scoreScale { return try model.factor(scale) }
        return try hyper.factor("attention.scale") ?? 1 / Float(keyWidth).squareRoot()
    }

    /// Slope of each head's linear position bias (ALiBi, Press et al. 2021); `nil`: none.
    private func slopes(heads: Int) throws(ModelFileError) -> [Float]? {
        let largest = try model.factor(family.linearBias)
        guard largest > 0 else { return nil }
        let power = 1 << Int(log2(Double(heads)))
        return (0..<heads).map { head in
            let exponent =
                head < power ? Double(head + 1) / Double(power) : Double(2 * (head - power) + 1) / Double(2 * power)
            return Float(pow(2, -Double(largest) * exponent))
        }
    }

    private func temperature() throws(ModelFileError) -> SelfAttention.Temperature? {
        guard let style = family.temperature else { return nil }
        let scale = try model.factor(style.scale)
        guard scale != 0 else { return nil }
        return SelfAttention.Temperature(scale: scale, length: try model.factor(style.length), offset: style.offset)
    }

    // MARK: Feed-forward blocks

    /// An MLP, or a mixture of experts if the layer has a router.
    ///
    /// - Returns: `nil` if the layer has neither.
    func feedForward() throws(ModelFileError) -> (any FeedForward)? {
        if let experts = model.experts, !isDense(experts) {
            try checkExpertInterval(experts)
            if family.hasUnusedMLPs { leaveUnused(["ffn_gate", "ffn_up", "ffn_down"]) }
            return try self.experts(experts)
        }
        let hiddenWidth = model.feedForwardWidths[index]
        if hiddenWidth == 0, !has("ffn_up.weight") { return nil }
        return try mlp(hiddenWidth: try hyper.positive("feed_forward_length", hiddenWidth))
    }

    func experts(_ shape: Experts.Shape) throws(ModelFileError) -> Experts {
        var shared: MLP?
        if let tensor = file.tensorIfPresent(name + "ffn_up_shexp.weight") {
            let isFused = family.isGated && !has("ffn_gate_shexp.weight")
            let hiddenWidth = isFused ? tensor.shape.last! / 2 : tensor.shape.last!
            shared = try mlp(suffix: "_shexp", hiddenWidth: hiddenWidth)
        }
        var latentNorm: Norm?
        if let tensor = file.tensorIfPresent(name + "ffn_routed_norm.weight") {
            latentNorm = try model.norm(name + "ffn_routed_norm", width: tensor.count)
        }
        return try Experts(
            file, layer: name, index: index, width: width, shape, activation: try activation("_exps"),
            isGated: family.isGated, scaled: family.expertScales, latentNorm: latentNorm, shared: shared)
    }

    /// Checks that the layer is one of those that have experts, if the file says how many layers apart they are.
    private func checkExpertInterval(_ experts: Experts.Shape) throws(ModelFileError) {
        guard let step = try hyper.countIfPresent("interleave_moe_layer_step") else { return }
        guard index >= experts.leadingDenseLayers, (index + 1) % step == 0 else {
            throw hyper.invalid("interleave_moe_layer_step", "a divisor of \(index + 1)", found: step)
        }
    }

    /// Whether the layer has an MLP, in a model with experts in other layers.
    private func isDense(_ experts: Experts.Shape) -> Bool {
        !has("ffn_gate_inp.weight") && (index < experts.leadingDenseLayers || has("ffn_up.weight"))
    }

    /// - Parameter suffix: Suffix of the tensor names `ffn_up…` and so on.
    func mlp(suffix: String = "", hiddenWidth: Int) throws(ModelFileError) -> MLP {
        let (up, down) = (name + "ffn_up" + suffix, name + "ffn_down" + suffix)
        var innerNorm: Norm?
        if has("ffn_sub_norm.weight") { innerNorm = try model.norm(name + "ffn_sub_norm", width: hiddenWidth) }
        let outputs = try file.mlpLinear(down, from: hiddenWidth, to: width, scaled: family.mlpScales)
        var gate: Linear?
        var raised: Linear
        let isFused =
            !has("ffn_gate\(suffix).weight") && file.tensorIfPresent(up + ".weight")?.shape.last == 2 * hiddenWidth
        if family.isGated, isFused {
            let both = try file.linears(up, from: width, to: [hiddenWidth, hiddenWidth], scaled: family.mlpScales)
            (gate, raised) = (both[0], both[1])
        } else {
            if family.isGated {
                gate = try file.mlpLinear(
                    name + "ffn_gate" + suffix, from: width, to: hiddenWidth, scaled: family.mlpScales)
            }
            raised = try file.mlpLinear(up, from: width, to: hiddenWidth, scaled: family.mlpScales)
        }
        // AWQ's divisors of the input of `down` (MPT).
        let divisors = try file.vectorIfPresent(name + "ffn.act.scales", hiddenWidth)
        return MLP(
            gate: gate, up: raised, down: outputs, activation: try activation(suffix), innerNorm: innerNorm,
            innerScale: divisors?.map { 1 / $0 })
    }

    /// The family's activation, clamped in layers for which the file gives a limit.
    func activation(_ suffix: String) throws(ModelFileError) -> Activation {
        if case .situ = family.activation {
            let beta = try hyper.factor("activation.situ_beta") ?? 0
            guard beta > 0 else { throw hyper.invalid("activation.situ_beta", "above 0", found: beta) }
            return .situ(beta: beta, linearBeta: max(0, try hyper.factor("activation.situ_linear_beta") ?? 0))
        }
        guard family.activation == .silu else { return family.activation }
        let isOne = family.limitsAreOne && !hyper.has("swiglu_clamp_shexp")
        let key = suffix == "_exps" || isOne ? "swiglu_clamp_exp" : "swiglu_clamp_shexp"
        let limits = try hyper.doubles(key, layers: model.layerCount) ?? []
        let limit = index < limits.count ? limits[index] : 0
        guard limit > 1e-6 else { return .silu }
        return family.limitsBeforeSiLU ? .siluOfLimited(limit: Float(limit)) : .limitedSiLU(limit: Float(limit))
    }
}
