import GGUF

/// Granite 4 hybrid (IBM 2025) and Bamba: Granite with Mamba 2 in the layers without key and value heads, dense or with
/// experts.
///
/// Reference implementation: `modeling_granitemoehybrid.py` in transformers.
extension Family {
    static let graniteHybrid = granite(
        rotates: { layer throws(ModelFileError) in try layer.hyper.bool("rope.scaling.finetuned") ?? true },
        mixer: { layer throws(ModelFileError) in
            if layer.isRecurrent { return try Mamba2(layer) }
            return try layer.attention()
        })
}
