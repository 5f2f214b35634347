import GGUF
import Compute

/// Qwen 4 (experimental files): Qwen 3.5's mixers between gated hyper-connections, sigmoid instead of SiLU gates in
/// delta nets, and n-gram embeddings in one layer. Attention selects blocks of tokens.
extension Family {
    static let qwen4 = Family(
        mixerNorm: nil, feedForwardNorm: nil, outputNorm: nil,
        streams: { model throws(ModelFileError) in
            (try HyperConnection.streams(model), try GatedStreams(model, "output_hc", writes: false))
        },
        unused: ["indexer.*", "attn_q.bias", "attn_k.bias", "attn_v.bias"], sections: .interleaved,
        queryHoldsGate: true, mlpScales: true, expertScales: true, experts: .init(sharesFeedForwardWidth: true),
        mixer: { layer throws(ModelFileError) in
            if try layer.isLinear() {
                let mixer = try GatedDeltaNet(layer, interleavesGroups: true, gateIsSigmoid: true)
                guard try layer.hasNGrams() else { return mixer }
                return MixerWithState(mixer, floats: try NGramEmbedding.stateFloats(layer))
            }
            let ratios = try layer.hyper.counts(
                "attention.compress_ratios", layers: layer.model.layerCount, default: 0)
            if ratios[layer.index] > 0 { try layer.refuseSparseAttention() }
            return try layer.attention()
        },
        adjust: { layer, builder throws(ModelFileError) in
            let mixing = try GatedStreams(builder.model, builder.name + "hc_attn")
            layer.mixerConnection = mixing
            if let mixer = layer.mixer as? MixerWithState {
                layer.mixerConnection = try NGramEmbedding(builder, before: mixing, stateOffset: mixer.ownFloats)
            }
            layer.feedForwardConnection = try GatedStreams(builder.model, builder.name + "hc_ffn")
        })
}

extension LayerBuilder {
    /// Whether the layer adds n-gram embeddings.
    fileprivate func hasNGrams() throws(ModelFileError) -> Bool {
        let layers = try file.metadata.intsIfPresent("\(hyper.architecture).ple.layers") ?? []
        guard layers.count <= 1 else { throw hyper.invalid("ple.layers", "a list of at most one layer", found: layers) }
        return layers.contains(index)
    }
}

/// A mixer with additional floats in its layer's recurrent state.
final class MixerWithState: Mixer {
    let state: LayerState
    /// Floats of the mixer itself, padded to a multiple of 64 bytes.
    let ownFloats: Int
    private let mixer: any Mixer

    init(_ mixer: any Mixer, floats: Int) {
        self.mixer = mixer
        guard case .recurrent(let own) = mixer.state else { preconditionFailure("only recurrent mixers have floats") }
        ownFloats = (own + 15) / 16 * 16
        state = .recurrent(floats: ownFloats + floats)
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        mixer.forward(input, into: output, context)
    }
}
