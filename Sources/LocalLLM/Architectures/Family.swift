import KernelsPortable

/// What a family of decoder-only models has, and in what order its layers run it.
///
/// The defaults are Llama's; a family declares what it does otherwise. Some things are there where a file has tensors for
/// them, in any family: biases, norms of queries and keys, attention sinks, a gate or a norm before the output projection,
/// a fused projection in place of several, experts in place of an MLP, a shared expert.
struct Family: Sendable {
    // MARK: Layers

    var norm = NormKind.rms
    /// Whether norms have weights.
    var normsHaveWeights = true
    /// Tensors of the norms; `nil` where a family has none in that place.
    var mixerNorm: String? = "attn_norm"
    var mixerPostNorm: String?
    var feedForwardNorm: String? = "ffn_norm"
    var feedForwardPostNorm: String?
    /// Whether the feed-forward block reads the layer's input, as the mixer does.
    var isParallel = false
    /// Multiplies what each block adds to the residual stream.
    var branchScale = Factor.one

    // MARK: Embedding and output

    var embeddingScale = Factor.one
    /// Norm of the embeddings.
    var embeddingNorm: String?
    /// Whether embeddings are normalized, without weights.
    var normalizesEmbeddings = false
    /// Norm of the states before the projection.
    var outputNorm: String? = "output_norm"
    /// Multiplies the states before the projection, and the logits after it.
    var stateScale = Factor.one
    var logitScale = Factor.one
    /// Limit of the logits' softcap; one of 0 is none.
    var logitSoftcap = Factor.zero
    /// Tokens that are never said: images, of models that cannot make them here.
    var suppressed: Range<Int>?

    /// Whether layers have embeddings of their own.
    var hasPerLayerEmbeddings = false
    /// Vectors a row of the residual stream, and what makes one of them in the end. The layers' connections are set by `adjust`.
    var streams: (@Sendable (DecoderBuilder) throws(ModelFileError) -> (count: Int, gather: any ResidualConnection)?)?
    /// Tensors and biases that the family's reference does not use, without `blk.N.`; those that end with * may go on.
    var unused: Set<String> = []

    // MARK: Attention

    /// Which values of queries and keys turn together; `nil`: positions are known otherwise.
    var rotary: RotaryLayout? = .halves
    /// Whether `rope.dimension_sections` gives parts of a head their own positions (M-RoPE).
    var sections = Rotary.Sections.none
    /// Whether queries and keys of a layer are rotated.
    var rotates: Make<Bool> = { _ throws(ModelFileError) in true }
    /// Which layers see a window only; `nil`: all, if the file has one.
    var windows: Windows?
    /// Whether a norm of queries and keys covers all heads, not each head by itself.
    var normsAllHeads = false
    /// Whether a norm of keys counts only beside one of queries.
    var normsComeInPairs = false
    /// Whether queries and keys are normalized after they are rotated.
    var normsFollowRotation = false
    /// Kind of the norms of queries and keys; `nil`: as the others.
    var headNormKind: Norm.Kind?
    /// Norms of queries, keys and values that have no weights.
    var weightlessNorms: Set<HeadNorm> = []
    /// Whether a layer without a projection to values takes keys for them, before their norm and rotation.
    var valuesMayBeKeys = false
    /// Multiplies scores; `nil`: `attention.scale`, else 1/√keyWidth.
    var scoreScale: Factor?
    var scoreSoftcap = Factor.zero
    /// Largest slope of linear biases (ALiBi); 0: none.
    var linearBias = Factor.zero
    /// Limit of queries, keys and values; 0: none.
    var clamp = Factor.zero
    /// Multiplies what attention gives.
    var valueScale = Factor.one
    var temperature: Temperature?
    /// Whether attention's gates are softplus, not sigmoid.
    var softplusGates = false
    /// Whether `attn_qkv.scale` counts.
    var fusedScales = true
    /// Whether the query projection gives each head's query and, behind it, a gate of what the head gives.
    var queryHoldsGate = false

    enum NormKind: Sendable {
        case rms, layer
        /// RMS where the file has an epsilon for it.
        case declared
    }

    enum HeadNorm: Sendable { case query, key, value }

    // MARK: MLP

