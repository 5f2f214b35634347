import Compute

/// Zhipu's GLM.
extension Family {
    static let glms: [String: Family] = [
        "chatglm": Family(rotary: .adjacent),
        "glm4": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm", rotary: .adjacent,
            sections: .consecutive),
        "glm4moe": Family(
            feedForwardNorm: "post_attention_norm", predicts: true, sections: .consecutive,
            experts: .init(
                gating: .sigmoid, normalizesWeights: .declared, sharesFeedForwardWidth: true)),
    ]
}
