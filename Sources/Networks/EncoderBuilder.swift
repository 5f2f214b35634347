import GGUF
import Compute
import KernelFormats

/// Builds an `EncoderNetwork` of a family from a file.
struct EncoderBuilder {
    let file: ModelReader
    let family: EncoderFamily
    let hyper: Hyperparameters
    let width: Int
    let layerCount: Int
    let heads: Int
    let kvHeads: Int
    let keyWidth: Int
    let valueWidth: Int
    let feedForwardWidth: Int
    let epsilon: Float
    let trainedContext: Int
    /// Shape of the experts, shared by all layers; `nil` if all layers are dense.
    let mixture: Experts.Shape?

    init(_ file: ModelReader, architecture: String, _ family: EncoderFamily) throws(ModelFileError) {
        try file.loadBLAS()
        let hyper = Hyperparameters(file: file, architecture: architecture)
        self.file = file
        self.family = family
        self.hyper = hyper
        width = try hyper.count("embedding_length")
        layerCount = try hyper.blockCount()
        heads = try hyper.count("attention.head_count")
        kvHeads = try hyper.count("attention.head_count_kv", default: heads)
        guard heads % kvHeads == 0 else {
            throw hyper.invalid("attention.head_count_kv", "a divisor of the \(heads) heads", found: kvHeads)
        }
        keyWidth = try hyper.count("attention.key_length", default: max(1, width / heads))
        valueWidth = try hyper.count("attention.value_length", default: keyWidth)
        feedForwardWidth = try hyper.count("feed_forward_length")
        let key = family.norm == .rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"
        let epsilon = try file.metadata.double("\(architecture).\(key)")
        guard epsilon >= 0, epsilon < 1 else { throw hyper.invalid(key, "in 0..<1", found: epsilon) }
        self.epsilon = Float(epsilon)
        trainedContext = try hyper.count("context_length")
        mixture = try Experts.Shape(
            hyper, .init(normalizesWeights: .declared, isOptional: true), width: width,
            layers: layerCount)
        if try hyper.bool("attention.causal") == true, EncoderFamily.architectures[architecture] != nil {
            throw hyper.invalid("attention.causal", "false in an encoder", found: true)
        }
    }

    func encoder() throws(ModelFileError) -> EncoderNetwork {
        let local = try localLayers()
        let rotaries = try rotaries(hasLocal: local.contains(true))
        var bias: PositionBias?
        if family.positions == .alibi { bias = .alibi(heads: heads) }
        var layers: [EncoderLayer] = []
        for index in 0..<layerCount {
            let name = "\(family.prefix)blk.\(index)."
            if family.positions == .relative {
                bias = try relativeBias(name, isFirst: index == 0, isBidirectional: true) ?? bias
            }
            let attention = try attention(name, reach: local[index] ? try reach() : nil)
            attention.rotary = rotaries.isEmpty ? nil : local[index] ? rotaries.count - 1 : 0
            attention.bias = bias
            var attentionNorms = family.attentionNorms
            if index == 0, family.firstNormIsOptional, let norm = attentionNorms.before, !has(name + norm) {
                attentionNorms.before = nil
            }
            layers.append(
                EncoderLayer(
                    attention: attention, attentionNorms: try norms(attentionNorms, name),
                    feedForward: try feedForward(index, name),
                    feedForwardNorms: try norms(family.feedForwardNorms, name)))
        }
        return EncoderNetwork(
            embedding: try embedding(), layers: layers,
            outputNorm: try normIfNamed(family.outputNorm), rotaries: rotaries, trainedContext: trainedContext)
    }

    // MARK: Embedding and positions

