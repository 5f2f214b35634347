import GGUF
import Compute
import KernelFormats

/// Kimi Linear (Kimi team 2025): Kimi delta attention, with latent attention without positions in every fourth layer;
/// mixtures of experts after the first layers. Kimi K3, Ling 3 and GLM 5 Next have the same mixers.
///
/// Reference implementation: the authors' `modeling_kimi.py`.
extension Family {
    static let kimiLinear = Family(
        unused: ["attn_q.scale"],
        experts: .init(gating: .sigmoid),
        mixer: { layer throws(ModelFileError) in try layer.kimiMixer(nil) })

    /// Blocks attend to snapshots of the residual stream from every few layers; experts have a smaller width.
    static let kimiK3 = Family(
        streams: { model throws(ModelFileError) in
            guard let period = try model.hyper.countIfPresent("attn_res.block_size") else { return nil }
            let kept = (model.layerCount + period - 1) / period
            return (
                1 + kept, try AttentionResidual(model, "output_res_score", kept: kept, begins: false)
            )
        },
        unused: ["attn_output.scale"], activation: .situ(beta: 1, linearBeta: 0),
        experts: .init(gating: .sigmoid, normalizesWeights: .declared),
        mixer: { layer throws(ModelFileError) in try layer.kimiMixer(nil, .init(isBounded: true)) },
        adjust: { layer, builder throws(ModelFileError) in
            guard let period = try builder.hyper.countIfPresent("attn_res.block_size") else { return }
            let (model, index) = (builder.model, builder.index)
            layer.mixerConnection = try AttentionResidual(
                model, builder.name + "attn_res_score", kept: (index + period - 1) / period,
                begins: index % period == 0)
            layer.feedForwardConnection = try AttentionResidual(
                model, builder.name + "ffn_res_score", kept: index / period + 1, begins: false)
        })

    static let bailingMoE3 = Family(
        unused: ["attn_output.scale", "attn_q.scale"], sections: .consecutive,
        experts: .init(gating: .sigmoid, normalizesWeights: .declared),
        mixer: { layer throws(ModelFileError) in
            guard try layer.hyper.bool("kda.safe_gate") != false else {
                throw layer.hyper.invalid("kda.safe_gate", "true", found: false)
            }
            return try layer.kimiMixer(.adjacent, .init(isBounded: true, ratesArePositive: true))
        })

    static let glm5Next = Family(
        streams: { model throws(ModelFileError) in
            (try HyperConnection.streams(model), MeanOfStreams())
        },
        unused: ["indexer.*", "indexer_compressor_*", "attn_output.scale"], limitsBeforeSiLU: true,
        limitsAreOne: true,
        experts: .init(gating: .sigmoid, normalizesWeights: .declared),
        mixer: { layer throws(ModelFileError) in
            try layer.kimiMixer(nil, .init(isBounded: true, lengthEpsilon: 1e-6))
        },
        adjust: { layer, builder throws(ModelFileError) in
            try builder.connect(
                &layer, .init(iterations: try builder.hyper.count("hyper_connection.sinkhorn_iterations")))
        })
}

extension LayerBuilder {
    /// Latent attention, or Kimi delta attention in layers without key and value heads.
    fileprivate func kimiMixer(
        _ layout: RotaryLayout?, _ style: KimiDeltaAttention.Style = .init()
    ) throws(ModelFileError) -> any Mixer {
        guard isRecurrent else { return try latentAttention(layout, scalesScores: false) }
        // Some files declare 0 heads for recurrent layers; all layers have the same number.
        return try KimiDeltaAttention(self, heads: model.headCounts.first { $0 > 0 } ?? 1, style)
    }
}
