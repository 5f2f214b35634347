import GGUF

/// Falcon-H1 (TII 2025): attention and Mamba 2 in parallel in each layer, their outputs added.
///
/// Files contain its multipliers already applied to the weights. Reference implementation: `modeling_falcon_h1.py` in
/// transformers.
extension Family {
    static let falconH1 = Family(
        unused: ["rope_freqs.weight", "attn_output.bias"],
        mixer: { layer throws(ModelFileError) in
            let (attention, recurrent) = (try layer.attention(), try Mamba2(layer))
            guard let attention else { return recurrent }
            return ParallelMixers(attention, recurrent)
        })
}