    private func embedding() throws(ModelFileError) -> Embedding {
        var embedding = Embedding(table: try file.matrix("token_embd.weight", columns: width))
        if family.scalesEmbeddings { embedding.scale = Float(width).squareRoot() }
        if family.positions == .learned {
            embedding.positions = try file.matrix("position_embd.weight", columns: width)
            guard let rows = embedding.positions?.rows, rows >= trainedContext else {
                throw hyper.invalid(
                    "context_length", "at most \(embedding.positions?.rows ?? 0), the rows of position_embd.weight",
                    found: trainedContext)
            }
        }
        // Every token gets type 0, the first sentence. The key is this package's: llama.cpp knows no other type.
        if file.tensorIfPresent("token_types.weight") != nil {
            let types = try file.matrix("token_types.weight", columns: width)
            let values = types.tensor.floats()
            embedding.bias = Array(values.prefix(width))
            if try hyper.bool("classifier.second_token_type") == true, types.rows > 1,
                let separator = try file.metadata.intIfPresent("tokenizer.ggml.seperator_token_id")
            {
                embedding.second = (Int32(clamping: separator), Array(values[width..<2 * width]))
            }
        }
        embedding.norm = try normIfNamed(family.embeddingNorm)
        return embedding
    }

    /// Rotary embeddings of the global layers, then of the windowed layers if theirs differs.
    private func rotaries(hasLocal: Bool) throws(ModelFileError) -> [Rotary] {
        guard case .rotary(let layout) = family.positions else { return [] }
        let everywhere = try hyper.rotary(layout, headWidth: keyWidth, trainedContext: trainedContext)
        guard hasLocal else { return [everywhere] }
        let base = try hyper.double("rope.freq_base_swa") ?? 10_000
        guard base > 1, base.isFinite else { throw hyper.invalid("rope.freq_base_swa", "more than 1", found: base) }
        return [
            everywhere,
            Rotary(layout: layout, width: 2 * everywhere.frequencies.count, base: base, scaling: .none, factors: nil),
        ]
    }

    /// Position biases of a layer. A layer without its own uses the first layer's.
    func relativeBias(
        _ layer: String, isFirst: Bool, isBidirectional: Bool
    ) throws(ModelFileError) -> PositionBias? {
        let name = layer + "attn_rel_b.weight"
        guard file.tensorIfPresent(name) != nil else {
            guard isFirst else { return nil }
            throw ModelFileError(.missingTensor, "Tensor '\(name)' is missing.", path: file.path)
        }
        let buckets = try hyper.count("attention.relative_buckets_count")
        guard buckets >= 4, buckets <= 1 << 16 else {
            throw hyper.invalid("attention.relative_buckets_count", "4...65536", found: buckets)
        }
        return .relative(
            try file.tensor(name, shape: [heads, buckets]).floats(), heads: heads, isBidirectional: isBidirectional)
    }

    /// Which layers attend within a window only.
    private func localLayers() throws(ModelFileError) -> [Bool] {
        guard let window = family.window, try hyper.countIfPresent("attention.sliding_window") != nil else {
            return Array(repeating: false, count: layerCount)
        }
        let key = "attention.sliding_window_pattern"
        if file.metadata["\(hyper.architecture).\(key)"]?.type == .array {
            return try hyper.flags(key, layers: layerCount)
        }
        let period = try hyper.int(key) ?? window.period
        guard (0...1 << 28).contains(period) else { throw hyper.invalid(key, "0...268435456", found: period) }
        return (0..<layerCount).map { layer in
            period == 0 || layer % period != (window.globalComesFirst ? 0 : period - 1)
        }
    }

    private func reach() throws(ModelFileError) -> Int { try hyper.count("attention.sliding_window") / 2 }

    // MARK: Blocks

    private func has(_ name: String) -> Bool { file.tensorIfPresent(name + ".weight") != nil }

    private func normIfNamed(_ name: String?) throws(ModelFileError) -> Norm? {
        guard let name else { return nil }
        return try norm(name)
    }

    func norm(_ name: String, width: Int? = nil) throws(ModelFileError) -> Norm {
        let width = width ?? self.width
        return Norm(
            family.norm, weight: try file.vector(name + ".weight", width),
            bias: try file.vectorIfPresent(name + ".bias", width), epsilon: epsilon)
    }

    private func norms(_ names: EncoderFamily.NormNames, _ layer: String) throws(ModelFileError) -> EncoderLayer.Norms {
        EncoderLayer.Norms(
            before: try normIfNamed(names.before.map { layer + $0 }),
            after: try normIfNamed(names.after.map { layer + $0 }),
            ofSum: try normIfNamed(names.ofSum.map { layer + $0 }),
            second: try normIfNamed(names.second.flatMap { has(layer + $0) ? layer + $0 : nil }))
    }

