import GGUF
import Compute
import KernelFormats

/// Nemotron-H (NVIDIA 2025): each layer is a single block: Mamba 2, attention without positions, or an MLP with squared
/// ReLU; in Nemotron 3 a mixture of experts, which may have a smaller width.
///
/// Reference implementation: `modeling_nemotron_h.py` in transformers.
extension Family {
    static let nemotronH = nemotron()
    static let nemotronHMoE = nemotron(
        experts: .init(
            gating: .sigmoid, normalizesWeights: .declared, isOptional: true, sharesFeedForwardWidth: true))

    private static func nemotron(experts: Experts.Style? = nil) -> Family {
        Family(
            feedForwardNorm: "attn_norm", rotary: nil, activation: .squaredReLU, isGated: false,
            mlpScales: true, expertScales: true, experts: experts,
            mixer: { layer throws(ModelFileError) in
                if layer.isTransforming { return nil }
                if layer.isRecurrent { return try Mamba2(layer) }
                return try layer.attention()
            },
            feedForward: { layer throws(ModelFileError) in layer.isTransforming ? try layer.feedForward() : nil })
    }
}

extension LayerBuilder {
    fileprivate var isTransforming: Bool { model.feedForwardWidths[index] > 0 }
}
