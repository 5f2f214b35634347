import GGUF

/// PLaMo 2 (Preferred Networks 2025): Mamba with a step size per head, and attention in the layers with key and value
/// heads.
///
/// Reference implementation: the authors' `modeling_plamo.py`.
extension Family {
    static let plamo2 = Family(
        mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm",
        unused: ["ssm_in.scale", "ssm_out.scale"], fusedScales: false,
        mixer: { layer throws(ModelFileError) in
            if layer.isRecurrent { return try PLaMoMamba(layer) }
            return try layer.attention()
        })
}
