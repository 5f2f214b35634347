import JSON

import Foundation

/// Qwen 2, 3 and 3.5, dense and with experts.
extension CheckpointFamily {
    static let qwens: [String: Make] = [
        "Qwen2ForCausalLM": { _ throws(ModelFileError) in qwen2 },
        "Qwen2Model": { _ throws(ModelFileError) in qwen2 },
        "Qwen3ForCausalLM": { folder throws(ModelFileError) in try isReranker(folder) ? qwen3Reranker : qwen3 },
        "Qwen3ForSequenceClassification": { _ throws(ModelFileError) in qwen3Classifier },
        "Qwen3Model": { _ throws(ModelFileError) in qwen3 },
        "Qwen3MoeForCausalLM": { _ throws(ModelFileError) in qwen3MoE },
        "Qwen3_5ForCausalLM": { _ throws(ModelFileError) in qwen35("qwen35") },
        "Qwen3_5ForConditionalGeneration": { _ throws(ModelFileError) in qwen35("qwen35") },
        "Qwen3_5MoeForCausalLM": { _ throws(ModelFileError) in qwen35("qwen35moe") },
        "Qwen3_5MoeForConditionalGeneration": { _ throws(ModelFileError) in qwen35("qwen35moe") },
    ]

    static let qwen2 = CheckpointFamily(
        architecture: "qwen2",
        defaults: ["rms_norm_eps": 1e-6, "rope_theta": 10_000, "max_position_embeddings": 32768],
        write: { conversion throws(ModelFileError) in
            try conversion.refuseWindows()
            if try conversion.config.intIfPresent("num_key_value_heads") == nil {
                conversion.set("attention.head_count_kv", .uint32(try conversion.heads))
            }
            try conversion.writePooling()
        })

    static var qwen3: CheckpointFamily {
        var family = qwen2
        family.architecture = "qwen3"
        family.defaults["head_dim"] = 128
        return family
    }

    static var qwen3MoE: CheckpointFamily {
        var family = qwen2
        family.architecture = "qwen3moe"
        family.defaults = [
            "rms_norm_eps": 1e-6, "rope_theta": 10_000, "max_position_embeddings": 32768, "num_key_value_heads": 4,
            "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
        ]
        family.write = { conversion throws(ModelFileError) in
            let config = conversion.config
            try conversion.refuseWindows()
            // GGUF has no key for it; readers assume true.
            guard try config.bool("norm_topk_prob") else { throw config.wrong("norm_topk_prob", "true") }
            conversion.set("expert_feed_forward_length", .uint32(try config.positive("moe_intermediate_size")))
        }
        family.place = { conversion, part throws(ModelFileError) in try conversion.placeStackedExperts(part) }
        return family
    }

    static func qwen35(_ architecture: String) -> CheckpointFamily {
        CheckpointFamily(
            architecture: architecture,
            defaults: [
                "rms_norm_eps": 1e-6, "rope_theta": 10_000_000, "max_position_embeddings": 32768,
                "num_key_value_heads": 4, "head_dim": 256, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
                "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
            ],
            layer: layer([
                "post_attention_layernorm": "post_attention_norm", "linear_attn.in_proj_qkv": "attn_qkv",
                "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_b": "ssm_beta",
                "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
            ]),
            normShift: 1,
            write: { conversion throws(ModelFileError) in try conversion.writeQwenHybrid() },
            place: { conversion, part throws(ModelFileError) in
                if try conversion.placeStackedExperts(part) { return true }
                return try conversion.placeDeltaNet(part)
            })
    }
}

extension CheckpointConversion {
    /// Throws if the folder uses windows, for which GGUF has no key in these families.
    func refuseWindows() throws(ModelFileError) {
        if try config.bool("use_sliding_window") { throw config.wrong("use_sliding_window", "false") }
    }

    fileprivate mutating func writeQwenHybrid() throws(ModelFileError) {
        set("ssm.conv_kernel", .uint32(try config.positive("linear_conv_kernel_dim")))
        set("ssm.state_size", .uint32(try config.positive("linear_key_head_dim")))
        set("ssm.group_count", .uint32(try config.positive("linear_num_key_heads")))
        let heads = try config.positive("linear_num_value_heads")
        set("ssm.time_step_rank", .uint32(heads))
        set("ssm.inner_size", .uint32(try config.positive("linear_value_head_dim") * heads))
        if let kinds = try config.strings("layer_types") {
            guard kinds.count == (try layers) else { throw config.wrong("layer_types", "one word for each layer") }
            set("attention.recurrent_layers", .bools(kinds.map { $0 == "linear_attention" }))
        }
        set("full_attention_interval", .uint32(try config.intIfPresent("full_attention_interval") ?? 4))
        try writeRotaryWidth(part: 0.25)
        if try rotary.full.ints("mrope_section") == nil { set("rope.dimension_sections", .int32s([11, 11, 10, 0])) }
        if let width = try config.intIfPresent("moe_intermediate_size") {
            set("expert_feed_forward_length", .uint32(width))
        }
        if let width = try config.intIfPresent("shared_expert_intermediate_size") {
            set("expert_shared_feed_forward_length", .uint32(width))
        }
    }

