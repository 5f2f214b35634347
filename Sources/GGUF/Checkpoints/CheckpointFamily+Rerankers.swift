import JSON
import Foundation

/// Qwen 3 as a reranker: the last token's state is scored.
extension CheckpointFamily {
    /// Qwen3-Reranker, whose score is its answer to a question: the probability of "yes" rather than "no".
    static let qwen3Reranker: CheckpointFamily = {
        var family = qwen3
        family.write = { conversion throws(ModelFileError) in
            try qwen3.write(&conversion)
            conversion.writeReranker()
            conversion.set("classifier.output_labels", .strings(["yes", "no"]))
        }
        // The rows of these tokens of the output matrix are the classifier.
        family.place = { conversion, part throws(ModelFileError) in
            let isTied = try conversion.config.bool("tie_word_embeddings")
            guard part.layer == nil, part.module == (isTied ? "embed_tokens" : "lm_head") else { return false }
            let (tensor, answers) = (part.tensor, try conversion.answers())
            guard tensor.shape.count == 2, tensor.shape[0] > answers.max() ?? 0 else {
                throw conversion.wrong(tensor, "two dimensions, and a row for each token of 'tokenizer.json'")
            }
            try conversion.add(
                tensor, as: "cls.output.weight", shape: [tensor.shape[1], 2],
                order: .rows(length: tensor.shape[1]) { (0, answers[$0]) })
            return !isTied
        }
        return family
    }()

    /// A reranker with a classifier of one output.
    static let qwen3Classifier: CheckpointFamily = {
        var family = qwen3
        family.others["score"] = "cls.output"
        family.write = { conversion throws(ModelFileError) in
            try qwen3.write(&conversion)
            conversion.writeReranker()
            if let shape = conversion.folder.tensors["score.weight"]?.shape, shape.first != 1 {
                throw ModelFileError(
                    .unsupported,
                    "Tensor 'score.weight' has the shape \(shape): only classifiers with one output, rerankers, are supported.",
                    path: conversion.folder.path)
            }
        }
        return family
    }()

    /// Whether a folder is a Qwen3-Reranker: nothing but the name, in its path, its configuration or its model card,
    /// tells it from a Qwen 3 that generates text.
    static func isReranker(_ folder: SafetensorsFolder) throws(ModelFileError) -> Bool {
        let names = [(folder.path as NSString).lastPathComponent, folder.config["_name_or_path"]?.string ?? ""]
        if names.contains(where: { $0.lowercased().contains("qwen3-reranker") }) { return true }
        guard let card = try folder.contents("README.md") else { return false }
        return String(decoding: card, as: UTF8.self).lowercased().contains("# qwen3-reranker")
    }

    /// The prompt of llama.cpp's converter, which is the model card's.
    static let rerankTemplate = """
        <|im_start|>system
        Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the \
        answer can only be "yes" or "no".<|im_end|>
        <|im_start|>user
        <Instruct>: Given a web search query, retrieve relevant passages that answer the query
        <Query>: {query}
        <Document>: {document}<|im_end|>
        <|im_start|>assistant
        <think>

        </think>


        """
}

extension CheckpointConversion {
    /// Writes the pooling, and the template unless the folder has one of that name.
    fileprivate mutating func writeReranker() {
        set("pooling_type", .uint32(4))
        draft["tokenizer.chat_template.rerank"] = .string(CheckpointFamily.rerankTemplate)
    }

    /// IDs of the tokens "yes" and "no".
    fileprivate func answers() throws(ModelFileError) -> [Int] {
        let path = folder.path + "/tokenizer.json"
        guard let json = try folder.json("tokenizer.json") else {
            throw ModelFileError(
                .unreadable, "A reranker needs 'tokenizer.json', for its tokens 'yes' and 'no'.", path: folder.path)
        }
        let tokens = try CheckpointTokenizer(json, nil, path: path).tokens
        var ids: [Int] = []
        for answer in ["yes", "no"] {
            guard let id = tokens.firstIndex(of: Array(answer.utf8)) else {
                throw ModelFileError(.unsupported, "A reranker needs the token '\(answer)'.", path: path)
            }
            ids.append(id)
        }
        return ids
    }
}
