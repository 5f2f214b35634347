import KernelsPortable

/// What a family of decoder-only models has, and in what order its layers run it.
///
/// The defaults are Llama's; a family declares what it does otherwise. Biases, and norms of queries and keys, are there where
/// a file has tensors for them.
struct Family: Sendable {
    // MARK: Layers

    var norm = Norm.Kind.rms
    /// Of the token embeddings.
    var embeddingNorm: String?
    /// Of what the logits are made from.
    var outputNorm = "output_norm"
    /// Tensors of the norms; `nil` where a family has none in that place.
    var mixerNorm: String? = "attn_norm"
    var mixerPostNorm: String?
    var feedForwardNorm: String? = "ffn_norm"
    var feedForwardPostNorm: String?
    /// Whether the feed-forward block reads the layer's input, as the mixer does.
    var isParallel = false

    // MARK: Attention

    /// Which values of queries and keys turn together; `nil`: positions are known otherwise.
    var rotary: Rotary.Layout? = .halves
    /// Whether the query projection gives each head's query and, behind it, a gate of what the head gives.
    var queryHoldsGate = false
    /// Whether a norm of queries and keys covers all heads, not each head by itself.
    var normsAllHeads = false

    // MARK: MLP

    var activation = Activation.silu
    var isGated = true
    /// Whether `ffn_*.scale` count.
    var mlpScales = true
    /// What the family's mixtures of experts are like; `nil` if there are none.
    var experts: Experts.Style?

    // MARK: Blocks of the family's own

    typealias MakeMixer = @Sendable (LayerBuilder) throws(ModelFileError) -> (any Mixer)?
    typealias MakeFeedForward = @Sendable (LayerBuilder) throws(ModelFileError) -> (any FeedForward)?

    var mixer: MakeMixer = { layer throws(ModelFileError) in try layer.attention() }
    var feedForward: MakeFeedForward = { layer throws(ModelFileError) in try layer.feedForward() }
    /// Changes a layer that has been made as declared.
    var adjust: @Sendable (inout DecoderNetwork.Layer, LayerBuilder) throws(ModelFileError) -> Void = {
        _, _ throws(ModelFileError) in
    }
}
