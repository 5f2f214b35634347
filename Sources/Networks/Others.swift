import GGUF
import Compute
import KernelFormats
import Foundation

/// Families with a design of their own.
extension Family {
    static let others: [String: Family] = [
        // An MLP, in parallel with a mixture of experts that reads the layer's input (Snowflake).
        "arctic": Family(
            rotary: .adjacent, experts: .init(),
            feedForward: { layer throws(ModelFileError) in
                guard let shape = layer.model.experts else { return nil }
                return MLPAndExperts(
                    mlp: try layer.mlp(hiddenWidth: layer.width), experts: try layer.experts(shape),
                    expertsNorm: try layer.norm("ffn_norm_exps"))
            }),
        "dbrx": Family(
            norm: .layer, feedForwardNorm: "attn_output_norm", clamp: .key("attention.clamp_kqv", default: 0),
            experts: .init()),
        "grok": Family(
            mixerPostNorm: "attn_output_norm", embeddingScale: .key("embedding_scale", default: 78.383_67),
            logitScale: .key("logit_scale", default: 0.577_350_26),
            logitSoftcap: .present("final_logit_softcapping", default: 0),
            scoreScale: .key("attention.output_scale", default: 0.088_388_35),
            scoreSoftcap: .key("attn_logit_softcapping", default: 30), activation: .gelu,
            experts: .init(),
            feedForward: { layer throws(ModelFileError) in
                guard let shape = layer.model.experts else { return nil }
                let experts = try layer.experts(shape)
                guard layer.has("ffn_up.weight") else { return experts }
                return MLPAndExperts(
                    mlp: try layer.mlp(hiddenWidth: layer.model.feedForwardWidths[layer.index]), experts: experts,
                    scale: Float(0.5).squareRoot())
            },
            adjust: { layer, builder throws(ModelFileError) in
                let name = builder.has("layer_output_norm.weight") ? "layer_output_norm" : "post_ffw_norm"
                layer.feedForwardPostNorm = try builder.norm(name)
            }),
        // Norms of heads with a weight and a bias for each head.
        "chameleon": Family(
            rotary: .adjacent,
            network: { builder throws(ModelFileError) in
                var parts = try builder.parts()
                // Tokens of images, which it was not released to make.
                parts.head.suppressed = 4..<8196
                return DecoderNetwork(parts)
            },
            adjust: { layer, builder throws(ModelFileError) in
                layer.changeAttention { parts, _ in
                    for norm in [\SelfAttention.Parts.queryNorm, \.keyNorm] {
                        parts[keyPath: norm]?.kind = .layer
                        // Torch's, which no key has.
                        parts[keyPath: norm]?.epsilon = 1e-5
                    }
                }
                guard try builder.hyper.bool("swin_norm") == true else { return }
                (layer.mixerPostNorm, layer.mixerNorm) = (layer.mixerNorm, nil)
                (layer.feedForwardPostNorm, layer.feedForwardNorm) = (layer.feedForwardNorm, nil)
            }),
        "cohere2moe": Family(
            norm: .declared, feedForwardNorm: nil, isParallel: true, logitScale: .key("logit_scale", default: 1),
            rotary: .adjacent,
            rotates: { layer throws(ModelFileError) in
                layer.window != nil || layer.index < layer.model.experts?.leadingDenseLayers ?? 0
            }, windows: .init(period: 4, globalIsFirst: true), mlpScales: true, expertScales: true,
            experts: .init(
                gating: .sigmoid, normalizesWeights: .declared, averagesShared: true)),
        "granite_swa": Family(
            branchScale: .key("residual_scale", default: 1), embeddingScale: .key("embedding_scale", default: 1),
            logitScale: .key("logit_scale", default: 1).inverse, rotary: .adjacent,
            rotates: { layer throws(ModelFileError) in
                try layer.hyper.flagsIfPresent("attention.rope_pattern", layers: layer.model.layerCount)?[layer.index]
                    ?? true
            }, windows: .init(period: 4), experts: .init(isOptional: true)),
        "hrm_text": hrmText,
        "hy_v3": Family(
            mlpScales: true, expertScales: true, hasUnusedMLPs: true,
            experts: .init(
                gating: .sigmoid, normalizesWeights: .declared, sharesFeedForwardWidth: true)),
        "laguna": Family(
            windows: .init(period: 4, globalIsFirst: true, areUnscaled: true),
            experts: .init(gating: .sigmoid, normalizesWeights: .declared),
            adjust: { layer, _ throws(ModelFileError) in
                layer.changeAttention { parts, _ in parts.gateIsSoftplus = true }
            }),
        "maple": Family(
            rotates: { layer throws(ModelFileError) in layer.window != nil }, windows: .init(period: 4),
            limitsBeforeSiLU: true, experts: .init()),
        "mimo2": Family(
            unused: [
                "attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_q.scale", "attn_k.scale", "attn_v.scale",
            ],
            windows: .init(period: 1, rotaryBase: 10_000, areUnscaled: true),
            fusedScales: false, hasUnusedMLPs: true, experts: .init(gating: .sigmoid),
            adjust: { layer, builder throws(ModelFileError) in
                let scale = try builder.hyper.factor("attention.value_scale") ?? 1
                layer.changeAttention { parts, _ in parts.valueScale = scale }
            }),
        "step35": Family(
            windows: .init(period: 4, rotaryBase: 10_000, areUnscaled: true), hasUnusedMLPs: true,
            experts: .init(gating: .sigmoid, normalizesWeights: .declared),
            mixer: { layer throws(ModelFileError) in try layer.attention(isHalfRotated: layer.window == nil) }),
        "muse-glimmer": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm",
            logitScale: .key("logit_scale", default: 1), logitSoftcap: .present("final_logit_softcapping", default: 30),
            rotary: .adjacent, rotates: { layer throws(ModelFileError) in layer.window != nil },
            windows: .init(period: 4), network: normalizingEmbeddings,
            adjust: { layer, _ throws(ModelFileError) in
                layer.mixerPostNorm?.epsilon = 1e-8
                layer.feedForwardPostNorm?.epsilon = 1e-8
            }),
        "spark2_5": Family(windows: .init(period: 4), activation: .gelu),
        // Norms without weights; a gain per query head; each layer adds the embedding again.
        "talkie": Family(
            normsHaveWeights: false, logitScale: .key("logit_scale", default: 1),
            unused: ["ffn_gate.scale", "ffn_up.scale"], normsFollowRotation: true, weightlessNorms: [.key],
            mlpScales: true, network: normalizingEmbeddings,
            adjust: { layer, builder throws(ModelFileError) in
                layer.embeddingShare = try builder.file.vector(builder.name + "layer_output_scale.weight", 1)[0]
            }),
    ]
}

