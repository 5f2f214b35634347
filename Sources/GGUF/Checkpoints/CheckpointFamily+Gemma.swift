import JSON

/// Gemma 3 and 4.
extension CheckpointFamily {
    static let gemmas: [String: Make] = [
        "Gemma3ForCausalLM": { _ throws(ModelFileError) in gemma3 },
        "Gemma3ForConditionalGeneration": { _ throws(ModelFileError) in gemma3 },
        "Gemma4ForCausalLM": { _ throws(ModelFileError) in gemma4 },
        "Gemma4ForConditionalGeneration": { _ throws(ModelFileError) in gemma4 },
    ]

    static let gemma3 = CheckpointFamily(
        architecture: "gemma3",
        defaults: [
            "rms_norm_eps": 1e-6, "rope_theta": 1_000_000, "rope_local_base_freq": 10_000,
            "max_position_embeddings": 131_072, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
            "sliding_window": 4096, "query_pre_attn_scalar": 256, "vocab_size": 262_208,
        ],
        layer: layer([
            "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
            "post_feedforward_layernorm": "post_ffw_norm",
        ]),
        normShift: 1,
        write: { conversion throws(ModelFileError) in try conversion.writeGemma3() },
        vocabulary: CheckpointVocabulary(addsSpacePrefix: false))

    static let gemma4 = CheckpointFamily(
        architecture: "gemma4",
        defaults: [
            "rms_norm_eps": 1e-6, "max_position_embeddings": 131_072, "num_attention_heads": 8,
            "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 512, "hidden_size_per_layer_input": 256,
            "num_kv_shared_layers": 0, "vocab_size": 262_144,
        ],
        layer: layer([
            "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
            "post_feedforward_layernorm": "post_ffw_norm", "layer_scalar": "layer_output_scale",
            "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj",
            "post_per_layer_input_norm": "post_norm",
            "router.proj": "ffn_gate_inp", "experts.gate_up_proj": "ffn_gate_up_exps",
            "experts.down_proj": "ffn_down_exps", "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
            "post_feedforward_layernorm_1": "post_ffw_norm_1", "post_feedforward_layernorm_2": "post_ffw_norm_2",
        ]),
        others: [
            "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
            "embed_tokens_per_layer": "per_layer_token_embd", "per_layer_model_projection": "per_layer_model_proj",
            "per_layer_projection_norm": "per_layer_proj_norm",
        ],
        write: { conversion throws(ModelFileError) in try conversion.writeGemma4() },
        place: { conversion, part throws(ModelFileError) in
            let names = ["router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale"]
            guard let layer = part.layer, let name = names[part.module] else { return false }
            try conversion.add(part.tensor, as: "blk.\(layer).\(name)")
            return true
        },
        vocabulary: CheckpointVocabulary(model: "gemma4", addsSpacePrefix: false, addsBeginning: true))
}

extension CheckpointConversion {
    fileprivate mutating func writeGemma3() throws(ModelFileError) {
        set("attention.sliding_window", .uint32(try config.positive("sliding_window")))
        if let cap = try config.doubleIfPresent("final_logit_softcapping") {
            set("final_logit_softcapping", .float32(cap))
        }
        if try config.doubleIfPresent("attn_logit_softcapping") != nil {
            throw config.wrong("attn_logit_softcapping", "missing in Gemma 3")
        }
        if try config.bool("use_bidirectional_attention") {
            throw config.wrong("use_bidirectional_attention", "false")
        }
        // GGUF has no key for the pattern: every sixth layer is global.
        let interval = try config.intIfPresent("sliding_window_pattern", "_sliding_window_pattern") ?? 6
        let expected = (0..<(try layers)).map { ($0 + 1) % 6 == 0 ? "full_attention" : "sliding_attention" }
        let kinds = try config.strings("layer_types") ?? expected
        guard interval == 6, kinds == expected else {
            throw config.wrong(
                "layer_types", "'full_attention' in every sixth layer and 'sliding_attention' in the others")
        }
        // The scale that readers of the file assume by default.
        let scalar = try config.double("query_pre_attn_scalar")
        let usual = try layers == 62 ? width / heads : headWidth
        if scalar != Double(usual) { set("attention.scale", .float32(1 / scalar.squareRoot())) }
    }

