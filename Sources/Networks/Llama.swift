import GGUF
import Compute
import KernelFormats
import Foundation

/// Llama and families with its design: pre-norm attention with grouped heads and rotary positions, then a SwiGLU MLP
/// (Touvron et al. 2023) or a mixture of experts. Tensor names are GGUF's.
extension Family {
    static let llamas: [String: Family] = [
        "llama": Family(rotary: .adjacent, mlpScales: true, expertScales: true, experts: .init(isOptional: true)),
        "mistral3": Family(
            rotary: .adjacent,
            temperature: .init(
                scale: .key("attention.temperature_scale", default: 0),
                length: Factor { model throws(ModelFileError) in
                    Float(
                        try model.hyper.count(
                            "rope.scaling.original_context_length", default: model.trainedContext))
                }), mlpScales: true, expertScales: true, experts: .init(isOptional: true)),
        "internlm2": Family(rotary: .adjacent),
        "xverse": Family(rotary: .adjacent),
        "exaone": Family(),
        "pangu-embedded": Family(unused: ["rope_freqs.weight"]),
        "smollm3": Family(
            rotary: .adjacent, rotates: { layer throws(ModelFileError) in (layer.index + 1) % 4 != 0 }),
        "arcee": Family(rotary: .adjacent, activation: .squaredReLU, isGated: false),
        "orion": Family(norm: .layer),
        "seed_oss": Family(feedForwardNorm: "post_attention_norm"),
        "maincoder": Family(rotary: .adjacent, normsFollowRotation: true),
        "hunyuan-dense": Family(normsFollowRotation: true),
        "hunyuan_vl": Family(sections: .consecutive, normsFollowRotation: true),
        "ernie4_5": Family(unused: ["attn_output.bias"], rotary: .adjacent, experts: .init(isOptional: true)),
        "paddleocr": Family(sections: .consecutive, experts: .init(isOptional: true)),
        "plamo": Family(feedForwardNorm: nil, isParallel: true),
        "plamo3": Family(
            mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm",
            windows: .init(period: 8, rotaryBase: 10_000, areUnscaled: true), fusedScales: false),
        // Only the text part; the visual experts are not used.
        "cogvlm": Family(unused: ["rope_freqs.weight", "vis_*"], fusedScales: false),
        "openelm": Family(fusedScales: false),
        // The 7B model uses rotary positions, the 13B model linear biases.
        "baichuan": Family(
            rotary: .adjacent, rotates: { layer throws(ModelFileError) in layer.model.layerCount == 32 },
            linearBias: Factor { model throws(ModelFileError) in model.layerCount == 40 ? 8 : 0 }),
        "refact": Family(
            unused: ["attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias", "rope_freqs.weight"],
            rotary: nil, linearBias: .key("attention.max_alibi_bias", default: 8)),
        "bitnet": Family(mlpScales: true),
        "minicpm": Family(
            branchScale: Factor { model throws(ModelFileError) in
                try model.hyper.factor("residual_scale") ?? 1.4 / Float(model.layerCount).squareRoot()
            }, embeddingScale: .key("embedding_scale", default: 12),
            logitScale: Factor { model throws(ModelFileError) in
                try 1 / (model.hyper.factor("logit_scale") ?? Float(model.width) / 256)
            }, rotary: .adjacent, experts: .init(isOptional: true)),
        "deci": Family(
            rotary: .adjacent, mixer: { layer throws(ModelFileError) in try layer.attentionOrProjection() }),
        "apertus": Family(
            unused: ["attn_q_norm.bias", "attn_k_norm.bias"], isGated: false,
            feedForward: { layer throws(ModelFileError) in try layer.xIELU() }),
        "nanbeige": Family(
            rotary: .adjacent, mlpScales: true,
            network: { builder throws(ModelFileError) in DecoderNetwork(try builder.loopedParts()) }),
        "llama4": Family(
            rotary: .adjacent,
            rotates: { layer throws(ModelFileError) in !layer.isOfAlternatingWindows || (layer.index + 1) % 4 != 0 },
            // Chunks of 8,192 tokens, whatever the file's key says, unless it is 0.
            windows: .init(period: 4, size: .computed { declared, _ in declared == 0 ? 0 : 8192 }),
            temperature: .init(
                scale: .key("attention.temperature_scale", default: 0.1), length: .constant(8192), offset: 1),
            experts: .init(gating: .sigmoid, normalizesWeights: .declared, weighsInputs: true),
            adjust: { layer, builder throws(ModelFileError) in builder.adjustLlama4(&layer) }),
    ]
}

