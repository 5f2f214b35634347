import GGUF
import Compute

/// LFM2 (Liquid AI 2025): short convolutions, and attention in the layers with key and value heads; each with an MLP
/// or, after the first layers, a mixture of experts.
///
/// Reference implementations: `modeling_lfm2.py` and `modeling_lfm2_moe.py` in transformers.
extension Family {
    static let lfm2 = lfm()
    static let lfm2moe = lfm(experts: .init(gating: .sigmoid))

    private static func lfm(experts: Experts.Style? = nil) -> Family {
        Family(
            outputNorm: "token_embd_norm", experts: experts,
            mixer: { layer throws(ModelFileError) in
                if layer.isRecurrent { return try ShortConvolution(layer) }
                return try layer.attention()
            })
    }
}
