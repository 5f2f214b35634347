import JSON

import Foundation
import KernelFormats

/// Phi 3 and 4, gpt-oss, GLM 4.
extension CheckpointFamily {
    static let others: [String: Make] = [
        "Phi3ForCausalLM": { _ throws(ModelFileError) in phi3 },
        "GptOssForCausalLM": { _ throws(ModelFileError) in gptOSS },
        "Glm4ForCausalLM": { _ throws(ModelFileError) in glm4 },
        "Glm4MoeForCausalLM": { _ throws(ModelFileError) in glm4MoE },
    ]

    static let phi3 = CheckpointFamily(
        architecture: "phi3",
        defaults: ["rms_norm_eps": 1e-5, "rope_theta": 10_000, "max_position_embeddings": 4096],
        layer: layer(["self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"]),
        write: { conversion throws(ModelFileError) in try conversion.writePhi3() })

    static let gptOSS = CheckpointFamily(
        architecture: "gpt-oss",
        defaults: [
            "rms_norm_eps": 1e-5, "rope_theta": 150_000, "max_position_embeddings": 131_072, "head_dim": 64,
            "num_attention_heads": 64, "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 4,
            "sliding_window": 128,
        ],
        layer: layer([
            "post_attention_layernorm": "post_attention_norm", "mlp.router": "ffn_gate_inp",
            "self_attn.sinks": "attn_sinks",
        ]),
        write: { conversion throws(ModelFileError) in
            let config = conversion.config
            conversion.set("attention.sliding_window", .uint32(try config.positive("sliding_window")))
            conversion.set("expert_feed_forward_length", .uint32(try config.positive("intermediate_size")))
        },
        place: { conversion, part throws(ModelFileError) in try conversion.placeGPTOSS(part) })

    static let glm4 = CheckpointFamily(
        architecture: "glm4",
        defaults: [
            "rms_norm_eps": 1.5625e-7, "rope_theta": 10_000, "max_position_embeddings": 131_072,
            "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
        ],
        layer: layer([
            "post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm",
            "mlp.gate_up_proj": "ffn_up",
        ]),
        write: { conversion throws(ModelFileError) in
            guard try conversion.rotary.full.ints("mrope_section") == nil else {
                throw ModelFileError(
                    .unsupported, "'mrope_section': only text models of GLM 4 are supported.",
                    path: conversion.config.path)
            }
            try conversion.writeRotaryWidth(part: 0.5)
        },
        vocabulary: CheckpointVocabulary(llama3Name: "glm4", specialTokens: glmTokens))

    static let glm4MoE = CheckpointFamily(
        architecture: "glm4moe",
        defaults: [
            "rms_norm_eps": 1e-5, "rope_theta": 10_000, "max_position_embeddings": 131_072, "num_key_value_heads": 8,
            "n_routed_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "n_shared_experts": 1,
            "first_k_dense_replace": 1, "routed_scaling_factor": 1, "norm_topk_prob": 1, "n_group": 1, "topk_group": 1,
        ],
        layer: layer([
            "post_attention_layernorm": "post_attention_norm", "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
            "mlp.shared_experts.up_proj": "ffn_up_shexp", "mlp.shared_experts.down_proj": "ffn_down_shexp",
        ]),
        write: { conversion throws(ModelFileError) in
            let config = conversion.config
            try conversion.writeRotaryWidth(part: 0.5)
            conversion.set("expert_feed_forward_length", .uint32(try config.positive("moe_intermediate_size")))
            conversion.set("expert_shared_count", .uint32(try config.int("n_shared_experts")))
            conversion.set("leading_dense_block_count", .uint32(try config.int("first_k_dense_replace")))
            conversion.set("expert_gating_func", .uint32(2))  // sigmoid
            conversion.set("expert_weights_scale", .float32(try config.double("routed_scaling_factor")))
            conversion.set("expert_weights_norm", .bool(try config.bool("norm_topk_prob")))
        },
        place: { conversion, part throws(ModelFileError) in
            if let layer = part.layer, part.module == "mlp.gate.e_score_correction_bias" {
                try conversion.add(part.tensor, as: "blk.\(layer).exp_probs_b.bias")
                return true
            }
            return try conversion.placeStackedExperts(part)
        },
        vocabulary: CheckpointVocabulary(
            llama3Name: "glm4",
            specialTokens: [
                "bos": "[gMASK]", "eot": "<|user|>", "unknown": "<|endoftext|>", "eom": "<|observation|>",
            ]))

    /// Special tokens that GLM's vocabularies do not declare.
    private static let glmTokens = [
        "eos": "<|endoftext|>", "eot": "<|user|>", "unknown": "<|endoftext|>", "bos": "<|endoftext|>",
    ]
}

extension CheckpointConversion {
    fileprivate mutating func writePhi3() throws(ModelFileError) {
        set("attention.head_count_kv", .uint32(try kvHeads))
        set("attention.sliding_window", .uint32(try config.intIfPresent("sliding_window") ?? 0))
        let original = try rotary.originalContext()
        set("rope.scaling.original_context_length", .uint32(original))
        set("rope.scaling.type", nil)
        let part = try rotary.part() ?? 1
        guard (0...1).contains(part) else { throw config.wrong("partial_rotary_factor", "from 0 to 1") }
        let turning = Int(part * Double(try width)) / (try heads)
        set("rope.dimension_count", .uint32(turning))
        guard let long = try rotary.full.doubles("long_factor"), let short = try rotary.full.doubles("short_factor")
        else { return }
        guard long.count == turning / 2, short.count == turning / 2 else {
            throw ModelFileError(
                .badMetadata,
                "'long_factor' and 'short_factor' must have \(turning / 2) numbers, but have \(long.count) and \(short.count).",
                path: config.path)
        }
        let scale = Double(try config.positive("max_position_embeddings")) / Double(max(2, original))
        let magnitude =
            scale <= 1
            ? 1
            : rotary.type == "yarn"
                ? 0.1 * log(scale) + 1 : (1 + log(scale) / log(Double(max(2, original)))).squareRoot()
        set("rope.scaling.attn_factor", .float32(magnitude))
        try add(long.map { Float($0) }, as: "rope_factors_long.weight")
        try add(short.map { Float($0) }, as: "rope_factors_short.weight")
    }

