import GGUF

/// Qwen: biases of queries, keys and values in versions 1 and 2; norms of each head's query and key in version 3.
extension Family {
    /// Rerankers of these architectures score "yes" and "no"; the scores become probabilities.
    static let rerankersOfTwoScores: Set<String> = ["qwen3", "qwen3vl"]

    static let qwens: [String: Family] = [
        "qwen": Family(feedForward: { layer throws(ModelFileError) in
            // `feed_forward_length` counts gate and up together.
            try layer.mlp(hiddenWidth: max(1, layer.model.feedForwardWidths[layer.index] / 2))
        }),
        "qwen2": Family(),
        "qwen2vl": Family(unused: ["output.bias"], sections: .consecutive),
        "qwen2moe": Family(experts: .init(normalizesWeights: .declared, sharesFeedForwardWidth: true)),
        "qwen3": Family(mlpScales: true),
        "qwen3moe": Family(mlpScales: true, expertScales: true, experts: .init(sharesFeedForwardWidth: true)),
        "qwen3vl": Family(sections: .interleaved),
        "qwen3vlmoe": Family(sections: .interleaved, experts: .init(sharesFeedForwardWidth: true)),
    ]
}
