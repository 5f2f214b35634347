import KernelFormats

/// The Llama family: Llama, Mistral, Qwen2, Qwen3, their mixtures of experts, and what shares their shape.
///
/// Pre-norm attention with grouped heads and rotary positions, then a SwiGLU MLP (Touvron et al. 2023) or a mixture of them.
/// Qwen2 adds biases to queries, keys and values; Qwen3 normalizes each head's query and key before it turns them, OLMoE
/// all heads' together. What a layer has is what its file holds tensors for. Reference implementations: `modeling_llama.py`,
/// `modeling_mixtral.py`, `modeling_qwen2.py`, `modeling_qwen2_moe.py`, `modeling_qwen3.py`, `modeling_qwen3_moe.py` and
/// `modeling_olmoe.py` in transformers; tensor names are GGUF's.
final class Llama: Network {
    var stateShape: StateShape
    let vocabularySize: Int
    let trainedContext: Int

    private struct Layer {
        let attentionNorm: [Float]
        let query: Linear
        let key: Linear
        let value: Linear
        let queryNorm: [Float]?
        let keyNorm: [Float]?
        let attentionOutput: Linear
        let mlpNorm: [Float]
        let mlp: MLPKind
    }

    private enum MLPKind {
        case dense(MLP)
        case experts(Experts)
    }

    private let width: Int
    private let epsilon: Float
    private let attention: AttentionShape
    private let rotary: Rotary
    private let embedding: WeightMatrix
    private let layers: [Layer]
    private let outputNorm: [Float]
    private let output: Linear
    private let work = Workspace()