    fileprivate mutating func writeGemma4() throws(ModelFileError) {
        let count = try layers
        let kinds =
            try config.strings("layer_types")
            ?? (0..<count).map { ($0 + 1) % 6 == 0 ? "full_attention" : "sliding_attention" }
        guard kinds.count == count else {
            throw config.wrong("layer_types", "one word for each of the \(count) layers")
        }
        // The last layer is always global.
        let isWindowed = kinds.enumerated().map { $1 == "sliding_attention" && $0 < count - 1 }
        set("attention.sliding_window", .uint32(try config.positive("sliding_window")))
        set("attention.sliding_window_pattern", .bools(isWindowed))
        let shared = try config.int("num_kv_shared_layers")
        guard (0...count).contains(shared) else {
            throw config.wrong("num_kv_shared_layers", "from 0 to the \(count) layers")
        }
        set("attention.shared_kv_layers", .uint32(shared))
        set("embedding_length_per_layer_input", .uint32(try config.int("hidden_size_per_layer_input")))
        // Readers of the file assume 30 without the key.
        set("final_logit_softcapping", .float32(try config.doubleIfPresent("final_logit_softcapping") ?? 0))
        // Newer folders list the differences of each layer.
        let ofLayers = config.object("per_layer_config")
        let ofFull = isWindowed.firstIndex(of: false).flatMap { ofLayers?.object(ofLayer: $0) }
        let ownWidth = try ofFull?.intIfPresent("head_dim") ?? 512
        let fullWidth = try config.intIfPresent("global_head_dim") ?? ownWidth
        guard (1...1 << 20).contains(fullWidth) else { throw config.wrong("global_head_dim", "from 1 to 2^20") }
        let windowedWidth = try headWidth
        for kind in ["key", "value"] {
            set("attention.\(kind)_length", .uint32(fullWidth))
            set("attention.\(kind)_length_swa", .uint32(windowedWidth))
        }
        var fullHeads = try ofFull?.intIfPresent("num_key_value_heads")
        if try config.bool("attention_k_eq_v"), let heads = try config.intIfPresent("num_global_key_value_heads") {
            fullHeads = heads
        }
        if let fullHeads {
            let windowedHeads = try kvHeads
            set("attention.head_count_kv", .int32s(isWindowed.map { $0 ? windowedHeads : fullHeads }))
        }
        if try config.bool("use_double_wide_mlp") {
            let width = try config.positive("intermediate_size")
            set("feed_forward_length", .int32s((0..<count).map { $0 < count - shared ? width : 2 * width }))
        }
        if let width = try config.intIfPresent("expert_intermediate_size", "moe_intermediate_size") {
            set("expert_feed_forward_length", .uint32(width))
        }
        set("rope.dimension_count", .uint32(fullWidth))
        set("rope.dimension_count_swa", .uint32(windowedWidth))
        let parameters = rotary.full
        let part = try parameters.doubleIfPresent("partial_rotary_factor") ?? 0.25
        if try parameters.doubleIfPresent("rope_theta") == nil { set("rope.freq_base", .float32(1_000_000)) }
        if try rotary.windowed?.doubleIfPresent("rope_theta") == nil { set("rope.freq_base_swa", .float32(10_000)) }
        guard (0...1).contains(part) else { throw parameters.wrong("partial_rotary_factor", "from 0 to 1") }
        // In global layers only the first pairs of a head are rotated.
        let turning = Int(Double(fullWidth) * part / 2)
        try add((0..<fullWidth / 2).map { $0 < turning ? 1 : 1e30 }, as: "rope_freqs.weight")
    }
}
