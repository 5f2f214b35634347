import Compute
import GGUF
import KernelFormats

/// Families before Llama, and later ones with their design: LayerNorm with biases, MLPs without a gate, learned
/// positions or linear biases (ALiBi).
extension Family {
    static let gpts: [String: Family] = [
        "gpt2": Family(norm: .layer, rotary: nil, activation: .gelu, isGated: false),
        "starcoder": Family(norm: .layer, rotary: nil, activation: .gelu, isGated: false),
        "starcoder2": Family(norm: .layer, activation: .gelu, isGated: false),
        "codeshell": Family(norm: .layer, activation: .gelu, isGated: false),
        "gptneox": Family(
            norm: .layer, activation: .gelu, isGated: false,
            adjust: { layer, builder throws(ModelFileError) in
                layer.isParallel = try builder.hyper.bool("use_parallel_residual") ?? true
            }),
        // The 40B model has separate norms before attention and MLP.
        "falcon": Family(
            norm: .layer, feedForwardNorm: nil, isParallel: true, activation: .gelu, isGated: false,
            adjust: { layer, builder throws(ModelFileError) in
                guard builder.has("attn_norm_2.weight") else { return }
                layer.feedForwardNorm = layer.mixerNorm
                layer.mixerNorm = try builder.norm("attn_norm_2")
            }),
        "bloom": Family(
            norm: .layer, embeddingNorm: "token_embd_norm", rotary: nil,
            linearBias: .key("attention.max_alibi_bias", default: 8), activation: .gelu,
            isGated: false),
        "mpt": Family(
            norm: .layer, rotary: nil, normsAllHeads: true, linearBias: .key("attention.max_alibi_bias", default: 0),
            clamp: .key("attention.clamp_kqv", default: 0), activation: .gelu, isGated: false,
            // A norm of keys without one of queries is not used.
            adjust: { layer, _ throws(ModelFileError) in
                layer.changeAttention { parts, _ in if parts.queryNorm == nil { parts.keyNorm = nil } }
            }),
        "jais": Family(
            norm: .layer, rotary: nil,
            scoreScale: Factor { model throws(ModelFileError) in
                1 / Float(model.width / max(1, model.headCounts.first ?? 1))
            }, linearBias: .key("attention.max_alibi_bias", default: 0)),
        "jais2": Family(norm: .layer, activation: .squaredReLU, isGated: false),
        "nemotron": Family(norm: .layer, activation: .squaredReLU, isGated: false),
        // llama.cpp names the architecture, but converts no files.
        "gptj": Family(
            norm: .layer, feedForwardNorm: nil, isParallel: true, rotary: .adjacent, activation: .gelu, isGated: false),
        // The 12B model of version 2 has no norm before the MLP: attention and MLP are parallel. Converters write
        // `use_parallel_residual` for all.
        "stablelm": Family(
            norm: .layer, feedForwardNorm: nil,
            adjust: { layer, builder throws(ModelFileError) in
                // Converters write this key for all files; the norm decides.
                _ = try builder.hyper.bool("use_parallel_residual")
                layer.isParallel = !builder.has("ffn_norm.weight")
                if !layer.isParallel { layer.feedForwardNorm = try builder.norm("ffn_norm") }
            }),
    ]
}
