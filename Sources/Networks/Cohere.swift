import Compute
import GGUF

/// Cohere's Command models: attention and MLP in parallel after one norm, scaled logits.
extension Family {
    static let coheres: [String: Family] = [
        "command-r": Family(
            norm: .layer, feedForwardNorm: nil, isParallel: true, logitScale: .key("logit_scale", default: 1),
            rotary: .adjacent),
        "cohere2": Family(
            norm: .layer, feedForwardNorm: nil, isParallel: true, logitScale: .key("logit_scale", default: 1),
            rotary: .adjacent, rotates: { layer throws(ModelFileError) in layer.window != nil },
            windows: .init(period: 4, size: .declared(default: 4096)), mlpScales: true),
    ]
}
