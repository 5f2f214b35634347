import Compute
import GGUF

/// AI2's OLMo: norms without weights in version 1; from version 2 on, norms after each block instead of before it.
extension Family {
    static let olmos: [String: Family] = [
        "olmo": Family(
            norm: .layer, normsHaveWeights: false, rotary: .adjacent,
            clamp: .key("attention.clamp_kqv", default: 0)),
        "olmo2": Family(
            mixerNorm: nil, mixerPostNorm: "post_attention_norm", feedForwardNorm: nil,
            feedForwardPostNorm: "post_ffw_norm", windows: .init(period: 4, areUnscaled: true), normsAllHeads: true),
        "olmoe": Family(normsAllHeads: true, experts: .init(normalizesWeights: .declared)),
        "exaone4": Family(
            mixerNorm: nil, mixerPostNorm: "post_attention_norm", feedForwardNorm: nil,
            feedForwardPostNorm: "post_ffw_norm",
            rotates: { layer throws(ModelFileError) in layer.window != nil || !layer.isOfAlternatingWindows },
            // Of the two models, the smaller has no windows.
            windows: .init(period: 4, size: .computed { declared, layers in layers == 64 ? declared ?? 4096 : 0 })),
    ]
}
