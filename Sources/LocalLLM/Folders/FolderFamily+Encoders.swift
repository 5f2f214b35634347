import Constraint

/// BERT and Nomic Embed: encoders for embeddings.
extension FolderFamily {
    static let encoders: [String: Make] = [
        "BertModel": { _ throws(ModelFileError) in bert }, "BertForMaskedLM": { _ throws(ModelFileError) in bert },
        "NomicBertModel": { _ throws(ModelFileError) in nomic },
    ]

    private static let bert = FolderFamily(
        architecture: "bert",
        defaults: ["layer_norm_eps": 1e-12, "max_position_embeddings": 512],
        layer: [
            "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
            "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
            "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
        ],
        others: [
            "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
            "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
        ],
        write: { conversion throws(ModelFileError) in
            if let kind = conversion.config.string("position_embedding_type"), kind != "absolute" {
                throw conversion.config.wrong("position_embedding_type", "'absolute'")
            }
            try conversion.writeEncoder()
        },
        place: { _, part throws(ModelFileError) in
            // Training heads and BERT's pooler, which embeddings do not use.
            part.layer == nil && ["pooler.", "cls."].contains { part.module.hasPrefix($0) }
        })

    private static let nomic = FolderFamily(
        architecture: "nomic-bert",
        defaults: [
            "layer_norm_eps": 1e-12, "max_position_embeddings": 2048, "rope_theta": 1000, "type_vocab_size": 2,
        ],
        layer: [
            "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm",
            "norm2": "layer_output_norm", "mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down",
        ],
        others: [
            "embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types",
            "emb_ln": "token_embd_norm",
        ],
        write: { conversion throws(ModelFileError) in
            let config = conversion.config
            if let every = try config.intIfPresent("moe_every_n_layers"), every > 0 {
                throw config.wrong("moe_every_n_layers", "0: of Nomic's encoders those with experts are not read")
            }
            // Published configurations declare more positions than the model was trained for.
            if try config.intIfPresent("n_positions") == 8192 { conversion.set("context_length", .uint32(2048)) }
            try conversion.writeEncoder()
        },
        place: { _, part throws(ModelFileError) in
            part.layer == nil && ["pooler.", "cls."].contains { part.module.hasPrefix($0) }
        })
}

extension FolderConversion {
    fileprivate mutating func writeEncoder() throws(ModelFileError) {
        set("attention.causal", .bool(false))
        draft["tokenizer.ggml.token_type_count"] = .uint32(try config.intIfPresent("type_vocab_size") ?? 1)
        try writePooling()
    }

    /// Writes the pooling that `sentence-transformers` declares.
    mutating func writePooling() throws(ModelFileError) {
        guard let bytes = try folder.contents("modules.json"), let modules = try? JSONDocument(bytes).array,
            let module = modules.first(where: { $0["type"]?.string?.hasSuffix("Pooling") == true }),
            let name = module["path"]?.string, !name.isEmpty, !name.contains("/"), name != ".."
        else { return }
        guard let pooling = try folder.json(name + "/config.json") else { return }
        func isSet(_ key: String, _ mode: String) -> Bool {
            pooling[key]?.bool == true || pooling["pooling_mode"]?.string == mode
        }
        if isSet("pooling_mode_mean_tokens", "mean") {
            set("pooling_type", .uint32(1))
        } else if isSet("pooling_mode_cls_token", "cls") {
            set("pooling_type", .uint32(2))
        } else if isSet("pooling_mode_lasttoken", "lasttoken") {
            set("pooling_type", .uint32(3))
        } else {
            throw ModelFileError(
                .unsupported, "Unsupported pooling; supported are the mean, the first token and the last token.",
                path: folder.path + "/" + name + "/config.json")
        }
    }
}
