import JSON

/// Keys of `config.json` and `tokenizer_config.json` that are not read elsewhere. `Tests/Reference/folder_keys.py` lists
/// what becomes of all keys of transformers' classes.
extension CheckpointConversion {
    /// Refuses values of `config.json` for which the network is not made.
    func refuseUnservedConfig() throws(ModelFileError) {
        for key in ["hidden_act", "hidden_activation", "activation_function"] {
            guard let function = config.string(key) else { continue }
            guard activations.contains(function) else {
                throw config.wrong(key, activations.map { "'\($0)'" }.joined(separator: " or "))
            }
        }
        for key in ["is_decoder", "add_cross_attention", "is_encoder_decoder"]
        where try config.bool(key) {
            throw config.wrong(key, "false")
        }
        if let step = try config.intIfPresent("decoder_sparse_step"), step != 1 {
            throw config.wrong("decoder_sparse_step", "1")
        }
        if let layers = config["mlp_only_layers"]?.array, !layers.isEmpty {
            throw config.wrong("mlp_only_layers", "empty")
        }
        for (key, usual) in [("swiglu_alpha", 1.702), ("swiglu_limit", 7.0)] {
            if let value = try config.doubleIfPresent(key), value != usual {
                throw config.wrong(key, "\(usual)")
            }
        }
    }

    /// The activation functions that a family's configuration may name.
    private var activations: [String] {
        let architecture = family.architecture
        if architecture.hasPrefix("gemma") { return ["gelu_pytorch_tanh", "gelu_new", "gelu"] }
        if architecture == "bert" { return ["gelu", "gelu_new", "gelu_python"] }
        if architecture.contains("bert") { return ["swiglu", "gelu", "silu"] }
        return ["silu", "swish"]
    }

    /// Refuses settings of the tokenizer that contradict `tokenizer.json`. transformers obeys the settings.
    func refuseContradictions(_ settings: JSON?, _ tokenizer: JSON)
        throws(ModelFileError)
    {
        let path = folder.path + "/tokenizer_config.json"
        func refuse(_ key: String, _ why: String) -> ModelFileError {
            ModelFileError(
                .unsupported, "'\(key)' is \(config.summary(settings?[key] ?? .null)), \(why).", path: path)
        }
        if settings?["split_special_tokens"]?.bool == true {
            throw refuse("split_special_tokens", "which is not supported")
        }
        let normalizer = tokenizer["normalizer"]
        let steps = [normalizer].compactMap { $0 } + (normalizer?["normalizers"]?.array ?? [])
        if let bert = steps.first(where: { $0["type"]?.string == "BertNormalizer" }) {
            for (key, name) in [
                ("do_lower_case", "lowercase"), ("strip_accents", "strip_accents"),
                ("tokenize_chinese_chars", "handle_chinese_chars"),
            ] {
                guard let value = settings?[key]?.bool, let other = bert[name]?.bool, value != other else {
                    continue
                }
                throw refuse(key, "but '\(name)' in tokenizer.json is \(other)")
            }
        }
        let cutter = tokenizer["pre_tokenizer"]
        let cuts = [cutter].compactMap { $0 } + (cutter?["pretokenizers"]?.array ?? [])
        if let value = settings?["add_prefix_space"]?.bool,
            let other = cuts.first(where: { $0["type"]?.string == "ByteLevel" })?["add_prefix_space"]?
                .bool,
            value != other
        {
            throw refuse("add_prefix_space", "but in tokenizer.json it is \(other)")
        }
    }

    /// Writes the chat templates. As in transformers, files come before the tokenizer's settings, which hold a text or a
    /// list by name.
    mutating func writeTemplates(_ settings: JSON?) throws(ModelFileError) {
        var templates: [String: String] = [:]
        templates["default"] = try folder.json("chat_template.json")?["chat_template"]?.string
        if let text = settings?["chat_template"]?.string { templates["default"] = text }
        for entry in settings?["chat_template"]?.array ?? [] {
            guard let name = entry["name"]?.string, let text = entry["template"]?.string else {
                throw ModelFileError(
                    .malformed, "An entry of 'chat_template' has no 'name' or no 'template'.",
                    path: folder.path + "/tokenizer_config.json")
            }
            templates[name] = text
        }
        for (name, file) in folder.templateFiles() {
            if let bytes = try folder.contents(file) {
                templates[name] = String(decoding: bytes, as: UTF8.self)
            }
        }
        for (name, text) in templates.sorted(by: { $0.key < $1.key }) {
            draft["tokenizer.chat_template" + (name == "default" ? "" : ".\(name)")] = .string(text)
        }
    }
}
