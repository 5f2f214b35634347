/// The Llama family: Llama, Mistral, Qwen2, Qwen3, their mixtures of experts, and what shares their shape.
///
/// Pre-norm attention with grouped heads and rotary positions, then a SwiGLU MLP (Touvron et al. 2023) or a mixture of them.
/// Qwen2 adds biases to queries, keys and values; Qwen3 normalizes each head's query and key before it turns them, OLMoE
/// all heads' together. What a layer has is what its file holds tensors for. Reference implementations: `modeling_llama.py`,
/// `modeling_mixtral.py`, `modeling_qwen2.py`, `modeling_qwen2_moe.py`, `modeling_qwen3.py`, `modeling_qwen3_moe.py` and
/// `modeling_olmoe.py` in transformers; tensor names are GGUF's.
extension Family {
    static let llama = Family(rotary: .adjacent, experts: .init(isOptional: true))
    static let qwen2 = Family(mlpScales: false)
    static let qwen2moe = Family(
        mlpScales: false,
        experts: .init(normalizesWeights: false, sharesFeedForwardWidth: true, hasSharedExpert: true))
    static let qwen3 = Family()
    static let qwen3moe = Family(experts: .init(sharesFeedForwardWidth: true))
    static let olmoe = Family(normsAllHeads: true, mlpScales: false, experts: .init(normalizesWeights: false))
}
