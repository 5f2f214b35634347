import Compute
import GGUF
import KernelFormats

/// Mixtures of experts with Llama's design otherwise.
extension Family {
    static let mixtures: [String: Family] = [
        "deepseek": Family(rotary: .adjacent, experts: .init(normalizesWeights: .declared)),
        // The text part; files may name a window, which it does not use.
        "deepseek2-ocr": Family(windows: .init(period: 1), experts: .init(normalizesWeights: .declared)),
        "dots1": Family(experts: .init(normalizesWeights: .declared)),
        "bailingmoe": Family(rotary: .adjacent, experts: .init(normalizesWeights: .declared)),
        "bailingmoe2": Family(experts: .init(normalizesWeights: .declared)),
        "ernie4_5-moe": Family(
            unused: ["attn_output.bias"], rotary: .adjacent, experts: .init()),
        "hunyuan-moe": Family(normsFollowRotation: true, experts: .init()),
        "minimax-m2": Family(normsAllHeads: true, experts: .init(gating: .sigmoid)),
        "minimax-m3": minimaxM3,
        "grovemoe": groveMoE,
        "gpt-oss": Family(
            feedForwardNorm: "post_attention_norm", windows: .init(period: 2), activation: .gptOSS,
            experts: .init(gating: .softmaxOfChosen, normalizesWeights: .declared)),
        "afmoe": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm", embeddingScale: .rootOfWidth,
            rotates: { layer throws(ModelFileError) in (layer.index + 1) % 4 != 0 }, windows: .init(period: 4),
            experts: .init(gating: .sigmoid, normalizesWeights: .declared)),
        "smallthinker": Family(
            rotates: { layer throws(ModelFileError) in !layer.isOfAlternatingWindows || layer.index % 4 != 0 },
            windows: .init(period: 4, globalIsFirst: true), activation: .relu,
            experts: .init(routesLayerInput: true)),
        "exaone-moe": Family(
            rotates: { layer throws(ModelFileError) in layer.window != nil },
            windows: .init(period: 4, size: .declared(default: 128)),
            experts: .init(gating: .sigmoid, normalizesWeights: .declared)),
        "mellum": Family(
            windows: .init(period: 4, areUnscaled: true), expertScales: true,
            experts: .init(sharesFeedForwardWidth: true)),
    ]
}
