import JSON

/// Unsupported fields of llama.cpp's server and vLLM that would change the answer. They are refused instead of ignored.
struct UnservedFields: Decodable, Sendable {
    /// Fields by name, with the values that have no effect besides null, false and empty ones.
    private static let fields: [(name: String, idle: [JSON])] = [
        // vLLM
        ("allowed_token_ids", []), ("bad_words", []), ("use_beam_search", []), ("length_penalty", [.number(1)]),
        ("early_stopping", []), ("truncate_prompt_tokens", []), ("prompt_logprobs", []), ("logits_processors", []),
        ("include_stop_str_in_output", []), ("skip_special_tokens", [.bool(true)]),
        ("spaces_between_special_tokens", [.bool(true)]), ("add_special_tokens", [.bool(true)]),
        ("return_tokens_as_token_ids", []), ("return_token_ids", []), ("guided_whitespace_pattern", []),
        ("documents", []), ("prompt_embeds", []),
        ("vllm_xargs", []), ("kv_transfer_params", []),
        // llama.cpp
        ("min_keep", [.number(0), .number(1)]), ("adaptive_target", [.number(-1)]),
        ("n_indent", [.number(0)]), ("grammar_lazy", []), ("grammar_triggers", []),
        ("t_max_predict_ms", [.number(0), .number(-1)]), ("post_sampling_probs", []),
        ("image_data", []), ("n_cache_reuse", [.number(0)]),
        ("samplers", [.array(defaultOrder), .string("edskypmxt")]),
    ]

    /// The order of this server's samplers, under llama.cpp's names.
    private static let defaultOrder: [JSON] = [
        "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature",
    ].map { .string($0) }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The unsupported fields with an effect.
    private let found: [String]

    init() { found = [] }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        found = try Self.fields.filter { field in
            let key = Name(stringValue: field.name)
            guard container.contains(key) else { return false }
            let value = try container.decode(JSON.self, forKey: key)
            // For fields whose default is true, false has an effect.
            let isIdle = value == .bool(false) && !field.idle.contains(.bool(true))
            return !isIdle && !value.isEmpty
                && !field.idle.contains { $0 == value || $0.double.map { $0 == value.double } == true }
        }.map(\.name)
    }

    /// - Parameter served: Fields that this route serves.
    func check(besides served: Set<String>) throws(APIError) {
        if let name = found.first(where: { !served.contains($0) }) { throw .unsupported(name) }
    }
}
