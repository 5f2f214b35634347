import GGUF

/// Jamba (Lieber et al. 2024): layers of Mamba, some of attention without positions; each with an MLP or a mixture of
/// experts.
///
/// A layer without key and value heads is Mamba. Reference implementation: `modeling_jamba.py` in transformers.
extension Family {
    static let jamba = Family(
        rotary: nil, mlpScales: false, experts: .init(normalizesWeights: .declared, isOptional: true),
        mixer: { layer throws(ModelFileError) in
            if layer.isRecurrent { return try Mamba(layer) }
            return try layer.attention()
        })
}
