/// LFM2 (Liquid AI 2025): short convolutions, and attention in the layers that have key and value heads.
///
/// Reference implementation: `modeling_lfm2.py` in transformers.
extension Family {
    static let lfm2 = Family(
        outputNorm: "token_embd_norm", mlpScales: false,
        mixer: { layer throws(ModelFileError) in
            if layer.isRecurrent { return try ShortConvolution(layer) }
            return try layer.attention()
        })
}
