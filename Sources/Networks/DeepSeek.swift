import GGUF
import Compute
import KernelFormats
import Foundation

/// DeepSeek from version 2 on, and others with latent attention: Kimi K2, GLM 4.7 Flash, Mistral 4, MiniCPM 3, PLM.
extension Family {
    static let deepseeks: [String: Family] = [
        "deepseek2": latent(predicts: true, experts: .init(normalizesWeights: .declared)),
        "mistral4": latent(experts: .init(normalizesWeights: .declared)),
        // The indexer is not needed: contexts in which it would leave out tokens are refused.
        "deepseek32": latent(
            unused: ["indexer.*"], scales: true,
            experts: .init(gating: .sigmoid, normalizesWeights: .declared)),
        "glm-dsa": latent(
            unused: ["indexer.*"], scales: true,
            experts: .init(gating: .sigmoid, normalizesWeights: .declared)),
        // Windowed layers have widths of their own, a norm of the key's rotated part, and a gate per head.
        "dots3note": Family(
            unused: ["indexer.*"], windows: .init(period: 4), mlpScales: true, expertScales: true,
            experts: .init(gating: .sigmoid, normalizesWeights: .declared),
            mixer: { layer throws(ModelFileError) in try layer.latentAttention(.adjacent, scalesScores: false) }),
        "deepseek4": deepseek4,
        "hy_v4": hunyuan4,
        "minicpm3": Family(
            branchScale: Factor { model throws(ModelFileError) in 1.4 / Float(model.layerCount).squareRoot() },
            embeddingScale: .constant(12),
            stateScale: Factor { model throws(ModelFileError) in 256 / Float(model.width) },
            mixer: { layer throws(ModelFileError) in try layer.latentAttention(.halves) }),
        "plm": Family(
            unused: ["attn_q.scale"], rotary: .adjacent, activation: .squaredReLU, isGated: false,
            mixer: { layer throws(ModelFileError) in try layer.latentAttention(.adjacent) }),
    ]

    /// Hyper-connections, attention to a window and to compressed vectors, experts selected by token ID in the first
    /// layers. The indexer is not needed: contexts in which it would leave out vectors are refused.
    private static let deepseek4 = Family(
        streams: { model throws(ModelFileError) in
            (try HyperConnection.streams(model), try HyperConnection(model, "output_hc", .init(), writes: false))
        },
        unused: ["indexer.*", "indexer_compressor_*", "exp_probs_b_vl.bias"],
        windows: .init(period: 0, areUnscaled: true),
        limitsBeforeSiLU: true, limitsAreOne: true,
        experts: .init(
            gating: .rootOfSoftplus, normalizesWeights: .declared, hasHashLayers: true),
        mixer: { layer throws(ModelFileError) in try CompressedAttention(layer) },
        adjust: { layer, builder throws(ModelFileError) in
            try builder.connect(
                &layer, .init(iterations: try builder.hyper.count("hyper_connection.sinkhorn_iterations")))
        })

    /// Hunyuan 4: independent hyper-connections, latent attention with sinks and gates.
    private static let hunyuan4 = Family(
        streams: { model throws(ModelFileError) in
            (try HyperConnection.streams(model), try HyperConnection(model, "output_hc", .init(), writes: false))
        },
        unused: ["indexer.*", "attn_output.scale"], limitsBeforeSiLU: true,
        experts: .init(gating: .sigmoid, normalizesWeights: .declared),
        mixer: { layer throws(ModelFileError) in try layer.latentAttention(.adjacent, scalesScores: false) },
        adjust: { layer, builder throws(ModelFileError) in
            let style = HyperConnection.Style(
                postFactor: try builder.hyper.factor("hyper_connection.magnitude") ?? 1,
                postOffset: try builder.hyper.factor("hyper_connection.epsilon") ?? 0)
            try builder.connect(&layer, style)
        })

    private static func latent(
        predicts: Bool = false, unused: Set<String> = [], scales: Bool = false, experts: Experts.Style
    ) -> Family {
        var experts = experts
        experts.isOptional = true
        return Family(
            predicts: predicts, unused: unused, mlpScales: scales, expertScales: scales, experts: experts,
            mixer: { layer throws(ModelFileError) in try layer.latentAttention(.adjacent) })
    }
}

extension LayerBuilder {
    /// Puts hyper-connections around both blocks.
    func connect(_ layer: inout DecoderNetwork.Layer, _ style: HyperConnection.Style) throws(ModelFileError) {
        layer.mixerConnection = try HyperConnection(model, name + "hc_attn", style)
        layer.feedForwardConnection = try HyperConnection(model, name + "hc_ffn", style)
    }