    /// Places the gated delta net of a layer. Folders group the value heads by the key head that they share; GGUF has
    /// the first value head of every key head, then the second, and so on.
    fileprivate mutating func placeDeltaNet(_ part: CheckpointTensor) throws(ModelFileError) -> Bool {
        guard let layer = part.layer, part.module.hasPrefix("linear_attn.") else { return false }
        let (tensor, name) = (part.tensor, "blk.\(layer).")
        let (keyHeads, valueHeads) = (
            try config.positive("linear_num_key_heads"), try config.positive("linear_num_value_heads")
        )
        let (keyWidth, valueWidth) = (
            try config.positive("linear_key_head_dim"), try config.positive("linear_value_head_dim")
        )
        guard valueHeads % keyHeads == 0 else {
            throw config.wrong("linear_num_value_heads", "a multiple of 'linear_num_key_heads' (\(keyHeads))")
        }
        let share = valueHeads / keyHeads
        /// The place of a value among `first` others and heads of `width` values.
        @Sendable func place(_ index: Int, width: Int, after first: Int) -> Int {
            guard index >= first else { return index }
            let (head, rest) = ((index - first) / width, (index - first) % width)
            return first + (head % keyHeads * share + head / keyHeads) * width + rest
        }
        let keys = 2 * keyHeads * keyWidth
        func check(rows: Int) throws(ModelFileError) {
            guard tensor.shape.first == rows else { throw wrong(tensor, "\(rows) rows") }
        }
        let length = tensor.count / max(1, tensor.shape.first ?? 1)
        switch part.module {
        // The only norm with a plain factor, not 1 + weight.
        case "linear_attn.norm": try add(tensor, as: name + "ssm_norm.weight")
        case "linear_attn.in_proj_qkv":
            try check(rows: keys + valueHeads * valueWidth)
            try add(
                tensor, as: name + "attn_qkv.weight",
                order: .rows(length: length) { (0, place($0, width: valueWidth, after: keys)) })
        case "linear_attn.in_proj_z":
            try check(rows: valueHeads * valueWidth)
            try add(
                tensor, as: name + "attn_gate.weight",
                order: .rows(length: length) { (0, place($0, width: valueWidth, after: 0)) })
        case "linear_attn.in_proj_a", "linear_attn.in_proj_b":
            try check(rows: valueHeads)
            try add(
                tensor, as: name + (part.module.hasSuffix("a") ? "ssm_alpha.weight" : "ssm_beta.weight"),
                order: .rows(length: length) { (0, place($0, width: 1, after: 0)) })
        case "linear_attn.conv1d":
            try check(rows: keys + valueHeads * valueWidth)
            try add(
                tensor, as: name + "ssm_conv1d.weight", shape: [length, keys + valueHeads * valueWidth],
                order: .rows(length: length) { (0, place($0, width: valueWidth, after: keys)) })
        case "linear_attn.A_log":
            try check(rows: valueHeads)
            try add(
                tensor, as: name + "ssm_a", order: .rows(length: 1) { (0, place($0, width: 1, after: 0)) },
                change: { -exp($0) })
        case "linear_attn.dt_bias":
            try check(rows: valueHeads)
            try add(tensor, as: name + "ssm_dt.bias", order: .rows(length: 1) { (0, place($0, width: 1, after: 0)) })
        case "linear_attn.out_proj":
            guard tensor.shape.count == 2, tensor.shape[1] == valueHeads * valueWidth else {
                throw wrong(tensor, "rows of \(valueHeads * valueWidth)")
            }
            let columns = tensor.shape[1]
            try add(
                tensor, as: name + "ssm_out.weight",
                // Runs of columns of the heads, row by row.
                order: .rows(length: valueWidth) { run in
                    let (row, head) = (run / valueHeads, run % valueHeads)
                    return (0, row * (columns / valueWidth) + place(head, width: 1, after: 0))
                })
        default: return false
        }
        return true
    }
}
