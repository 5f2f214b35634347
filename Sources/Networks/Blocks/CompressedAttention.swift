import GGUF
import Compute

/// Attention to a window of tokens and to compressed vectors of all groups of older ones (DeepSeek V4, DeepSeek-AI 2026).
///
/// One vector per token, `[nope | rope]`, is key and value of all heads. Since values are rotated as well, the rotated
/// part of attention's output is rotated back. The output projection has low rank in each group of heads.
///
/// Reference implementation: `modeling_deepseek_v4.py` in transformers.
final class CompressedAttention: Mixer {
    let state: LayerState
    private let headWidth: Int
    /// Width of the rotated part of a head.
    private let rope: Int
    private let shape: AttentionShape
    private let queryDown: Linear
    private let queryNorm: Norm
    private let query: Linear
    private let headNorm: Norm
    private let latent: Linear
    private let latentNorm: Norm
    private let rotary: Int
    private let reversedRotary: Int
    /// One per group of heads.
    private let outputDown: [Linear]
    private let output: Linear
    private let compressor: VectorCompressor?

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (model, hyper, name) = (layer.model, layer.hyper, layer.name)
        let heads = model.headCounts[layer.index]
        (headWidth, rope) = (try layer.headWidths().key, try hyper.count("rope.dimension_count"))
        guard rope <= headWidth, rope % 2 == 0 else {
            throw hyper.invalid("rope.dimension_count", "an even number up to \(headWidth)", found: rope)
        }
        guard heads > 0, model.kvHeadCounts[layer.index] == 1 else {
            throw hyper.invalid(
                "attention.head_count_kv", "1, for at least one head", found: model.kvHeadCounts[layer.index])
        }
        let tokens = try Self.tokensPerVector(layer)
        let positions = try hyper.rotary(
            .adjacent, headWidth: rope, trainedContext: model.trainedContext, context: model.context,
            baseKey: tokens == nil ? "rope.freq_base" : "attention.compress_rope_freq_base",
            windows: tokens == nil ? model.family.windows : nil)
        (rotary, reversedRotary) = (model.index(of: positions), model.index(of: positions.reversed))
        shape = AttentionShape(
            heads: heads, scale: 1 / Float(headWidth).squareRoot(), window: layer.window,
            sinks: try layer.file.vectorIfPresent(name + "attn_sinks.weight", heads), compression: tokens)

        let rank = try hyper.count("attention.q_lora_rank")
        queryDown = try layer.linear("attn_q_a", from: layer.width, to: rank)
        queryNorm = try model.norm(name + "attn_q_a_norm", width: rank)
        query = try layer.linear("attn_q_b", from: rank, to: heads * headWidth)
        headNorm = model.weightlessNorm(headWidth, .rms)
        latent = try layer.linear("attn_kv", from: layer.width, to: headWidth)
        latentNorm = try model.norm(name + "attn_kv_a_norm", width: headWidth)

        let (groups, outputRank) = (
            try hyper.count("attention.output_group_count"), try hyper.count("attention.output_lora_rank")
        )
        guard heads % groups == 0 else {
            throw hyper.invalid("attention.output_group_count", "a divisor of the \(heads) heads", found: groups)
        }
        let (down, groupWidth) = (name + "attn_output_a", heads / groups * headWidth)
        outputDown =
            layer.file.tensorIfPresent(down + ".weight")?.shape.count == 3
            ? try layer.file.experts(down, groups, from: groupWidth, to: [outputRank], scaled: false).map { $0[0] }
            : try layer.file.linears(down, from: groupWidth, to: Array(repeating: outputRank, count: groups))
        output = try layer.linear("attn_output_b", from: groups * outputRank, to: layer.width)

        let window = LayerState.latent(width: headWidth, valueWidth: headWidth, window: layer.window)
        if let tokens {
            let compressor = try VectorCompressor(layer, width: headWidth, tokens: tokens, positions)
            self.compressor = compressor
            state = .both(window, compressor.state)
        } else {
            compressor = nil
            state = window
        }
    }

    /// Tokens per compressed vector of a layer; `nil`: it compresses nothing.
    private static func tokensPerVector(_ layer: LayerBuilder) throws(ModelFileError) -> Int? {
        let key = "attention.compress_ratios"
        let ratios = try layer.file.metadata.ints("\(layer.hyper.architecture).\(key)")
        guard ratios.count > layer.index, [0, 4, 128].contains(ratios[layer.index]) else {
            throw layer.hyper.invalid(key, "an array of 0, 4 or 128, one a layer", found: ratios)
        }
        let tokens = ratios[layer.index]
        guard tokens > 0 else { return nil }
        try layer.refuseSparseAttention(unit: tokens)
        return tokens
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (compute, work, step) = (context.compute, context.work, context.step)
        let exact = step.answerRows
        let low = work[.up, input.rows, queryDown.weights.rows]
        let vectors = work[.latent, input.rows, headWidth]
        compute.multiply {
            $0.add(input, by: queryDown, into: low, exact: exact, sensitive: queryDown.isSensitive)
            $0.add(input, by: latent, into: vectors, exact: exact, sensitive: true)
        }
        compute.normalize(low, queryNorm, into: low)
        let queries = work[.query, input.rows, shape.heads * headWidth]
        compute.multiply(low, by: query, into: queries, exact: exact, sensitive: query.isSensitive)
        compute.normalize(queries, headNorm, into: queries)
        compute.normalize(vectors, latentNorm, into: vectors)
        turn(queries, by: rotary, context)
        turn(vectors, by: rotary, context)

        compressor?.compress(input, context)
        compute.store(vectors, nil, of: step, layer: context.layer)
        let attended = work[.attended, input.rows, queries.columns]
        compute.attention(
            queries, of: step, layer: context.layer, shape, context.precision(query), into: attended)
        turn(attended, by: reversedRotary, context)

        let (groupWidth, rank) = (outputDown[0].weights.columns, outputDown[0].weights.rows)
        let lowOutput = work[.value, input.rows, outputDown.count * rank]
        compute.multiply {
            for (group, layer) in outputDown.enumerated() {
                $0.add(
                    attended[columns: group * groupWidth, count: groupWidth], by: layer,
                    into: lowOutput[columns: group * rank, count: rank], exact: exact, sensitive: layer.isSensitive)
            }
        }
        compute.multiply(lowOutput, by: self.output, into: output, exact: exact, sensitive: self.output.isSensitive)
    }

    /// Rotates the last part of each head.
    private func turn(_ heads: Matrix, by rotary: Int, _ context: LayerContext) {
        let nope = headWidth - rope
        context.compute.rotate(
            heads[columns: nope, count: heads.columns - nope], headWidth: headWidth, by: context.angles[rotary])
    }
}