extension LayerBuilder {
    /// Attention, or a plain projection in layers without keys (Nemotron 51B).
    fileprivate func attentionOrProjection() throws(ModelFileError) -> (any Mixer)? {
        guard model.kvHeadCounts[index] == 0, model.headCounts[index] > 0 else { return try attention() }
        return ProjectionMixer(try linear("attn_output", from: width, to: width))
    }

    fileprivate func xIELU() throws(ModelFileError) -> (any FeedForward)? {
        func parameter(_ key: String) throws(ModelFileError) -> Float {
            guard
                let values = try Hyperparameters(file: file, architecture: "xielu").doubles(
                    key, layers: model.layerCount)
            else {
                throw ModelFileError(.missingMetadata, "The metadata key 'xielu.\(key)' is missing.", path: file.path)
            }
            return Float(values[index])
        }
        let hiddenWidth = try hyper.positive("feed_forward_length", model.feedForwardWidths[index])
        let plain = try mlp(hiddenWidth: hiddenWidth)
        func softplus(_ x: Float) -> Float { x > 20 ? x : log1p(exp(x)) }
        let beta = try parameter("beta")
        return MLP(
            gate: nil, up: plain.up, down: plain.down,
            activation: .xIELU(
                n: beta + softplus(try parameter("alpha_n")), p: softplus(try parameter("alpha_p")), beta: beta,
                epsilon: try parameter("eps")))
    }

    /// A token attends within its own chunk, where layers have windows. Layers without rotation scale queries by position.
    /// Scout normalizes rotated queries and keys without weights; Maverick, with 128 experts, does not.
    fileprivate func adjustLlama4(_ layer: inout DecoderNetwork.Layer) {
        layer.changeAttention { parts, shape in
            shape.isChunked = window != nil
            guard parts.rotary != nil else { return }
            parts.temperature = nil
            guard isOfAlternatingWindows, model.experts?.routings[index].count != 128 else { return }
            let width = parts.query.weights.rows / model.headCounts[index]
            parts.normsFollowRotation = true
            (parts.queryNorm, parts.keyNorm) = (model.weightlessNorm(width), model.weightlessNorm(width))
        }
    }
}

extension DecoderBuilder {
    /// The layers are repeated `num_loops` times; each repetition has a state of its own.
    fileprivate func loopedParts() throws(ModelFileError) -> DecoderNetwork.Parts {
        var parts = try parts()
        let layers = parts.layers
        guard let loops = try hyper.countIfPresent("num_loops"), loops > 1 else { return parts }
        guard loops * layers.count <= Hyperparameters.maximumBlocks else {
            throw hyper.invalid(
                "num_loops", "a number of loops that gives at most \(Hyperparameters.maximumBlocks) layers",
                found: loops)
        }
        var others = layers
        if try hyper.bool("skip_loop_final_norm") != true {
            others[layers.count - 1].outputNorm = try norm("output_norm")
        }
        parts.layers = (1..<loops).flatMap { _ in others } + layers
        return parts
    }
}

/// A linear layer as mixer.
final class ProjectionMixer: Mixer {
    let state = LayerState.none
    private let projection: Linear

    init(_ projection: Linear) { self.projection = projection }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        context.compute.multiply(input, by: projection, into: output)
    }
}
