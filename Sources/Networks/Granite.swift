import Compute
import GGUF

/// IBM's Granite: Llama with factors on embeddings, residuals, scores and logits.
extension Family {
    static let granites: [String: Family] = [
        "granite": granite(rotates: isTrainedWithRotation),
        "graniteswitch": {
            var family = granite(rotates: isTrainedWithRotation)
            family.experts = nil
            family.network = { model throws(ModelFileError) in try SwitchedNetwork(model) }
            return family
        }(),
        "granitemoe": granite { _ throws(ModelFileError) in true },
    ]

    private static let isTrainedWithRotation: Make<Bool> = { layer throws(ModelFileError) in
        try layer.hyper.bool("rope.scaling.finetuned") ?? true
    }

    static func granite(
        rotates: @escaping Make<Bool>,
        mixer: @escaping MakeMixer = { layer throws(ModelFileError) in try layer.attention() }
    ) -> Family {
        Family(
            branchScale: .key("residual_scale", default: 1), embeddingScale: .key("embedding_scale", default: 1),
            logitScale: .key("logit_scale", default: 1).inverse, rotary: .adjacent,
            rotates: rotates, experts: .init(isOptional: true), mixer: mixer)
    }
}
