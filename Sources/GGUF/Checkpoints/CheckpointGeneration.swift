import JSON

/// `generation_config.json`: how the model's authors sample from it.
///
/// Its options become the keys `general.sampling.*` that llama.cpp's converter writes, which are the model's defaults.
struct CheckpointGeneration {
    private let options: CheckpointConfig

    /// Reads the options from `config.json`, where older libraries wrote them, if there is no such file.
    init(_ folder: SafetensorsFolder) throws(ModelFileError) {
        let json = try folder.json("generation_config.json")
        options = CheckpointConfig(
            path: folder.path + (json == nil ? "/config.json" : "/generation_config.json"), json ?? folder.config)
        try refuseUnserved()
    }

    var endTokens: [Int] { get throws(ModelFileError) { try options.tokens("eos_token_id") } }

    func write(to draft: inout GGUFDraft) throws(ModelFileError) {
        for option in Self.sampling {
            guard var value = try options.doubleIfPresent(option.name) else { continue }
            // vLLM's files write -1 for "all tokens", which is 0 in others.
            if option.name == "top_k" { value = max(value, 0).rounded(.down) }
            guard option.range.contains(value) else { throw options.wrong(option.name, "in \(option.range)") }
            draft["general.sampling.\(option.key)"] =
                option.name == "top_k" ? .int32(Int(value)) : .float32(value)
        }
        if options["do_sample"] != nil, try !options.bool("do_sample") { draft["general.sampling.temp"] = .float32(0) }
        if let tokens = try options.ints("suppress_tokens"), !tokens.isEmpty {
            draft["tokenizer.ggml.suppress_tokens"] = .int32s(tokens)
        }
    }

    /// The options that are served, with their key after `general.sampling.`.
    private static let sampling: [(name: String, key: String, range: ClosedRange<Double>)] = [
        ("temperature", "temp", 0...100), ("top_k", "top_k", 0...1e9), ("top_p", "top_p", 0...1),
        ("min_p", "min_p", 0...1), ("typical_p", "typical_p", 0...1),
        ("repetition_penalty", "penalty_repeat", 0.01...100),
    ]

    /// Options that would change the answer and are not served, with the value that is their default. `null` and empty
    /// lists are defaults as well.
    private static let unserved: [String: Double?] = [
        "num_beams": 1, "num_beam_groups": 1, "diversity_penalty": 0, "penalty_alpha": 0, "dola_layers": nil,
        "guidance_scale": 1, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
        "encoder_repetition_penalty": 1, "bad_words_ids": nil, "force_words_ids": nil, "constraints": nil,
        "forced_bos_token_id": nil, "forced_eos_token_id": nil, "forced_decoder_ids": nil,
        "begin_suppress_tokens": nil, "exponential_decay_length_penalty": nil, "sequence_bias": nil,
        "watermarking_config": nil, "epsilon_cutoff": 0, "eta_cutoff": 0, "top_h": nil, "stop_strings": nil,
        "min_length": 0, "min_new_tokens": 0, "token_healing": nil,
    ]

    private func refuseUnserved() throws(ModelFileError) {
        for (name, usual) in Self.unserved.sorted(by: { $0.key < $1.key }) {
            guard let value = options[name], value.bool != false, value.array?.isEmpty != true else { continue }
            if let number = value.double, number == usual { continue }
            throw ModelFileError(
                .unsupported,
                "'\(name)' is \(options.summary(value)), an option of generation that is not supported. "
                    + "Remove it from the file to use the model without it.", path: options.path)
        }
    }
}
