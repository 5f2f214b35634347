package import JSON

/// How folders of a family are converted to GGUF, with llama.cpp's names.
package struct CheckpointFamily: Sendable {
    typealias Write = @Sendable (inout CheckpointConversion) throws(ModelFileError) -> Void
    package typealias PlaceTensor =
        @Sendable (inout CheckpointConversion, CheckpointTensor) throws(ModelFileError) -> Bool

    /// Value of `general.architecture`.
    var architecture: String
    /// Defaults for numbers that configurations may omit.
    var defaults: [String: Double] = [:]
    /// GGUF names by the folder's module names: in layers, and below outside of layers.
    var layer: [String: String] = CheckpointFamily.llamaLayer
    var others: [String: String] = ["embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"]
    /// Added to norm weights, for families that multiply by 1 + weight.
    var normShift: Float = 0
    /// Whether heads of queries and keys are rotated by halves in the folder and by adjacent pairs in GGUF.
    var permutesHeads = false
    /// Writes additional keys, and tensors that are computed.
    var write: Write = { _ throws(ModelFileError) in }
    /// Places a tensor that its name alone does not place; returns whether it did.
    var place: PlaceTensor = { _, _ throws(ModelFileError) in false }
    /// Properties of the vocabulary that its files do not declare.
    var vocabulary = CheckpointVocabulary()

    /// The family of a folder, by its model class.
    static func of(_ folder: SafetensorsFolder) throws(ModelFileError) -> CheckpointFamily {
        try make(folder.config, path: folder.path + "/config.json")(folder)
    }

    /// Reads a folder whose `config.json` is this one.
    package static func make(_ config: JSON, path: String) throws(ModelFileError) -> Make {
        guard let names = config["architectures"]?.array?.compactMap(\.string), let name = names.first else {
            throw ModelFileError(
                .missingMetadata, "'architectures' is missing. It must name the model's class.", path: path)
        }
        if let make = all[name] { return make }
        throw ModelFileError(
            .unsupported,
            "Folders of the class '\(name)' are not supported. Supported: \(all.keys.sorted().joined(separator: ", ")). "
                + "A GGUF file of the model may run: 'bench architectures' lists the supported architectures.",
            path: path)
    }

    /// Whether folders of this model class are supported.
    static func isKnown(_ name: String) -> Bool { all[name] != nil }

    package typealias Make = @Sendable (SafetensorsFolder) throws(ModelFileError) -> CheckpointFamily

    private static let all: [String: Make] = [llamas, qwens, gemmas, others, encoders].reduce(into: [:]) {
        $0.merge($1) { first, _ in first }
    }

    /// By `general.architecture`: families whose tensors are placed by name.
    static let byArchitecture: [String: CheckpointFamily] = Dictionary(
        [
            llama, mistral3, smolLM3, granite, qwen2, qwen3, qwen3MoE, qwen35("qwen35"), qwen35("qwen35moe"), gemma3,
            gemma4,
            phi3, gptOSS, glm4, glm4MoE,
        ].map { ($0.architecture, $0) }
    ) { first, _ in first }

    /// Llama's layer, which most families share.
    static let llamaLayer = [
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
        "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate": "ffn_gate_inp",
        "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
        "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp",
        "mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps",
        "mlp.experts.down_proj": "ffn_down_exps",
    ]

    static func layer(_ changes: [String: String]) -> [String: String] { llamaLayer.merging(changes) { $1 } }
}

/// A tensor of a folder, with its name parsed.
package struct CheckpointTensor {
    let tensor: SafetensorsTensor
    /// `nil`: outside of layers.
    var layer: Int?
    /// Such as `self_attn.q_proj`; without the expert's number.
    var module: String
    /// `weight`, `bias`, or empty if the name has neither suffix.
    var suffix: String
    /// Number of the expert, if it is an expert's tensor.
    var expert: Int?

    /// - Returns: `nil` for tensors outside the text model: image and audio encoders, multi-token prediction, and
    ///   constants that can be computed.
    init?(_ tensor: SafetensorsTensor, named otherName: String? = nil) {
        var name = otherName ?? tensor.name
        let beside = [
            "visual.", "vision.", "audio.", "vision_", "audio_", "multi_modal_projector.", "mm_projector.",
            "rotary_emb.inv_freq",
            "masked_bias", "attention.bias", "position_ids", "embed_vision.", "embed_audio.",
        ]
        guard !beside.contains(where: { name.contains($0) }), !name.hasPrefix("mtp."), !name.hasPrefix("model.mtp.")
        else {
            return nil
        }
        for part in ["language_model.", "text_model."] { name = name.replacing(part, with: "") }
        var parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        while ["model", "bert", "roberta", "encoder", "transformer"].contains(parts[0]), parts.count > 1 {
            parts.removeFirst()
        }
        suffix = ""
        if let last = parts.last, ["weight", "bias", "gamma", "beta"].contains(last), parts.count > 1 {
            suffix = ["gamma": "weight", "beta": "bias"][last] ?? last
            parts.removeLast()
        }
        if parts.count > 2, ["layers", "layer"].contains(parts[0]), let index = Int(parts[1]) {
            layer = index
            parts.removeFirst(2)
        }
        if let place = parts.firstIndex(of: "experts"), place + 1 < parts.count, let index = Int(parts[place + 1]) {
            expert = index
            parts.remove(at: place + 1)
        }
        self.tensor = tensor
        module = parts.joined(separator: ".")
    }
}