extension Family {
    /// Embeddings are normalized without weights.
    private static let normalizingEmbeddings: @Sendable (DecoderBuilder) throws(ModelFileError) -> any Network = {
        builder throws(ModelFileError) in
        var parts = try builder.parts()
        parts.embedding.norm = builder.weightlessNorm(builder.width)
        return DecoderNetwork(parts)
    }
}

/// An MLP and a mixture of experts in parallel, outputs added.
final class MLPAndExperts: FeedForward {
    private let mlp: MLP
    private let experts: Experts
    /// Norm of the layer's input for the experts; `nil`: they read the MLP's input.
    private let expertsNorm: Norm?
    /// Factor on the sum.
    private let scale: Float

    init(mlp: MLP, experts: Experts, expertsNorm: Norm? = nil, scale: Float = 1) {
        self.mlp = mlp
        self.experts = experts
        self.expertsNorm = expertsNorm
        self.scale = scale
    }

    var readsOnlyInput: Bool { expertsNorm == nil && experts.readsOnlyInput }

    func prepare(_ residual: Matrix, _ context: LayerContext) {
        guard let expertsNorm else { return }
        let input = context.work[.branch, residual.rows, residual.columns]
        context.compute.normalize(residual, expertsNorm, into: input)
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let branch = context.work[.branch, input.rows, input.columns]
        experts.forward(expertsNorm == nil ? input : branch, into: branch, context)
        mlp.forward(input, into: output, context)
        compute.add(branch, to: output)
        if scale != 1 { compute.scale(output, by: scale) }
    }
}