    var activation = Activation.silu
    var isGated = true
    /// Whether `swiglu_clamp_exp` and `swiglu_clamp_shexp` limit what SiLU reads, not what it gives.
    var limitsBeforeSiLU = false
    /// Whether `swiglu_clamp_exp` counts for `swiglu_clamp_shexp` where the file has only that.
    var limitsAreOne = false
    /// Whether `ffn_*.scale` count, of MLPs and of experts.
    var mlpScales = false
    var expertScales = false
    /// Whether layers with experts may have an MLP that is not used.
    var hasUnusedMLPs = false
    /// What the family's mixtures of experts are like; `nil` if there are none.
    var experts: Experts.Style?

    // MARK: Blocks of the family's own

    typealias Make<Block> = @Sendable (LayerBuilder) throws(ModelFileError) -> Block

    typealias MakeMixer = Make<(any Mixer)?>

    var mixer: MakeMixer = { layer throws(ModelFileError) in try layer.attention() }
    var feedForward: Make<(any FeedForward)?> = { layer throws(ModelFileError) in try layer.feedForward() }
    /// Makes a network that is no `DecoderNetwork`; `nil`: it is one.
    var network: (@Sendable (DecoderBuilder) throws(ModelFileError) -> any Network)?
    /// Changes a layer that has been made as declared.
    var adjust: @Sendable (inout DecoderNetwork.Layer, LayerBuilder) throws(ModelFileError) -> Void = {
        _, _ throws(ModelFileError) in
    }
}

extension Family {
    func isUnused(_ tensor: String) -> Bool {
        guard !unused.isEmpty else { return false }
        let parts = tensor.split(separator: ".", maxSplits: 2)
        let name = parts.first == "blk" && parts.count == 3 ? String(parts[2]) : tensor
        return unused.contains { $0.hasSuffix("*") ? name.hasPrefix($0.dropLast()) : name == $0 }
    }

    /// A number that a file gives or a family fixes.
    struct Factor: Sendable {
        let value: @Sendable (DecoderBuilder) throws(ModelFileError) -> Float

        static let one = constant(1)
        static let zero = constant(0)

        static func constant(_ value: Float) -> Factor { Factor { _ throws(ModelFileError) in value } }

        /// A key whose 0 counts as absent.
        static func key(_ key: String, default fallback: Float) -> Factor {
            Factor { model throws(ModelFileError) in try model.hyper.factor(key) ?? fallback }
        }

        /// A key whose 0 counts.
        static func present(_ key: String, default fallback: Float) -> Factor {
            Factor { model throws(ModelFileError) in Float(try model.hyper.double(key) ?? Double(fallback)) }
        }

        static let rootOfWidth = Factor { model throws(ModelFileError) in Float(model.width).squareRoot() }

        /// One divided by this.
        var inverse: Factor { Factor { model throws(ModelFileError) in try 1 / value(model) } }
    }

    /// How layers with a sliding window and layers that see everything alternate, if `attention.sliding_window` is not 0.
    ///
    /// `attention.sliding_window_pattern` is either an array with true for each layer that has a window, or a period.
    struct Windows: Sendable {
        /// One layer of so many sees everything: the last, or the first; 0: none does.
        var period: Int
        var globalIsFirst = false
        /// The window where the file has no key; 0: none.
        var size = 0
        /// Whether a file's own window counts only by not being 0: the model's is `size`.
        var hasFixedSize = false
        /// Only models of so many layers have windows; `nil`: all.
        var modelLayers: Int?
        /// Whether windows do not slide: a token sees its own chunk of positions.
        var areChunks = false
        /// Base of the windowed layers' rotary frequencies without a key; `nil`: that of the others.
        var rotaryBase: Double?
        /// Whether layers without a window rotate half of `rope.dimension_count` (Step 3.5).
        var halvesOthersRotation = false
        /// Whether windowed layers are without the scaling of the others' positions.
        var areUnscaled = false
    }

    /// Grows queries with their position: `1 + scale · log(1 + ⌊(position + offset) / length⌋)`.
    struct Temperature: Sendable {
        var scale: Factor
        /// Positions of equal temperature.
        var length: Factor
        var offset: Float = 0
        /// Whether only layers that do not rotate have it.
        var isOfUnrotatedLayers = false
    }
}
