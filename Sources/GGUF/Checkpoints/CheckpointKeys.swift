import JSON
import Foundation

extension CheckpointConversion {
    mutating func writeGeneral() {
        draft["general.architecture"] = .string(family.architecture)
        draft["general.type"] = .string("model")
        let name = folder.path.split(separator: "/").last.map(String.init) ?? "model"
        draft["general.name"] = .string(name.replacing("-", with: " ").replacing("_", with: " "))
        draft["general.quantization_version"] = .uint32(2)
    }

    /// Writes the keys that most architectures share, if the configuration has their values.
    mutating func writeCommon() throws(ModelFileError) {
        set("block_count", .uint32(try layers))
        func uint(_ key: String, _ value: Int?) throws(ModelFileError) {
            guard let value else { return }
            guard (0...Int(UInt32.max)).contains(value) else { throw config.wrong(key, "a number below 2^32") }
            set(key, .uint32(value))
        }
        try uint("context_length", config.intIfPresent("max_position_embeddings", "n_ctx", "n_positions"))
        try uint("embedding_length", try width)
        try uint("feed_forward_length", config.intIfPresent("intermediate_size", "n_inner"))
        try uint("attention.head_count", try heads)
        try uint("attention.head_count_kv", config.intIfPresent("num_key_value_heads"))
        if let epsilon = try config.doubleIfPresent("rms_norm_eps", "norm_eps") {
            set("attention.layer_norm_rms_epsilon", .float32(epsilon))
        }
        if let epsilon = try config.doubleIfPresent("layer_norm_eps", "layer_norm_epsilon") {
            set("attention.layer_norm_epsilon", .float32(epsilon))
        }
        try uint("expert_count", config.intIfPresent("num_local_experts", "num_experts", "n_routed_experts"))
        try uint("expert_used_count", config.intIfPresent("num_experts_per_tok", "top_k_experts"))
        try uint("expert_group_count", config.intIfPresent("n_group"))
        try uint("expert_group_used_count", config.intIfPresent("topk_group"))
        try uint("attention.key_length", config.intIfPresent("head_dim"))
        try uint("attention.value_length", config.intIfPresent("head_dim"))
        try writeRotary()
    }

    private mutating func writeRotary() throws(ModelFileError) {
        if let base = try rotary.base() { set("rope.freq_base", .float32(base)) }
        if let base = try rotary.windowedBase() { set("rope.freq_base_swa", .float32(base)) }
        if var sections = try rotary.full.ints("mrope_section") {
            sections += Array(repeating: 0, count: max(0, 4 - sections.count))
            set("rope.dimension_sections", .int32s(Array(sections.prefix(4))))
        }
        let parameters = rotary.full
        let factor = try parameters.doubleIfPresent("factor")
        switch rotary.type {
        case "linear":
            guard let factor else { break }
            set("rope.scaling.type", .string("linear"))
            set("rope.scaling.factor", .float32(factor))
        case "yarn":
            guard let factor else { break }
            set("rope.scaling.type", .string("yarn"))
            set("rope.scaling.factor", .float32(factor))
            set("rope.scaling.original_context_length", .uint32(try rotary.originalContext()))
            for (key, name) in [
                ("yarn_ext_factor", "extrapolation_factor"), ("yarn_attn_factor", "attention_factor"),
                ("yarn_beta_fast", "beta_fast"), ("yarn_beta_slow", "beta_slow"),
            ] {
                if let value = try parameters.doubleIfPresent(name) { set("rope.scaling.\(key)", .float32(value)) }
            }
            // A key of this package: llama.cpp always rounds the ramp's ends, gpt-oss does not.
            if parameters["truncate"] != nil, try !parameters.bool("truncate") {
                set("rope.scaling.yarn_truncate", .bool(false))
            }
        case "su", "longrope": set("rope.scaling.type", .string("longrope"))
        case "llama3": try add(llama3Factors(factor: factor ?? 8), as: "rope_freqs.weight")
        case nil, "default", "proportional", "mrope": break
        case let type?:
            throw ModelFileError(.unsupported, "The rotary scaling '\(type)' is not supported.", path: config.path)
        }
    }

    /// Divisors of the frequencies in Llama 3.1's scaling: 1 for high frequencies, `factor` for low ones, interpolated
    /// between.
    private func llama3Factors(factor: Double) throws(ModelFileError) -> [Float] {
        let parameters = rotary.full
        let base = try rotary.base() ?? 10_000
        let width = try headWidth
        let original = Double(try parameters.intIfPresent("original_max_position_embeddings") ?? 8192)
        let low = try parameters.doubleIfPresent("low_freq_factor") ?? 1
        let high = try parameters.doubleIfPresent("high_freq_factor") ?? 4
        return stride(from: 0, to: width, by: 2).map { index in
            let wave = 2 * Double.pi * pow(base, Double(index) / Double(width))
            if wave < original / high { return 1 }
            if wave > original / low { return Float(factor) }
            let smooth = (original / wave - low) / (high - low)
            return Float(1 / ((1 - smooth) / factor + smooth))
        }
    }

    /// Writes `rope.dimension_count`: the number of rotated values per head.
    mutating func writeRotaryWidth(part: Double = 1) throws(ModelFileError) {
        let part = try rotary.part() ?? part
        guard (0...1).contains(part) else { throw config.wrong("partial_rotary_factor", "from 0 to 1") }
        set("rope.dimension_count", .uint32(Int(Double(try headWidth) * part)))
    }
}

/// The rotary embedding in the configuration: `rope_parameters`, or `rope_scaling` in older ones, for all layers or per
/// kind of attention.
struct CheckpointRotary {
    let full: CheckpointConfig
    let windowed: CheckpointConfig?
    private let config: CheckpointConfig

    init(_ config: CheckpointConfig) {
        self.config = config
        let all = config.object("rope_parameters") ?? config.object("rope_scaling") ?? config
        full = all.object("full_attention") ?? all
        windowed = all.object("sliding_attention")
    }

    var type: String? { full.string("rope_type") ?? full.string("type") }

    func base() throws(ModelFileError) -> Double? {
        if let base = try full.doubleIfPresent("rope_theta") { return base }
        return try config.doubleIfPresent("rope_theta", "rotary_emb_base")
    }

    func windowedBase() throws(ModelFileError) -> Double? {
        if let base = try windowed?.doubleIfPresent("rope_theta") { return base }
        return try config.doubleIfPresent("rope_local_base_freq")
    }

    /// The rotated share of each head; `nil`: not declared.
    func part() throws(ModelFileError) -> Double? {
        if let part = try full.doubleIfPresent("partial_rotary_factor") { return part }
        return try config.doubleIfPresent("partial_rotary_factor")
    }

    func originalContext() throws(ModelFileError) -> Int {
        if let context = try full.intIfPresent("original_max_position_embeddings") { return context }
        return try config.positive("original_max_position_embeddings", "max_position_embeddings")
    }
}
