/// Makes a `DecoderNetwork` of a family from a file.
final class DecoderBuilder {
    let file: GGUFFile
    let family: Family
    let hyper: Hyperparameters
    let width: Int
    let layerCount: Int
    let trainedContext: Int
    let headCounts: [Int]
    let kvHeadCounts: [Int]
    let keyWidth: Int
    let valueWidth: Int
    let epsilon: Float
    /// What the mixtures of all layers share.
    let experts: Experts.Shape?
    private(set) var rotaries: [Rotary] = []

    init(_ file: GGUFFile, architecture: String, _ family: Family) throws(ModelFileError) {
        self.file = file
        self.family = family
        let hyper = Hyperparameters(file: file, architecture: architecture)
        self.hyper = hyper
        width = try hyper.count("embedding_length")
        trainedContext = try hyper.count("context_length")
        layerCount = try hyper.count("block_count")
        headCounts = try hyper.counts("attention.head_count", layers: layerCount)
        kvHeadCounts =
            !hyper.has("attention.head_count_kv")
            ? headCounts : try hyper.counts("attention.head_count_kv", layers: layerCount)
        for (heads, kvHeads) in zip(headCounts, kvHeadCounts) where kvHeads > 0 && heads % kvHeads != 0 {
            throw hyper.invalid("attention.head_count_kv", "a divisor of the \(heads) heads", found: kvHeads)
        }
        let heads = headCounts.first { $0 > 0 } ?? 1
        keyWidth = try hyper.count("attention.key_length", default: max(1, width / heads))
        valueWidth = try hyper.count("attention.value_length", default: keyWidth)
        let epsilonKey = family.norm == .rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"
        epsilon = Float(try hyper.double(epsilonKey) ?? 1e-5)
        if let style = family.experts {
            experts = try Experts.Shape(hyper, style, width: width, scaled: family.mlpScales)
        } else if let count = try hyper.int("expert_count"), count > 0 {
            throw ModelFileError(
                .unsupported,
                "This is a mixture of \(count) experts; of '\(architecture)' only dense models are supported.",
                path: file.path)
        } else {
            experts = nil
        }
    }

    func decoder() throws(ModelFileError) -> DecoderNetwork {
        let table = try file.matrix("token_embd.weight", columns: width)
        var layers: [DecoderNetwork.Layer] = []
        for index in 0..<layerCount { layers.append(try LayerBuilder(self, index).layer()) }
        var embeddingNorm: Norm?
        if let name = family.embeddingNorm { embeddingNorm = try norm(name) }
        let projection =
            file.tensorIfPresent("output.weight") == nil
            ? Linear(weights: file.weights(table.tensor)) : try file.linear("output", from: width, to: table.rows)
        return DecoderNetwork(
            embedding: Embedding(table: table, norm: embeddingNorm), layers: layers,
            head: OutputHead(norm: try norm(family.outputNorm), projection: projection), rotaries: rotaries,
            trainedContext: trainedContext)
    }

    /// The index of a rotary embedding, by which `LayerContext` has its angles. Layers with the same one share it.
    func index(of rotary: Rotary) -> Int {
        if let index = rotaries.firstIndex(of: rotary) { return index }
        rotaries.append(rotary)
        return rotaries.count - 1
    }

    /// The norm `name.weight`, with `name.bias` where the file has one.
    func norm(_ name: String, width: Int? = nil) throws(ModelFileError) -> Norm {
        let width = width ?? self.width
        return Norm(
            family.norm, weight: try file.vector(name + ".weight", width),
            bias: try file.vectorIfPresent(name + ".bias", width), epsilon: epsilon)
    }
}

/// Makes the blocks of one layer: the file's tensors `blk.{index}.…`.
struct LayerBuilder {
    let model: DecoderBuilder
    let index: Int

    init(_ model: DecoderBuilder, _ index: Int) {
        self.model = model
        self.index = index
    }