    /// The experts of gpt-oss: gate and up rows alternate; the matrices are MXFP4, or transposed.
    fileprivate mutating func placeGPTOSS(_ part: CheckpointTensor) throws(ModelFileError) -> Bool {
        guard let layer = part.layer, part.module.hasPrefix("mlp.experts.") else { return false }
        let (tensor, name) = (part.tensor, "blk.\(layer).ffn_")
        let shape = tensor.shape
        switch part.module.dropFirst("mlp.experts.".count) {
        case "gate_up_proj_bias":
            guard shape.count == 2, shape[1] % 2 == 0 else { throw wrong(tensor, "two dimensions, the second even") }
            for (index, kind) in ["gate", "up"].enumerated() {
                try add(
                    tensor, as: name + "\(kind)_exps.bias", shape: [shape[1] / 2, shape[0]],
                    order: .values { 2 * $0 + index })
            }
        case "down_proj_bias": try add(tensor, as: name + "down_exps.bias")
        case "gate_up_proj":
            guard shape.count == 3, shape[2] % 2 == 0 else { throw wrong(tensor, "three dimensions, the last even") }
            let (columns, rows) = (shape[1], shape[2] / 2)
            for (index, kind) in ["gate", "up"].enumerated() {
                try add(
                    tensor, as: name + "\(kind)_exps.weight", shape: [columns, rows, shape[0]],
                    order: .values { place in
                        let (matrix, rest) = (place / (columns * rows), place % (columns * rows))
                        let (row, column) = (rest / columns, rest % columns)
                        return (matrix * columns + column) * 2 * rows + 2 * row + index
                    })
            }
        case "down_proj":
            guard shape.count == 3 else { throw wrong(tensor, "three dimensions") }
            let (columns, rows) = (shape[1], shape[2])
            try add(
                tensor, as: name + "down_exps.weight", shape: [columns, rows, shape[0]],
                order: .values { place in
                    let (matrix, rest) = (place / (columns * rows), place % (columns * rows))
                    return (matrix * columns + rest % columns) * rows + rest / columns
                })
        case "gate_up_proj_blocks":
            let scales = try scales(of: tensor)
            guard shape[1] % 2 == 0 else { throw wrong(tensor, "an even number of rows") }
            try add(blocks: tensor, scales, as: name + "gate_exps.weight", rows: shape[1] / 2) { 2 * $0 }
            try add(blocks: tensor, scales, as: name + "up_exps.weight", rows: shape[1] / 2) { 2 * $0 + 1 }
        case "down_proj_blocks":
            try add(blocks: tensor, try scales(of: tensor), as: name + "down_exps.weight", rows: shape[1]) { $0 }
        case "gate_up_proj_scales", "down_proj_scales": break  // added with their blocks
        default: return false
        }
        return true
    }

    /// The scales of MXFP4 blocks: one byte for each 16 bytes of blocks.
    private func scales(of blocks: SafetensorsTensor) throws(ModelFileError) -> SafetensorsTensor {
        let name = blocks.name.replacing("_blocks", with: "_scales")
        guard let scales = folder.tensors[name] else {
            throw ModelFileError(.missingTensor, "Tensor '\(name)' is missing.", path: folder.path)
        }
        guard blocks.shape.count == 4, blocks.shape[3] == 16, blocks.type == .U8 else {
            throw wrong(blocks, "four dimensions of U8, the last 16")
        }
        guard scales.type == .U8, scales.shape == Array(blocks.shape.dropLast()) else {
            throw wrong(scales, "the shape \(Array(blocks.shape.dropLast())) and the dtype U8")
        }
        return scales
    }

    /// Adds rows of MXFP4 matrices. A byte holds adjacent values in folders, values from both halves of a block in
    /// GGUF.
    private mutating func add(
        blocks: SafetensorsTensor, _ scales: SafetensorsTensor, as name: String, rows: Int,
        _ row: @escaping @Sendable (Int) -> Int
    ) throws(ModelFileError) {
        let (experts, height, perRow) = (blocks.shape[0], blocks.shape[1], blocks.shape[2])
        try add(
            TensorRecipe(
                name: name, type: .MXFP4, shape: [32 * perRow, rows, experts], sources: [blocks, scales],
                write: { sources, target in
                    let codes = sources[0].file.bytes.baseAddress! + sources[0].range.lowerBound
                    let scales = sources[1].file.bytes.baseAddress! + sources[1].range.lowerBound
                    var out = target.baseAddress!.assumingMemoryBound(to: UInt8.self)
                    for index in 0..<experts * rows {
                        let first = (index / rows * height + row(index % rows)) * perRow
                        for block in first..<first + perRow {
                            out[0] = scales.load(fromByteOffset: block, as: UInt8.self)
                            for place in 0..<16 {
                                /// The 4-bit code of a value of the block.
                                func code(_ value: Int) -> UInt8 {
                                    let byte = codes.load(fromByteOffset: 16 * block + value / 2, as: UInt8.self)
                                    return value % 2 == 0 ? byte & 15 : byte >> 4
                                }
                                out[1 + place] = code(place) | code(place + 16) << 4
                            }
                            out += 17
                        }
                    }
                }))
    }
}
