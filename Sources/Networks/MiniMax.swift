import GGUF
import Compute
import KernelFormats

/// MiniMax 01 (MiniMax 2025): lightning attention, with softmax attention in every eighth layer; the normalized input
/// of a block replaces the residual stream. MiniMax M3: attention that selects blocks of tokens, and gpt-oss's
/// activation.
extension Family {
    static let minimax01 = Family(
        experts: .init(),
        mixer: { layer throws(ModelFileError) in
            if try layer.isLinear(interval: 8) { return try LightningAttention(layer) }
            return try layer.attention()
        },
        adjust: { layer, builder throws(ModelFileError) in
            guard let scale = try builder.hyper.factor("residual_scale") else {
                throw builder.hyper.invalid("residual_scale", "a number other than 0", found: 0)
            }
            func connection(_ norm: Norm?) -> NormedResidual? { norm.map { NormedResidual($0, scale: scale) } }
            (layer.mixerConnection, layer.mixerNorm) = (connection(layer.mixerNorm), nil)
            (layer.feedForwardConnection, layer.feedForwardNorm) = (connection(layer.feedForwardNorm), nil)
        })

    static let minimaxM3 = Family(
        unused: ["indexer.*"], activation: .gptOSS,
        experts: .init(gating: .sigmoid, normalizesWeights: .declared),
        mixer: { layer throws(ModelFileError) in
            try layer.refuseSparseAttention(unit: layer.hyper.count("attention.indexer.block_size"))
            return try layer.attention()
        })
}