    var file: GGUFFile { model.file }
    var hyper: Hyperparameters { model.hyper }
    var family: Family { model.family }
    var width: Int { model.width }
    var name: String { "blk.\(index)." }

    func layer() throws(ModelFileError) -> DecoderNetwork.Layer {
        let (mixer, feedForward) = (try family.mixer(self), try family.feedForward(self))
        // Families whose layers are one block each name the same norm for both.
        let (isMixing, isTransforming) = (mixer != nil, feedForward != nil)
        var layer = DecoderNetwork.Layer(
            mixer: mixer, mixerNorm: isMixing ? try norm(family.mixerNorm) : nil,
            mixerPostNorm: isMixing ? try norm(family.mixerPostNorm) : nil, feedForward: feedForward,
            feedForwardNorm: isTransforming ? try norm(family.feedForwardNorm) : nil,
            feedForwardPostNorm: isTransforming ? try norm(family.feedForwardPostNorm) : nil,
            isParallel: family.isParallel)
        try family.adjust(&layer, self)
        return layer
    }

    /// Whether the layer has no key and value heads: files of hybrid models tell recurrent layers so.
    var isRecurrent: Bool { model.kvHeadCounts[index] == 0 }

    func linear(_ name: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
        try file.linear(self.name + name, from: inputs, to: outputs)
    }

    private func norm(_ name: String?) throws(ModelFileError) -> Norm? {
        guard let name else { return nil }
        return try model.norm(self.name + name)
    }

    /// Norms of queries or keys: one weight for each head's values, or for those of all heads.
    private func headNorm(_ name: String, heads: Int) throws(ModelFileError) -> Norm? {
        let width = family.normsAllHeads ? heads * model.keyWidth : model.keyWidth
        guard file.tensorIfPresent(self.name + name + ".weight") != nil else { return nil }
        return try model.norm(self.name + name, width: width)
    }

    func attention() throws(ModelFileError) -> SelfAttention {
        let (heads, kvHeads) = (model.headCounts[index], model.kvHeadCounts[index])
        let (keyWidth, valueWidth) = (model.keyWidth, model.valueWidth)
        let window = try hyper.countIfPresent("attention.sliding_window")
        var rotary: Int?
        if let layout = family.rotary {
            rotary = model.index(
                of: try hyper.rotary(layout, headWidth: keyWidth, trainedContext: model.trainedContext))
        }
        let parts = SelfAttention.Parts(
            query: try linear("attn_q", from: width, to: heads * keyWidth * (family.queryHoldsGate ? 2 : 1)),
            queryHoldsGate: family.queryHoldsGate,
            key: try linear("attn_k", from: width, to: kvHeads * keyWidth),
            value: try linear("attn_v", from: width, to: kvHeads * valueWidth),
            queryNorm: try headNorm("attn_q_norm", heads: heads), keyNorm: try headNorm("attn_k_norm", heads: kvHeads),
            rotary: rotary, output: try linear("attn_output", from: heads * valueWidth, to: width))
        return SelfAttention(
            parts,
            state: .keysAndValues(heads: kvHeads, keyWidth: keyWidth, valueWidth: valueWidth, window: window),
            keyWidth: keyWidth, valueWidth: valueWidth,
            shape: AttentionShape(
                heads: heads, scale: try hyper.factor("attention.scale") ?? 1 / Float(keyWidth).squareRoot(),
                window: window))
    }

    func feedForward() throws(ModelFileError) -> any FeedForward {
        if let experts = model.experts { return try Experts(file, layer: name, experts) }
        return try mlp(hiddenWidth: try hyper.count("feed_forward_length"))
    }

    /// - Parameter suffix: Of the tensors' names, `ffn_gate…` and so on.
    func mlp(suffix: String = "", hiddenWidth: Int) throws(ModelFileError) -> MLP {
        try MLP(
            file, layer: name, suffix: suffix, width: width, hiddenWidth: hiddenWidth, scaled: family.mlpScales,
            activation: family.activation)
    }
}
