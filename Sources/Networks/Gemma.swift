import GGUF
package import Compute
import KernelFormats
import Foundation

/// Gemma: embeddings scaled by the square root of the width, GELU; from version 2 on, norms before and after each
/// block, windows in most layers, and softcapped scores or logits. Version 4 adds per-layer embeddings, layers that
/// share the keys and values of others, and experts in parallel with an MLP.
extension Family {
    static let gemmas: [String: Family] = [
        "gemma": Family(embeddingScale: .rootOfWidth, activation: .gelu),
        "gemma2": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm", embeddingScale: .rootOfWidth,
            logitSoftcap: .key("final_logit_softcapping", default: 30),
            windows: .init(period: 2, size: .declared(default: 4096)), scoreScale: .ofGemma(layersOf27B: 46),
            scoreSoftcap: .key("attn_logit_softcapping", default: 50), activation: .gelu),
        "gemma3": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm", embeddingScale: .rootOfWidth,
            logitSoftcap: .key("final_logit_softcapping", default: 0),
            windows: .init(period: 6, rotaryBase: 10_000, areUnscaled: true),
            scoreScale: .ofGemma(layersOf27B: 62), activation: .gelu),
        "gemma3n": Gemma3n.family,
        "gemma4": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm", embeddingScale: .rootOfWidth,
            logitSoftcap: .present("final_logit_softcapping", default: 30),
            windows: .init(period: 6, rotaryBase: 10_000, areUnscaled: true), weightlessNorms: [.value],
            scoreScale: .key("attention.scale", default: 1), activation: .gelu, mlpScales: true, expertScales: true,
            experts: .init(isOptional: true, routesLayerInput: true),
            mixer: { layer throws(ModelFileError) in try layer.gemmaAttention() },
            feedForward: { layer throws(ModelFileError) in try layer.gemmaFeedForward() },
            network: { builder throws(ModelFileError) in
                var parts = try builder.parts()
                parts.perLayer = try PerLayerEmbeddings(builder)
                return DecoderNetwork(parts)
            },
            adjust: { layer, builder throws(ModelFileError) in
                if layer.feedForward is GemmaMixture { layer.feedForwardNorm = nil }
                if let width = builder.file.tensorIfPresent("per_layer_proj_norm.weight")?.shape[0] {
                    layer.last = try PerLayerBlock(builder, width: width)
                    layer.lastPostNorm = try builder.norm("post_norm")
                }
                layer.outputScale =
                    try builder.file.vectorIfPresent(builder.name + "layer_output_scale.weight", 1)?[0] ?? 1
            }),
    ]
}

extension Registry {
    /// How an image's rows see one another where that depends on the decoder; `nil`: on the image encoder.
    ///
    /// The two small Gemma 4 models were trained with causal attention everywhere. Files do not say so: the width tells.
    package static func imageSight(architecture: String, width: Int) -> ImageSight? {
        architecture == "gemma4" && [1536, 2560].contains(width) ? .causal : nil
    }
}

extension Family.Factor {
    /// The file's scale, else 1/√keyWidth, except in the 27B model: 1/√(width / heads).
    fileprivate static func ofGemma(layersOf27B layers: Int) -> Self {
        Self { model throws(ModelFileError) in
            if let scale = try model.hyper.factor("attention.scale") { return scale }
            let share = max(1, model.width / max(1, model.headCounts[0]))
            let keyWidth = try model.hyper.countIfPresent("attention.key_length") ?? share
            return 1 / Float(model.layerCount == layers ? share : keyWidth).squareRoot()
        }
    }
}

extension LayerBuilder {
    /// Attention; the last layers use the keys and values of earlier ones. Some layers have no projection of values: that of
    /// keys gives them.
    fileprivate func gemmaAttention() throws(ModelFileError) -> (any Mixer)? {
        let shared = try hyper.int("attention.shared_kv_layers") ?? 0
        guard (0..<max(1, model.layerCount - 1)).contains(shared) else {
            throw hyper.invalid("attention.shared_kv_layers", "less than the number of layers minus one", found: shared)
        }
        let first = model.layerCount - shared
        guard index >= first else { return try attention(values: has("attn_v.weight") ? "attn_v" : "attn_k") }
        return try attention(sharing: sharedLayer(before: first))
    }

    /// The layer whose keys and values this one uses: the last with the same window before `first`, the first layer that
    /// has none of its own.
    func sharedLayer(before first: Int) throws(ModelFileError) -> Int {
        guard let shared = (0..<first).last(where: { model.windows[$0] == window }),
            model.kvHeadCounts[shared] == model.kvHeadCounts[index]
        else {
            throw hyper.invalid(
                "attention.shared_kv_layers",
                "a number of last layers whose windows and numbers of key-value heads earlier layers have, too",
                found: model.layerCount - first)
        }
        return shared
    }

    fileprivate func gemmaFeedForward() throws(ModelFileError) -> (any FeedForward)? {
        let hiddenWidth = try hyper.positive("feed_forward_length", model.feedForwardWidths[index])
        let mlp = try mlp(hiddenWidth: hiddenWidth)
        guard let shape = model.experts, has("ffn_gate_inp.weight") else { return mlp }
        let scale = Float(width).squareRoot()
        let weights = try file.vector(name + "ffn_gate_inp.scale", width).map { $0 / scale }
        return GemmaMixture(
            mlp: mlp, mlpNorm: try model.norm(name + "ffn_norm"), mlpPostNorm: try model.norm(name + "post_ffw_norm_1"),
            experts: try experts(shape), expertsNorm: try model.norm(name + "pre_ffw_norm_2"),
            expertsPostNorm: try model.norm(name + "post_ffw_norm_2"),
            routerNorm: Norm(.rms, weight: weights, epsilon: model.epsilon))
    }
}

/// An MLP and a mixture of experts in parallel, each with its own norms.
private final class GemmaMixture: FeedForward {
    let readsOnlyInput = true

    private let mlp: MLP
    private let mlpNorm: Norm
    private let mlpPostNorm: Norm
    private let experts: Experts
    private let expertsNorm: Norm
    private let expertsPostNorm: Norm
    private let routerNorm: Norm

    init(
        mlp: MLP, mlpNorm: Norm, mlpPostNorm: Norm, experts: Experts, expertsNorm: Norm, expertsPostNorm: Norm,
        routerNorm: Norm
    ) {
        self.mlp = mlp
        self.mlpNorm = mlpNorm
        self.mlpPostNorm = mlpPostNorm
        self.experts = experts
        self.expertsNorm = expertsNorm
        self.expertsPostNorm = expertsPostNorm
        self.routerNorm = routerNorm
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let dense = context.work[.branch, input.rows, input.columns]
        compute.normalize(input, mlpNorm, into: dense)
        mlp.forward(dense, into: dense, context)
        compute.normalize(dense, mlpPostNorm, into: dense)
        compute.normalize(input, routerNorm, into: output)
        experts.route(output, context)
        compute.normalize(input, expertsNorm, into: output)
        experts.forward(output, into: output, context)
        compute.normalize(output, expertsPostNorm, into: output)
        compute.add(dense, to: output)
    }
}
