import GGUF

/// RWKV 6 (Peng et al. 2024) and 7 (Peng et al. 2025), and Qwen2 models whose attention was replaced by their time mix
/// and then trained further: QRWKV 6 and ARWKV 7 (Recursal 2025).
///
/// Reference implementations: the authors' `rwkv_v6_demo.py` and `rwkv_v7_demo.py`.
extension Family {
    static let rwkv6 = rwkv(
        mixer: { layer throws(ModelFileError) in try RWKV6(layer, kvHeads: 0, hasChannelMix: true) },
        channelMixHasReceptance: true)
    static let rwkv7 = rwkv(
        mixer: { layer throws(ModelFileError) in try RWKV7(layer, hasChannelMix: true) },
        channelMixHasReceptance: false)

    static let rwkv6qwen2 = Family(
        rotary: nil, mlpScales: false,
        mixer: { layer throws(ModelFileError) in
            try RWKV6(layer, kvHeads: layer.model.kvHeadCounts[layer.index], hasChannelMix: false)
        })
    static let arwkv7 = Family(
        rotary: nil, mlpScales: false,
        mixer: { layer throws(ModelFileError) in try RWKV7(layer, hasChannelMix: false) })

    private static func rwkv(mixer: @escaping MakeMixer, channelMixHasReceptance: Bool) -> Family {
        Family(
            norm: .layer, feedForwardNorm: "attn_norm_2", embeddingNorm: "token_embd_norm", rotary: nil, mixer: mixer,
            feedForward: { layer throws(ModelFileError) in
                try RWKVChannelMix(layer, hasReceptance: channelMixHasReceptance)
            },
            adjust: { block, layer throws(ModelFileError) in
                // Rescaling that avoids overflow in half precision; the file's weights compensate for it.
                guard let period = try layer.hyper.int("rescale_every_n_layers"), period > 0 else { return }
                if (layer.index + 1) % period == 0 { block.outputScale = 0.5 }
            })
    }
}
