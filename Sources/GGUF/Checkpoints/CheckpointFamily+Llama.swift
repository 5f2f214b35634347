import JSON

/// Llama and models with its design: Mistral, Mixtral, Ministral 3, SmolLM 3, Granite.
extension CheckpointFamily {
    static let llamas: [String: Make] = [
        "LlamaForCausalLM": { _ throws(ModelFileError) in llama },
        "LlamaModel": { _ throws(ModelFileError) in llama },
        "MistralForCausalLM": { _ throws(ModelFileError) in mistral() },
        "MixtralForCausalLM": { _ throws(ModelFileError) in mistral(window: nil) },
        "Mistral3ForConditionalGeneration": { folder throws(ModelFileError) in
            folder.config["text_config"]?["model_type"]?.string == "ministral3" ? ministral3 : mistral3
        },
        "Ministral3ForCausalLM": { _ throws(ModelFileError) in ministral3 },
        "SmolLM3ForCausalLM": { _ throws(ModelFileError) in smolLM3 },
        "GraniteForCausalLM": { _ throws(ModelFileError) in granite },
    ]

    static let llama = CheckpointFamily(
        architecture: "llama",
        defaults: ["rms_norm_eps": 1e-6, "rope_theta": 10_000, "max_position_embeddings": 2048],
        permutesHeads: true,
        write: { conversion throws(ModelFileError) in
            let config = conversion.config
            if try config.intIfPresent("num_key_value_heads") == nil {
                conversion.set("attention.head_count_kv", .uint32(try conversion.heads))
            }
            try conversion.writeLlamaKeys()
        },
        vocabulary: CheckpointVocabulary(digitsName: "smollm"))

    /// - Parameter window: Window of all layers if the configuration does not have the property.
    private static func mistral(window: Int? = 4096) -> CheckpointFamily {
        var family = llama
        family.defaults = [
            "rms_norm_eps": 1e-6, "rope_theta": 10_000, "max_position_embeddings": 131_072, "num_key_value_heads": 8,
        ]
        family.layer = layer([
            "block_sparse_moe.gate": "ffn_gate_inp", "block_sparse_moe.experts.w1": "ffn_gate_exps",
            "block_sparse_moe.experts.w2": "ffn_down_exps", "block_sparse_moe.experts.w3": "ffn_up_exps",
        ])
        family.place = { conversion, part throws(ModelFileError) in try conversion.placeStackedExperts(part) }
        family.write = { conversion throws(ModelFileError) in
            try conversion.writeLlamaKeys()
            try conversion.writeWindow(default: window)
        }
        return family
    }

    static var mistral3: CheckpointFamily {
        var family = mistral()
        family.architecture = "mistral3"
        return family
    }

    private static var ministral3: CheckpointFamily {
        var family = mistral3
        family.defaults = [
            "rms_norm_eps": 1e-5, "rope_theta": 1_000_000, "max_position_embeddings": 262_144,
            "num_key_value_heads": 8, "head_dim": 128,
        ]
        family.write = { conversion throws(ModelFileError) in
            try conversion.writeLlamaKeys()
            try conversion.writeWindow()
            if let scale = try conversion.rotary.full.doubleIfPresent("mscale_all_dim") {
                conversion.set("rope.scaling.yarn_log_multiplier", .float32(scale))
            }
            if let scale = try conversion.rotary.full.doubleIfPresent("llama_4_scaling_beta") {
                conversion.set("attention.temperature_scale", .float32(scale))
            }
        }
        return family
    }

    static var smolLM3: CheckpointFamily {
        var family = llama
        family.architecture = "smollm3"
        family.defaults = [
            "rms_norm_eps": 1e-6, "rope_theta": 2_000_000, "max_position_embeddings": 32768, "num_key_value_heads": 4,
        ]
        family.write = { conversion throws(ModelFileError) in
            try conversion.refuseWindows()
            try conversion.writeLlamaKeys()
            // GGUF has no key for this: all but every fourth layer use rotary positions.
            let turning = try conversion.config.ints("no_rope_layers")
            let interval = try conversion.config.intIfPresent("no_rope_layer_interval") ?? 4
            let expected = (0..<(try conversion.layers)).map { ($0 + 1) % 4 == 0 ? 0 : 1 }
            guard turning == nil ? interval == 4 : turning == expected else {
                throw conversion.config.wrong("no_rope_layers", "1 in all layers but every fourth")
            }
        }
        return family
    }

    static var granite: CheckpointFamily {
        var family = llama
        family.architecture = "granite"
        family.vocabulary.digitsName = "refact"
        family.write = { conversion throws(ModelFileError) in
            let config = conversion.config
            if try config.intIfPresent("num_key_value_heads") == nil {
                conversion.set("attention.head_count_kv", .uint32(try conversion.heads))
            }
            try conversion.writeLlamaKeys()
            for (key, name) in [
                ("attention.scale", "attention_multiplier"), ("embedding_scale", "embedding_multiplier"),
                ("residual_scale", "residual_multiplier"), ("logit_scale", "logits_scaling"),
            ] {
                let value = try config.doubleIfPresent(name) ?? 1
                if value != 0 { conversion.set(key, .float32(value)) }
            }
        }
        return family
    }
}

extension CheckpointConversion {
    mutating func writeLlamaKeys() throws(ModelFileError) {
        set("vocab_size", .uint32(try config.positive("vocab_size")))
        set("attention.key_length", .uint32(try headWidth))
        set("attention.value_length", .uint32(try headWidth))
        try writeRotaryWidth()
    }

    /// Writes the window of all layers. If the property is `null`, there is none.
    ///
    /// - Parameter window: The window if the configuration does not have the property.
    fileprivate mutating func writeWindow(default window: Int? = nil) throws(ModelFileError) {
        let window = config.declares("sliding_window") ? try config.intIfPresent("sliding_window") : window
        guard let window, window != 0 else { return }
        guard window > 0 else { throw config.wrong("sliding_window", "null or a positive number") }
        set("attention.sliding_window", .uint32(window))
    }

    /// `experts.gate_up_proj` and `experts.down_proj`: one tensor each for the matrices of all experts, gate rows
    /// before up rows.
    mutating func placeStackedExperts(_ part: CheckpointTensor) throws(ModelFileError) -> Bool {
        guard let layer = part.layer, part.expert == nil else { return false }
        let tensor = part.tensor
        let name = "blk.\(layer).ffn_"
        if part.module.hasSuffix(".experts.gate_up_proj") {
            guard tensor.shape.count == 3, tensor.shape[1] % 2 == 0 else {
                throw wrong(tensor, "three dimensions, with an even number of rows in each matrix")
            }
            let half = tensor.shape[1] / 2
            try add(rows: 0..<half, ofEach: tensor, as: name + "gate_exps.weight")
            try add(rows: half..<2 * half, ofEach: tensor, as: name + "up_exps.weight")
            return true
        }
        if part.module.hasSuffix(".experts.down_proj") {
            try add(tensor, as: name + "down_exps.weight")
            return true
        }
        return false
    }
}
