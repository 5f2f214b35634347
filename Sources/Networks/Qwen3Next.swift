import GGUF

/// Qwen3-Next and Qwen 3.5: gated delta nets, with gated attention in every fourth layer.
///
/// Reference implementations: `modeling_qwen3_next.py` and `modeling_qwen3_5.py` in transformers. Qwen 3.5's files
/// order the heads of delta nets differently. Its rotary embedding has sections whose positions are equal in text,
/// which is the same as a single position.
extension Family {
    static let qwen35 = qwenHybrid(interleavesGroups: true)
    static let qwen35moe = qwenHybrid(interleavesGroups: true, experts: .init(sharesFeedForwardWidth: true))
    static let qwen3next = qwenHybrid(
        interleavesGroups: false, unused: ["attn_qkv.scale", "attn_gate.scale", "ssm_in.scale", "ssm_out.scale"],
        experts: .init(sharesFeedForwardWidth: true))

    private static func qwenHybrid(interleavesGroups: Bool, unused: Set<String> = [], experts: Experts.Style? = nil)
        -> Family
    {
        Family(
            feedForwardNorm: "post_attention_norm", predicts: true, unused: unused, sections: .interleaved,
            queryHoldsGate: true,
            mlpScales: true,
            expertScales: true, experts: experts,
            mixer: { layer throws(ModelFileError) in
                if try layer.isLinear() { return try GatedDeltaNet(layer, interleavesGroups: interleavesGroups) }
                return try layer.attention()
            })
    }
}

extension LayerBuilder {
    /// Whether the layer is linear attention: declared per layer, else all layers but every `interval`-th.
    func isLinear(interval: Int = 4) throws(ModelFileError) -> Bool {
        // A head for multi-token prediction has attention.
        if index >= model.layerCount { return false }
        let interval = try hyper.countIfPresent("full_attention_interval") ?? interval
        guard hyper.has("attention.recurrent_layers") else { return (index + 1) % interval != 0 }
        return try hyper.flags("attention.recurrent_layers", layers: model.layerCount)[index]
    }
}