    /// - Parameters:
    ///   - mlpScales: Whether the tensors `ffn_*.scale` count; the reference has none for Qwen2 and OLMoE.
    ///   - experts: `nil` if there are no mixtures of this architecture.
    ///   - normsAllHeads: Whether queries and keys are normalized as a whole, not head by head.
    init(
        _ file: GGUFFile, architecture: String, rotaryLayout: Rotary.Layout, mlpScales: Bool = true,
        experts style: Experts.Style? = nil, normsAllHeads: Bool = false
    ) throws(ModelFileError) {
        let hyper = Hyperparameters(file: file, architecture: architecture)
        if style == nil, let experts = try hyper.int("expert_count"), experts > 0 {
            throw ModelFileError(
                .unsupported,
                "This is a mixture of \(experts) experts; of '\(architecture)' only dense models are supported.",
                path: file.path)
        }
        width = try hyper.count("embedding_length")
        trainedContext = try hyper.count("context_length")
        let layerCount = try hyper.count("block_count")
        let heads = try hyper.count("attention.head_count")
        let kvHeads = try hyper.count("attention.head_count_kv", default: heads)
        guard heads % kvHeads == 0 else {
            throw hyper.invalid("attention.head_count_kv", "a divisor of the \(heads) heads", found: kvHeads)
        }
        let keyWidth = try hyper.count("attention.key_length", default: max(1, width / heads))
        let valueWidth = try hyper.count("attention.value_length", default: keyWidth)
        epsilon = Float(try hyper.double("attention.layer_norm_rms_epsilon") ?? 1e-5)
        let window = try hyper.int("attention.sliding_window").flatMap { $0 > 0 ? $0 : nil }
        let state = LayerState.keysAndValues(
            heads: kvHeads, keyWidth: keyWidth, valueWidth: valueWidth, window: window)
        stateShape = StateShape(Array(repeating: state, count: layerCount))
        let scale = Float(try hyper.double("attention.scale") ?? 0)
        attention = AttentionShape(
            heads: heads, scale: scale == 0 ? 1 / Float(keyWidth).squareRoot() : scale, window: window)
        rotary = try hyper.rotary(rotaryLayout, headWidth: keyWidth, trainedContext: trainedContext)

        embedding = try file.matrix("token_embd.weight", columns: width)
        vocabularySize = embedding.rows
        outputNorm = try file.vector("output_norm.weight", width)
        let tied = file.tensorIfPresent("output.weight") == nil
        output =
            tied
            ? Linear(weights: file.weights(embedding.tensor))
            : try file.linear("output", from: width, to: vocabularySize)

        let experts: Experts.Shape? =
            if let style { try Experts.Shape(hyper, style, width: width, scaled: mlpScales) } else { nil }
        let hiddenWidth = experts == nil ? try hyper.count("feed_forward_length") : 0
        var layers: [Layer] = []
        for index in 0..<layerCount {
            let name = "blk.\(index)."
            let mlp: MLPKind =
                if let experts {
                    .experts(try Experts(file, layer: name, experts))
                } else {
                    .dense(try MLP(file, layer: name, width: width, hiddenWidth: hiddenWidth, scaled: mlpScales))
                }
            layers.append(
                Layer(
                    attentionNorm: try file.vector(name + "attn_norm.weight", width),
                    query: try file.linear(name + "attn_q", from: width, to: heads * keyWidth),
                    key: try file.linear(name + "attn_k", from: width, to: kvHeads * keyWidth),
                    value: try file.linear(name + "attn_v", from: width, to: kvHeads * valueWidth),
                    queryNorm: try file.vectorIfPresent(
                        name + "attn_q_norm.weight", normsAllHeads ? heads * keyWidth : keyWidth),
                    keyNorm: try file.vectorIfPresent(
                        name + "attn_k_norm.weight", normsAllHeads ? kvHeads * keyWidth : keyWidth),
                    attentionOutput: try file.linear(name + "attn_output", from: heads * valueWidth, to: width),
                    mlpNorm: try file.vector(name + "ffn_norm.weight", width),
                    mlp: mlp))
        }
        self.layers = layers
    }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        let residual = work[.residual, step.tokens.count, width]
        compute.embed(embedding, rows: step.tokens, into: residual)
        let angles = rotary.angles(of: step.positions, in: work)
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            attend(index, layer, step, residual, angles, compute)
            transform(layer, step, residual, compute)
        }
        return outputs(step, residual, compute)
    }

    /// Adds the attention block of a layer to the residual stream.
    private func attend(
        _ index: Int, _ layer: Layer, _ step: Step, _ residual: Matrix, _ angles: RotaryAngles, _ compute: Compute
    ) {
        let rows = residual.rows
        let cached = stateShape.pages(of: index)
        let normed = work[.normed, rows, width]
        let query = work[.query, rows, attention.heads * cached.keyWidth]
        let key = work[.key, rows, cached.heads * cached.keyWidth]
        let value = work[.value, rows, cached.heads * cached.valueWidth]
        let attended = work[.attended, rows, attention.heads * cached.valueWidth]

        compute.rmsNorm(residual, layer.attentionNorm, epsilon: epsilon, into: normed)
        compute.multiply {
            $0.add(normed, by: layer.query, into: query)
            $0.add(normed, by: layer.key, into: key)
            $0.add(normed, by: layer.value, into: value)
        }
        if let norm = layer.queryNorm { compute.rmsNormPerHead(query, norm, epsilon: epsilon) }
        if let norm = layer.keyNorm { compute.rmsNormPerHead(key, norm, epsilon: epsilon) }
        compute.rotate(query, headWidth: cached.keyWidth, by: angles)
        compute.rotate(key, headWidth: cached.keyWidth, by: angles)

        compute.store(key, value, of: step, layer: index)
        compute.attention(query, of: step, layer: index, attention, into: attended)
        compute.multiply(attended, by: layer.attentionOutput, into: normed)
        compute.add(normed, to: residual)
    }

    /// Adds the MLP of a layer to the residual stream.
    private func transform(_ layer: Layer, _ step: Step, _ residual: Matrix, _ compute: Compute) {
        let normed = work[.normed, residual.rows, width]
        compute.rmsNorm(residual, layer.mlpNorm, epsilon: epsilon, into: normed)
        switch layer.mlp {
        case .dense(let mlp):
            mlp.forward(normed, into: normed, step, work, compute)
            compute.add(normed, to: residual)
        case .experts(let experts): experts.forward(normed, addingTo: residual, step, work, compute)
        }
    }

    /// Logits or states of the rows that want them.
    private func outputs(_ step: Step, _ residual: Matrix, _ compute: Compute) -> Matrix {
        let count = step.outputRows.count
        let chosen = work[.normed, count, width]
        for (index, row) in step.outputRows.enumerated() {
            chosen[index].update(from: residual[row], count: width)
        }
        compute.rmsNorm(chosen, outputNorm, epsilon: epsilon, into: chosen)
        if step.output == .states { return chosen }
        let logits = work[.logits, count, vocabularySize]
        compute.multiply(chosen, by: output, into: logits)
        return logits
    }
}
