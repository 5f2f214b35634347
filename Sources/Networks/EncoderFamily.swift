import Compute
import KernelFormats

/// The design of a family of encoders, and the places of its norms.
///
/// Biases, norms of queries and keys, and fused query, key and value projections are used if the file has their
/// tensors.
struct EncoderFamily: Sendable {
    /// How attention encodes the positions of tokens.
    enum Positions: Sendable, Equatable {
        /// A learned vector per position, added to the embedding.
        case learned
        case rotary(RotaryLayout)
        /// Scores decrease linearly with distance; they are scaled as usual.
        case alibi
        /// Learned biases by distance; scores are not scaled (T5).
        case relative
    }

    /// The gate of an MLP.
    enum Gating: Sendable, Hashable {
        case none
        /// `ffn_gate` beside `ffn_up`.
        case separate
        /// The first half of `ffn_up`.
        case fused
    }

    /// Tensor names of the norms around a block; see `EncoderLayer.Norms`.
    struct NormNames: Sendable {
        var before: String?
        var after: String?
        var ofSum: String?
        /// Optional in files.
        var second: String?
    }

    /// Prefix of the names of the layers' tensors.
    var prefix = ""
    var norm = Norm.Kind.layer
    var positions: Positions
    /// Norm of the embeddings.
    var embeddingNorm: String?
    /// Whether embeddings are multiplied by the square root of their width.
    var scalesEmbeddings = false
    var attentionNorms: NormNames
    /// Whether the first layer may lack the norm before attention.
    var firstNormIsOptional = false
    var feedForwardNorms: NormNames
    var attentionOutput = "attn_output"
    /// MLP variants that files of the family may have, with their activations.
    var mlp: [Gating: Activation]
    /// Norm after the last layer.
    var outputNorm: String?
    /// Windowed attention; `nil`: all layers are global.
    var window: Window?
    var classifier = PoolingHead.Style()

    struct Window: Sendable {
        /// One layer in `period` is global, unless the file declares a pattern.
        let period: Int
        /// Whether the first layer of each period is the global one, instead of the last.
        let globalComesFirst: Bool
    }
}

extension EncoderFamily {
    /// By `general.architecture`.
    static let architectures: [String: EncoderFamily] = [
        "bert": .bert, "nomic-bert": .nomicBERT, "nomic-bert-moe": .rotaryBERT, "jina-bert-v2": .jinaBERTv2,
        "jina-bert-v3": .rotaryBERT, "modern-bert": .modernBERT, "neo-bert": .neoBERT, "eurobert": .llama(.halves),
        "llama-embed": .llama(.adjacent), "gemma-embedding": .gemmaEmbedding, "t5encoder": .t5,
    ]

    /// Decoders whose files may declare training without the causal mask: `attention.causal` is false.
    static let unmaskedDecoders: [String: EncoderFamily] = [
        "llama": .llama(.adjacent), "qwen2": .llama(.halves), "qwen3": .llama(.halves),
    ]

    /// BERT (Devlin et al. 2019), RoBERTa and similar: learned positions, post-norm.
    static let bert = EncoderFamily(
        positions: .learned, embeddingNorm: "token_embd_norm", attentionNorms: .init(ofSum: "attn_output_norm"),
        feedForwardNorms: .init(ofSum: "layer_output_norm"), mlp: [.none: .gelu])

    /// Nomic Embed v1 (Nussbaum et al. 2024): BERT with rotary positions and SwiGLU.
    static let nomicBERT = {
        var family = bert
        family.positions = .rotary(.halves)
        family.mlp = [.separate: .silu]
        return family
    }()

    /// Jina Embeddings v3 (Sturua et al. 2024) and Nomic Embed v2, with experts in odd layers: BERT with rotary
    /// positions.
    static let rotaryBERT = {
        var family = bert
        family.positions = .rotary(.halves)
        return family
    }()

    /// Jina Embeddings v2 (Günther et al. 2023): BERT with ALiBi on both sides and a gated MLP.
    static let jinaBERTv2 = {
        var family = bert
        family.positions = .alibi
        family.attentionNorms.second = "attn_norm_2"
        family.mlp = [.none: .gelu, .separate: .gelu, .fused: .gelu]
        return family
    }()

    /// ModernBERT (Warner et al. 2024): pre-norm, GeGLU, windows in two of three layers.
    static let modernBERT = EncoderFamily(
        positions: .rotary(.halves), embeddingNorm: "token_embd_norm", attentionNorms: .init(before: "attn_norm"),
        firstNormIsOptional: true, feedForwardNorms: .init(before: "ffn_norm"), mlp: [.fused: .gelu],
        outputNorm: "output_norm", window: .init(period: 3, globalComesFirst: true),
        classifier: .init(pooling: .mean, activation: .gelu))

    /// Llama's layers without the causal mask: EuroBERT (Boizard et al. 2025), and decoders turned into encoders.
    static func llama(_ layout: RotaryLayout) -> EncoderFamily {
        EncoderFamily(
            norm: .rms, positions: .rotary(layout), attentionNorms: .init(before: "attn_norm"),
            feedForwardNorms: .init(before: "ffn_norm"), mlp: [.separate: .silu], outputNorm: "output_norm")
    }

    /// NeoBERT (Le Breton et al. 2025).
    static let neoBERT = {
        var family = llama(.adjacent)
        family.mlp = [.fused: .silu]
        family.outputNorm = "enc.output_norm"
        return family
    }()

    /// EmbeddingGemma (Vera et al. 2025): Gemma 3's layers without the causal mask.
    static let gemmaEmbedding = {
        var family = llama(.halves)
        family.scalesEmbeddings = true
        family.attentionNorms.after = "post_attention_norm"
        family.feedForwardNorms.after = "post_ffw_norm"
        family.mlp = [.separate: .gelu]
        family.window = .init(period: 6, globalComesFirst: false)
        return family
    }()

    /// The encoder of T5 (Raffel et al. 2020), and of T5 v1.1 and Flan-T5, whose MLPs are gated.
    static let t5 = EncoderFamily(
        prefix: "enc.", norm: .rms, positions: .relative, attentionNorms: .init(before: "attn_norm"),
        feedForwardNorms: .init(before: "ffn_norm"), attentionOutput: "attn_o", mlp: [.none: .relu, .separate: .gelu],
        outputNorm: "enc.output_norm")
}