    /// - Parameters:
    ///   - layout: Layout of the rotated part of a head; `nil`: nothing is rotated.
    ///   - scalesScores: Whether YaRN's factor applies to the scores instead of the sines and cosines (DeepSeek).
    func latentAttention(
        _ layout: RotaryLayout?, scalesScores: Bool = true
    ) throws(ModelFileError) -> LatentAttention {
        try refuseSparseAttention()
        let heads = model.headCounts[index]
        let isAbsorbed = has("attn_k_b.weight")
        let widths = try latentWidths(heads: heads, isRotated: layout != nil)
        let (key, value, rank, rope) = (widths.nope + widths.rope, widths.value, widths.rank, widths.rope)
        let isLowRank = has("attn_q_a.weight")
        let queryRank = isLowRank ? try hyper.count("attention.q_lora_rank") : width
        var rotary: Int?
        if let layout {
            rotary = model.index(
                of: try hyper.rotary(
                    layout, headWidth: rope, trainedContext: model.trainedContext, context: model.context,
                    sections: family.sections, windows: window == nil ? nil : family.windows))
        }
        var temperature: SelfAttention.Temperature?
        if let scale = try hyper.factor("attention.temperature_scale") {
            let length = try hyper.countIfPresent("attention.temperature_length") ?? model.trainedContext
            temperature = SelfAttention.Temperature(scale: scale, length: Float(length), offset: 0)
        }
        let parts = LatentAttention.Parts(
            queryDown: isLowRank ? try linear("attn_q_a", from: width, to: queryRank) : nil,
            queryNorm: isLowRank ? try model.norm(name + "attn_q_a_norm", width: queryRank) : nil,
            query: try linear(isLowRank ? "attn_q_b" : "attn_q", from: queryRank, to: heads * key),
            latent: try linear("attn_kv_a_mqa", from: width, to: rank + rope),
            latentNorm: try model.norm(name + "attn_kv_a_norm", width: rank),
            keyNorm: has("attn_k_norm.weight") ? try model.norm(name + "attn_k_norm", width: rope) : nil,
            expansion: isAbsorbed ? try absorbed(widths) : try expanded(widths), rotary: rotary,
            temperature: temperature, gate: try outputGate(heads: heads, valueWidth: value),
            output: try linear("attn_output", from: heads * value, to: width))
        let scale = scalesScores ? try latentScale(keyWidth: key) : 1 / Float(key).squareRoot()
        return LatentAttention(
            parts, widths, scale: scale, sinks: try file.vectorIfPresent(name + "attn_sinks.weight", heads))
    }

    /// Widths of a layer; windowed layers may have their own.
    private func latentWidths(heads: Int, isRotated: Bool) throws(ModelFileError) -> LatentAttention.Widths {
        let (full, suffix) = (try headWidths(), window == nil ? "" : "_swa")
        func width(_ name: String) throws(ModelFileError) -> Int? {
            if let own = try hyper.countIfPresent(name + suffix) { return own }
            return try hyper.countIfPresent(name)
        }
        let key = try width("attention.key_length_mla") ?? full.key
        // Models without positions may have no rotated part.
        let rope =
            isRotated ? try hyper.count("rope.dimension_count") : try hyper.countIfPresent("rope.dimension_count") ?? 0
        guard rope <= key else {
            throw hyper.invalid("rope.dimension_count", "at most the key width \(key)", found: rope)
        }
        guard let rank = try width("attention.kv_lora_rank") else {
            throw hyper.invalid("attention.kv_lora_rank", "1...268435456", found: 0)
        }
        return LatentAttention.Widths(
            heads: heads, nope: key - rope, rope: rope, rank: rank,
            value: try width("attention.value_length_mla") ?? full.value, window: window)
    }

    private func absorbed(_ widths: LatentAttention.Widths) throws(ModelFileError) -> LatentAttention.Expansion {
        .absorbed(
            keyDown: try file.experts(
                name + "attn_k_b", widths.heads, from: widths.nope, to: [widths.rank], scaled: false
            ).map { $0[0] },
            valueUp: try file.experts(
                name + "attn_v_b", widths.heads, from: widths.rank, to: [widths.value], scaled: false
            ).map { $0[0] })
    }

    private func expanded(_ widths: LatentAttention.Widths) throws(ModelFileError) -> LatentAttention.Expansion {
        let outputs = (0..<widths.heads).flatMap { _ in [widths.nope, widths.value] }
        let parts = try file.linears(name + "attn_kv_b", from: widths.rank, to: outputs)
        return .expanded((0..<widths.heads).map { (key: parts[2 * $0], value: parts[2 * $0 + 1]) })
    }

    /// Factor on the scores: 1/√keyWidth, times YaRN's factor if DeepSeek applies it here.
    private func latentScale(keyWidth: Int) throws(ModelFileError) -> Float {
        let scale = 1 / Float(keyWidth).squareRoot()
        guard try hyper.string("rope.scaling.type") == "yarn", let factor = try hyper.factor("rope.scaling.factor"),
            factor > 1
        else { return scale }
        let logarithm = 0.1 * log(factor)
        let multiplier = try hyper.yarnLogMultiplier()
        let magnitude = Float(try hyper.yarnMagnitude(factor: Double(factor))) * (1 + logarithm)
        let attention = try hyper.factor("rope.scaling.attn_factor") ?? 1
        let growth = attention * magnitude * (1 + multiplier * logarithm)
        return scale * growth * growth
    }

    /// Refuses files with an indexer that selects fewer tokens than the context has.
    ///
    /// - Parameter unit: Tokens that the indexer selects at a time.
    func refuseSparseAttention(unit: Int = 1) throws(ModelFileError) {
        guard file.tensors.contains(where: { $0.name.hasPrefix(name + "indexer.") }) else { return }
        let chosen = try hyper.count("attention.indexer.top_k") * unit
        guard model.context <= chosen else {
            throw ModelFileError(
                .unsupported,
                "Sparse attention over \(chosen) tokens ('\(hyper.architecture).attention.indexer.top_k') of a context of \(model.context) is not supported. Set the context size to at most \(chosen).",
                path: file.path)
        }
    }
}
