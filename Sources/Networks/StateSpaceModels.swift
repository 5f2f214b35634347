import GGUF

/// Mamba (Gu and Dao 2023), FalconMamba, and Mamba 2 (Dao and Gu 2024): one mixer per layer and no other block.
///
/// Reference implementations: `modeling_mamba.py`, `modeling_falcon_mamba.py` and `modeling_mamba2.py` in transformers.
extension Family {
    static let mamba = Family(
        feedForwardNorm: nil, rotary: nil, mixer: { layer throws(ModelFileError) in try Mamba(layer) },
        feedForward: { _ in nil })
    static let mamba2 = Family(
        feedForwardNorm: nil, rotary: nil, mixer: { layer throws(ModelFileError) in try Mamba2(layer) },
        feedForward: { _ in nil })
}

extension Family {
    /// Families with recurrent layers, by architecture.
    static let recurrents: [String: Family] = [
        "arwkv7": arwkv7, "bailingmoe3": bailingMoE3, "falcon-h1": falconH1, "glm5-next": glm5Next,
        "granitehybrid": graniteHybrid, "jamba": jamba, "kimi-k3": kimiK3, "kimi-linear": kimiLinear, "lfm2": lfm2,
        "lfm2moe": lfm2moe, "mamba": mamba, "mamba2": mamba2, "minimax-01": minimax01, "nemotron_h": nemotronH,
        "nemotron_h_moe": nemotronHMoE, "plamo2": plamo2, "qwen35": qwen35,
        "qwen35moe": qwen35moe, "qwen3next": qwen3next, "qwen4exp": qwen4, "rwkv6": rwkv6, "rwkv6qwen2": rwkv6qwen2,
        "rwkv7": rwkv7,
    ]
}
