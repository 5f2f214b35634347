import JSON

/// BERT, RoBERTa and Nomic Embed: encoders for embeddings, and rerankers.
extension CheckpointFamily {
    static let encoders: [String: Make] = [
        "BertModel": { _ throws(ModelFileError) in bert }, "BertForMaskedLM": { _ throws(ModelFileError) in bert },
        "BertForSequenceClassification": { _ throws(ModelFileError) in bertClassifier },
        "RobertaModel": { _ throws(ModelFileError) in roberta },
        "RobertaForSequenceClassification": { _ throws(ModelFileError) in roberta },
        "XLMRobertaModel": { _ throws(ModelFileError) in roberta },
        "XLMRobertaForSequenceClassification": { _ throws(ModelFileError) in roberta },
        "NomicBertModel": { _ throws(ModelFileError) in nomic },
    ]

    private static let bert = CheckpointFamily(
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

    /// BERT with a classifier of pairs of texts, behind the pooler. (llama.cpp's converter drops the pooler.)
    private static let bertClassifier: CheckpointFamily = {
        var family = bert
        family.others["pooler.dense"] = "cls"
        family.others["classifier"] = "cls.output"
        family.write = { conversion throws(ModelFileError) in
            try bert.write(&conversion)
            conversion.set("classifier.second_token_type", .bool(true))
            conversion.writeLabels()
        }
        family.place = { _, _ throws(ModelFileError) in false }
        return family
    }()

    /// BERT, whose table of positions has rows for padding in front. Rerankers have a classifier.
    private static let roberta: CheckpointFamily = {
        var family = bert
        family.others["classifier.dense"] = "cls"
        family.others["classifier.out_proj"] = "cls.output"
        family.defaults["max_position_embeddings"] = 514
        family.vocabulary.gpt2Name = "roberta-bpe"
        family.write = { conversion throws(ModelFileError) in
            try bert.write(&conversion)
            let positions = try conversion.config.positive("max_position_embeddings")
            let padding = try conversion.positionPadding
            guard padding < positions else {
                throw conversion.config.wrong("pad_token_id", "below \(positions - 1), the last position")
            }
            conversion.set("context_length", .uint32(positions - padding))
            if conversion.folder.tensors["classifier.out_proj.weight"] != nil { conversion.writeLabels() }
        }
        family.place = { conversion, part throws(ModelFileError) in
            guard part.layer == nil, part.module == "embeddings.position_embeddings" else {
                return try bert.place(&conversion, part)
            }
            let (shape, padding) = (part.tensor.shape, try conversion.positionPadding)
            guard shape.count == 2, shape[0] > padding else {
                throw conversion.wrong(part.tensor, "two dimensions and more than \(padding) rows")
            }
            try conversion.add(
                part.tensor, as: "position_embd.weight", shape: [shape[1], shape[0] - padding],
                order: .rows(length: shape[1]) { (0, $0 + padding) })
            return true
        }
        return family
    }()

    private static let nomic = CheckpointFamily(
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

extension CheckpointConversion {
    /// Rows of RoBERTa's table of positions before the first position's.
    fileprivate var positionPadding: Int {
        get throws(ModelFileError) {
            guard let padding = try config.intIfPresent("pad_token_id") else { return 0 }
            guard (0..<1 << 24).contains(padding) else { throw config.wrong("pad_token_id", "from 0 to 2^24") }
            return padding + 1
        }
    }

    /// Writes the names of a classifier's outputs.
    mutating func writeLabels() {
        let labels = config["id2label"]?.object?.members.compactMap { $1.string } ?? []
        // The configuration class adds two labels to models without any.
        if !labels.isEmpty, labels != ["LABEL_0", "LABEL_1"] {
            set("classifier.output_labels", .strings(labels))
        }
    }

    fileprivate mutating func writeEncoder() throws(ModelFileError) {
        set("attention.causal", .bool(false))
        draft["tokenizer.ggml.token_type_count"] = .uint32(try config.intIfPresent("type_vocab_size") ?? 1)
        try writePooling()
    }

    /// Writes the pooling that `sentence-transformers` declares.
    mutating func writePooling() throws(ModelFileError) {
        guard let bytes = try folder.contents("modules.json"),
            let modules = try? JSON(parsing: bytes, .modelFiles).array,
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
