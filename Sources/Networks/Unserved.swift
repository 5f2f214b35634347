import GGUF
import KernelFormats

/// Detects contents of a file that its network does not use and that would change the result.
struct Unserved {
    let reader: ModelReader
    let architecture: String
    private var file: GGUFFile { reader.file }

    /// - Parameters:
    ///   - layers: Blocks from this index on are for multi-token prediction and may be ignored.
    ///   - isUnused: Whether a tensor is known to be unused in the architecture.
    func refuse(layers: Int, isUnused: (String) -> Bool) throws(ModelFileError) {
        for tensor in file.tensors where !reader.readTensors.contains(tensor.name) {
            if isUnused(tensor.name) || isBeside(tensor.name, layers: layers) { continue }
            throw ModelFileError(
                .unsupported,
                "Tensor '\(tensor.name)' of shape \(tensor.shape) is not known in the architecture '\(architecture)', and would change the result.",
                path: tensor.file.path)
        }
        for (key, neutral) in Self.neutralValues {
            let name = "\(architecture).\(key)"
            guard !reader.readKeys.contains(name), let value = file.metadata[name] else { continue }
            let numbers = value.array?.decode(Self.number) ?? Self.number(value).map { [$0] } ?? []
            guard let found = numbers.first(where: { number in !neutral.contains { abs($0 - number) < 1e-4 } }) else {
                continue
            }
            throw ModelFileError(
                .unsupported,
                "The metadata key '\(name)' is \(found), which the architecture '\(architecture)' is not known to have; expected \(neutral.map { "\($0)" }.joined(separator: " or ")) or no such key.",
                path: file.path)
        }
    }

    /// Whether a tensor does not affect the next token: layers for multi-token prediction, classifiers, image and audio
    /// encoders, activation scales for hardware that quantizes them, and constants stored by old converters.
    private func isBeside(_ name: String, layers: Int) -> Bool {
        let parts = name.split(separator: ".")
        if parts.first == "blk", parts.count > 1, let index = Int(parts[1]), index >= layers { return true }
        if parts.first.map({ ["cls", "dense_2", "dense_3", "v", "mm", "a"].contains($0) }) == true { return true }
        if name.hasSuffix(".input_scale") { return true }
        if name.contains("rot_embd") || name.contains("inv_freq") || name.contains(".nextn.") { return true }
        // Scales belong to NVFP4 weights; those of other types are ignored.
        guard name.hasSuffix(".scale") else { return false }
        return file.tensorIfPresent(name.dropLast(5) + "weight")?.type != .NVFP4
    }

    private static func number(_ value: GGUFValue) -> Double? {
        value.double ?? value.int.map(Double.init) ?? value.bool.map { $0 ? 1 : 0 }
    }

    /// Keys that change what a network computes, each with its neutral values: values without effect, or those that
    /// llama.cpp writes for architectures without the feature.
    private static let neutralValues: [(key: String, neutral: [Double])] = [
        ("activation.situ_beta", [0, 1]), ("activation.situ_linear_beta", [0]), ("adapters.count", [0]),
        ("attention.causal", [1]), ("attention.clamp_kqv", [0]), ("attention.compress_ratios", [0]),
        ("attention.max_alibi_bias", [0]), ("attention.output_scale", [0, 1]),
        ("attention.rope_pattern", [1]), ("attention.scale", [0]), ("attention.shared_kv_layers", [0]),
        ("attention.sliding_window", [0]), ("attention.temperature_scale", [0]), ("attention.value_scale", [0, 1]),
        ("attn_logit_softcapping", [0, 50]), ("attn_res.block_size", [0]),
        ("embedding_scale", [0, 1]), ("expert_chunk_feed_forward_length", [0]), ("expert_group_count", [0, 1]),
        ("expert_group_scale", [0, 0.05]), ("expert_latent_length", [0]), ("experts_per_group", [0]),
        ("final_logit_softcapping", [0, 30]), ("full_attention_interval", [0]), ("hash_layer_count", [0]),
        ("hrm.h_cycles", [0]), ("hrm.l_cycles", [0]), ("hrm.prefix_lm", [0]), ("hyper_connection.count", [0]),
        ("interleave_moe_layer_step", [0, 1]), ("kda.safe_gate", [0]), ("logit_scale", [0, 1]),
        ("moe_every_n_layers", [0, 1]), ("moe_latent_size", [0]), ("num_loops", [0, 1]),
        ("rescale_every_n_layers", [0]), ("residual_scale", [0, 1]), ("rope.scaling.alpha", [0]),
        ("router_logit_softcapping", [0, 30]), ("shortconv.l_cache", [0]), ("skip_loop_final_norm", [0]),
        ("ssm.dt_b_c_rms", [0]), ("swiglu_clamp_exp", [0]), ("swiglu_clamp_shexp", [0]), ("swin_norm", [0]),
        ("use_parallel_residual", [0]),
    ]
}