    private func attention(_ layer: String, reach: Int?) throws(ModelFileError) -> EncoderAttention {
        let sizes = [heads * keyWidth, kvHeads * keyWidth, kvHeads * valueWidth]
        let projections =
            has(layer + "attn_qkv")
            ? try file.linears(layer + "attn_qkv", from: width, to: sizes)
            : [
                try file.linear(layer + "attn_q", from: width, to: sizes[0]),
                try file.linear(layer + "attn_k", from: width, to: sizes[1]),
                try file.linear(layer + "attn_v", from: width, to: sizes[2]),
            ]
        let scale = family.positions == .relative ? 1 : try hyper.factor("attention.scale")
        let attention = EncoderAttention(
            query: projections[0], key: projections[1], value: projections[2],
            output: try file.linear(layer + family.attentionOutput, from: heads * valueWidth, to: width),
            BidirectionalShape(
                heads: heads, kvHeads: kvHeads, keyWidth: keyWidth, valueWidth: valueWidth,
                scale: scale ?? 1 / Float(keyWidth).squareRoot(), reach: reach))
        attention.queryNorm = try headNorm(layer + "attn_q_norm", heads: heads)
        attention.keyNorm = try headNorm(layer + "attn_k_norm", heads: kvHeads)
        return attention
    }

    /// A norm of each head separately, or of all heads together, depending on the tensor's width.
    private func headNorm(_ name: String, heads: Int) throws(ModelFileError) -> Norm? {
        guard let tensor = file.tensorIfPresent(name + ".weight") else { return nil }
        return try norm(name, width: tensor.count == keyWidth ? keyWidth : heads * keyWidth)
    }

    private func feedForward(_ index: Int, _ layer: String) throws(ModelFileError) -> any FeedForward {
        if let mixture, let period = try hyper.countIfPresent("moe_every_n_layers"), index % period == 1 {
            return try Experts(
                file, layer: layer, index: index, width: width, mixture, activation: .gelu, isGated: false,
                scaled: false)
        }
        return try mlp(layer)
    }

    func mlp(_ layer: String) throws(ModelFileError) -> MLP {
        let hidden = feedForwardWidth
        let up = layer + "ffn_up", gate = layer + "ffn_gate"
        let rows = try file.matrix(up + ".weight", columns: width).rows
        let gating: EncoderFamily.Gating = has(gate) ? .separate : rows == 2 * hidden ? .fused : .none
        guard let activation = try declaredActivation() ?? family.mlp[gating], family.mlp[gating] != nil else {
            throw ModelFileError(
                .badTensor,
                "Tensor '\(up).weight' has \(rows) rows, and there is \(has(gate) ? "a" : "no") '\(gate).weight'; "
                    + "an MLP of \(hidden) values is not made so in '\(hyper.architecture)'.", path: file.path)
        }
        let down = try file.linear(layer + "ffn_down", from: hidden, to: width)
        switch gating {
        case .none:
            return MLP(gate: nil, up: try file.linear(up, from: width, to: hidden), down: down, activation: activation)
        case .separate:
            return MLP(
                gate: try file.linear(gate, from: width, to: hidden), up: try file.linear(up, from: width, to: hidden),
                down: down, activation: activation)
        case .fused:
            let halves = try file.linears(up, from: width, to: [hidden, hidden])
            return MLP(gate: halves[0], up: halves[1], down: down, activation: activation)
        }
    }

    private func declaredActivation() throws(ModelFileError) -> Activation? {
        guard let name = try hyper.string("hidden_activation") else { return nil }
        guard let activation = Self.activations[name] else {
            throw hyper.invalid(
                "hidden_activation", "one of " + Self.activations.keys.sorted().joined(separator: ", "), found: name)
        }
        return activation
    }

    private static let activations: [String: Activation] = [
        "gelu": .gelu, "geglu": .gelu, "silu": .silu, "swish": .silu, "swiglu": .silu, "relu": .relu, "reglu": .relu,
    ]
}
