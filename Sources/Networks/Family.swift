import GGUF
import Compute
import KernelFormats

/// The design of a family of decoder-only models.
///
/// The defaults are Llama's; a family declares its differences. In any family, some parts are used if the file has
/// their tensors: biases, norms of queries and keys, attention sinks, a gate or a norm before the output projection, a
/// fused projection instead of several, experts instead of an MLP, a shared expert.
struct Family: Sendable {
    // MARK: Layers

    var norm = NormKind.rms
    /// Whether norms have weights.
    var normsHaveWeights = true
    /// Tensor names of the norms; `nil`: the family has none in that place.
    var mixerNorm: String? = "attn_norm"
    var mixerPostNorm: String?
    var feedForwardNorm: String? = "ffn_norm"
    var feedForwardPostNorm: String?
    /// Whether the feed-forward block reads the layer's input, in parallel to the mixer.
    var isParallel = false
    /// Factor on the output of each block.
    var branchScale = Factor.one

    // MARK: Embedding and output

    var embeddingScale = Factor.one
    /// Norm of the embeddings.
    var embeddingNorm: String?
    /// Norm of the states before the output projection.
    var outputNorm: String? = "output_norm"
    /// Factors on the states before the output projection, and on the logits after it.
    var stateScale = Factor.one
    var logitScale = Factor.one
    /// Softcap of the logits; 0: none.
    var logitSoftcap = Factor.zero

    /// Whether a head for multi-token prediction drafts tokens, if the file has one.
    var predicts = false
    /// Number of residual streams, and what combines them at the end. `adjust` sets the layers' connections.
    var streams: (@Sendable (DecoderBuilder) throws(ModelFileError) -> (count: Int, gather: any ResidualConnection)?)?
    /// Tensors and biases that the reference implementation does not use, without `blk.N.`; a final * is a wildcard.
    var unused: Set<String> = []

    // MARK: Attention

    /// Which values of a head form the rotated pairs; `nil`: no rotation.
    var rotary: RotaryLayout? = .halves
    /// Whether `rope.dimension_sections` gives parts of a head separate positions (M-RoPE).
    var sections = Rotary.Sections.none
    /// Whether the queries and keys of a layer are rotated.
    var rotates: Make<Bool> = { _ throws(ModelFileError) in true }
    /// Which layers have a window; `nil`: all, if the file declares one.
    var windows: Windows?
    /// Whether the norms of queries and keys cover all heads together, instead of each head.
    var normsAllHeads = false
    /// Whether queries and keys are normalized after rotation.
    var normsFollowRotation = false
    /// Norms of queries, keys and values without weights.
    var weightlessNorms: Set<HeadNorm> = []
    /// Factor on the scores; `nil`: `attention.scale`, else 1/√keyWidth.
    var scoreScale: Factor?
    var scoreSoftcap = Factor.zero
    /// Largest slope of the linear position biases (ALiBi); 0: none.
    var linearBias = Factor.zero
    /// Limit on the magnitude of queries, keys and values; 0: none.
    var clamp = Factor.zero
    var temperature: Temperature?
    /// Whether `attn_qkv.scale` is used.
    var fusedScales = true
    /// Whether the query projection gives each head's query followed by a gate for the head's output.
    var queryHoldsGate = false

    enum NormKind: Sendable {
        case rms, layer
        /// RMS if the file has an epsilon for it, else LayerNorm.
        case declared
    }

    enum HeadNorm: Sendable { case query, key, value }

    // MARK: MLP

    var activation = Activation.silu
    var isGated = true
    /// Whether `swiglu_clamp_exp` and `swiglu_clamp_shexp` limit the input of SiLU instead of its output.
    var limitsBeforeSiLU = false
    /// Whether `swiglu_clamp_exp` also replaces a missing `swiglu_clamp_shexp`.
    var limitsAreOne = false
    /// Whether `ffn_*.scale` is used, for MLPs and experts.
    var mlpScales = false
    var expertScales = false
    /// Whether layers with experts may have an unused MLP.
    var hasUnusedMLPs = false
    /// Design of the mixture of experts; `nil`: the family has none.
    var experts: Experts.Style?

    // MARK: Custom blocks

    typealias Make<Block> = @Sendable (LayerBuilder) throws(ModelFileError) -> Block

    typealias MakeMixer = Make<(any Mixer)?>

    var mixer: MakeMixer = { layer throws(ModelFileError) in try layer.attention() }
    var feedForward: Make<(any FeedForward)?> = { layer throws(ModelFileError) in try layer.feedForward() }
    /// Builds the network from the layers that are declared above, or in another way.
    var network: @Sendable (DecoderBuilder) throws(ModelFileError) -> any Network = { builder throws(ModelFileError) in
        DecoderNetwork(try builder.parts())
    }
    /// Changes a layer after it was built as declared.
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

    /// A number that is fixed for the family or read from the file.
    struct Factor: Sendable {
        let value: @Sendable (DecoderBuilder) throws(ModelFileError) -> Float

        static let one = constant(1)
        static let zero = constant(0)

        static func constant(_ value: Float) -> Factor { Factor { _ throws(ModelFileError) in value } }

        /// The value of a key; 0 counts as absent.
        static func key(_ key: String, default fallback: Float) -> Factor {
            Factor { model throws(ModelFileError) in try model.hyper.factor(key) ?? fallback }
        }

        /// The value of a key; 0 is a value.
        static func present(_ key: String, default fallback: Float) -> Factor {
            Factor { model throws(ModelFileError) in Float(try model.hyper.double(key) ?? Double(fallback)) }
        }

        static let rootOfWidth = Factor { model throws(ModelFileError) in Float(model.width).squareRoot() }

        /// The reciprocal.
        var inverse: Factor { Factor { model throws(ModelFileError) in try 1 / value(model) } }
    }

    /// How windowed and global layers alternate, if `attention.sliding_window` is not 0.
    ///
    /// `attention.sliding_window_pattern` is either an array with true for each windowed layer, or a period.
    struct Windows: Sendable {
        /// One layer in `period` is global: the last, or the first; 0: none is.
        var period: Int
        var globalIsFirst = false
        var size = Size.declared(default: 0)
        /// The window in tokens.
        enum Size: Sendable {
            /// The file's key, or `default` if it has none; 0: no windows.
            case declared(default: Int)
            /// Given by the key's value, `nil` if there is none, and the number of layers; 0: no windows.
            case computed(@Sendable (_ declared: Int?, _ layers: Int) -> Int)

            func callAsFunction(_ declared: Int?, layers: Int) -> Int {
                switch self {
                case .declared(let fallback): declared ?? fallback
                case .computed(let size): size(declared, layers)
                }
            }
        }
        /// Rotary base of windowed layers if the file has no key; `nil`: the global layers' base.
        var rotaryBase: Double?
        /// Whether the scaling of positions applies to global layers only.
        var areUnscaled = false
    }

    /// Temperature scaling of queries by position: `1 + scale · log(1 + ⌊(position + offset) / length⌋)`.
    struct Temperature: Sendable {
        var scale: Factor
        /// Positions per temperature step.
        var length: Factor
        var offset: Float = 0
    }
}
