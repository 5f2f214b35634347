/// Kimi Linear (Kimi team 2025): Kimi delta attention, in every fourth layer latent attention without positions; mixtures of experts
/// behind the first layers.
///
/// Reference implementation: the authors' `modeling_kimi.py`.
extension Family {
    static let kimiLinear = Family(
        unused: ["attn_q.scale"],
        experts: .init(gating: .declared(default: .sigmoid)),
        mixer: { layer throws(ModelFileError) in
            guard layer.isRecurrent else { return try layer.latentAttention(nil) }
            // Some files give recurrent layers no heads at all: all layers have the same number.
            return try KimiDeltaAttention(layer, heads: layer.model.headCounts.first { $0 > 0 } ?? 1)
        })
}
