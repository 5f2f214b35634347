import GGUF
import Compute

/// T5, T5 v1.1 and Flan-T5 (Raffel et al. 2020): an encoder reads the input; a decoder generates the output and attends
/// to the encoder's states in every layer.
///
/// A sequence's tokens are the decoder's, beginning with `decoderStart`; the encoder's input is the state's `encoding`.
/// Reference: `modeling_t5.py` in transformers; tensor names are GGUF's.
final class T5: Network {
    var stateShape: StateShape
    var kind: ModelKind { .encoderDecoder }
    let decoderStart: Int32?
    let vocabularySize: Int
    let trainedContext: Int

    private struct Layer {
        let attentionNorm: Norm
        let query: Linear
        let key: Linear
        let value: Linear
        let attentionOutput: Linear
        let bias: PositionBias
        let crossNorm: Norm
        let crossQuery: Linear
        let crossKey: Linear
        let crossValue: Linear
        let crossOutput: Linear
        let mlpNorm: Norm
        let mlp: any FeedForward
    }

    private let encoder: EncoderNetwork
    private let embedding: Embedding
    private let layers: [Layer]
    private let head: OutputHead
    private let shape: BidirectionalShape
    private let work = Workspace()

    init(_ file: ModelReader, architecture: String) throws(ModelFileError) {
        let builder = try EncoderBuilder(file, architecture: architecture, .t5)
        let hyper = builder.hyper
        encoder = try builder.encoder()
        embedding = Embedding(table: try file.matrix("token_embd.weight", columns: builder.width))
        vocabularySize = embedding.table.rows
        trainedContext = builder.trainedContext
        let start = try hyper.int("decoder_start_token_id") ?? 0
        guard (0..<vocabularySize).contains(start) else {
            throw hyper.invalid(
                "decoder_start_token_id", "less than the number of tokens, \(vocabularySize)", found: start)
        }
        decoderStart = Int32(start)

        let (width, heads) = (builder.width, builder.heads)
        let (keys, values) = (builder.kvHeads * builder.keyWidth, builder.kvHeads * builder.valueWidth)
        var layers: [Layer] = []
        var bias: PositionBias?
        for index in 0..<(try hyper.count("decoder_block_count", default: builder.layerCount)) {
            let name = "dec.blk.\(index)."
            let own = try builder.relativeBias(name, isFirst: index == 0, isBidirectional: false)
            bias = own ?? bias
            guard let bias else { break }  // The first layer has one, else reading it threw.
            layers.append(
                Layer(
                    attentionNorm: try builder.norm(name + "attn_norm"),
                    query: try file.linear(name + "attn_q", from: width, to: heads * builder.keyWidth),
                    key: try file.linear(name + "attn_k", from: width, to: keys),
                    value: try file.linear(name + "attn_v", from: width, to: values),
                    attentionOutput: try file.linear(name + "attn_o", from: heads * builder.valueWidth, to: width),
                    bias: bias, crossNorm: try builder.norm(name + "cross_attn_norm"),
                    crossQuery: try file.linear(name + "cross_attn_q", from: width, to: heads * builder.keyWidth),
                    crossKey: try file.linear(name + "cross_attn_k", from: width, to: keys),
                    crossValue: try file.linear(name + "cross_attn_v", from: width, to: values),
                    crossOutput: try file.linear(name + "cross_attn_o", from: heads * builder.valueWidth, to: width),
                    mlpNorm: try builder.norm(name + "ffn_norm"), mlp: try builder.mlp(name)))
        }
        self.layers = layers
        shape = BidirectionalShape(
            heads: heads, kvHeads: builder.kvHeads, keyWidth: builder.keyWidth, valueWidth: builder.valueWidth, scale: 1
        )
        stateShape = StateShape(
            layers.map { _ in
                .keysAndValues(heads: builder.kvHeads, keyWidth: builder.keyWidth, valueWidth: builder.valueWidth)
            })
        // Clamped far above any memory size to avoid overflow.
        stateShape.encodingBytes = Int(
            min(0x1p50, 4 * Double(layers.count) * Double(keys + values) * Double(trainedContext)))

        let isTied = file.tensorIfPresent("output.weight") == nil
        head = OutputHead(
            norm: try builder.norm("dec.output_norm"),
            projection: isTied
                ? Linear(weights: file.weights(embedding.table.tensor))
                : try file.linear("output", from: width, to: vocabularySize),
            // T5 v1.0 scales states if the output matrix is the embedding.
            stateScale: isTied ? 1 / Float(width).squareRoot() : 1)
    }

    /// - Returns: Logits after the decoder's tokens; for `Output.states`, the encoder's states of the step's tokens.
    func forward(_ step: Step, on compute: Compute) -> Matrix {
        if step.output == .states { return encoder.forward(step, on: compute) }
        encode(step, compute)
        let residual = work[.residual, step.tokens.count, embedding.width]
        embedding.embed(step, into: residual, work, on: compute)
        var context = LayerContext(
            step: step, layer: 0, layerCount: layers.count, work: work, compute: compute, angles: [])
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            context.layer = index
            attend(layer, residual, context)
            attendToInput(layer, residual, context)
            let normed = work[.normed, residual.rows, residual.columns]
            compute.normalize(residual, layer.mlpNorm, into: normed)
            layer.mlp.forward(normed, into: normed, context)
            compute.add(normed, to: residual)
        }
        return head.outputs(step, residual, work, compute)
    }

    /// Adds attention over the decoder's own tokens.
    private func attend(_ layer: Layer, _ residual: Matrix, _ context: LayerContext) {
        let (compute, step) = (context.compute, context.step)
        let normed = work[.normed, residual.rows, residual.columns]
        let queries = work[.query, residual.rows, shape.heads * shape.keyWidth]
        let keys = work[.key, residual.rows, shape.kvHeads * shape.keyWidth]
        let values = work[.value, residual.rows, shape.kvHeads * shape.valueWidth]
        let attended = work[.attended, residual.rows, shape.heads * shape.valueWidth]
        compute.normalize(residual, layer.attentionNorm, into: normed)
        compute.multiply {
            $0.add(normed, by: layer.query, into: queries)
            $0.add(normed, by: layer.key, into: keys)
            $0.add(normed, by: layer.value, into: values)
        }
        compute.store(keys, values, of: step, layer: context.layer)
        for segment in step.segments {
            let count = segment.start + segment.rows.count
            let allKeys = work[.gate, count, shape.kvHeads * shape.keyWidth]
            let allValues = work[.up, count, shape.kvHeads * shape.valueWidth]
            compute.load(segment.state, layer: context.layer, into: allKeys, allValues)
            let span = AttentionSpan(queries: segment.rows, keys: 0..<count, firstPosition: segment.start)
            compute.attention(queries, allKeys, allValues, within: [span], shape, bias: layer.bias, into: attended)
        }
        compute.multiply(attended, by: layer.attentionOutput, into: normed)
        compute.add(normed, to: residual)
    }

    /// Adds cross-attention over the encoder's states.
    private func attendToInput(_ layer: Layer, _ residual: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let normed = work[.normed, residual.rows, residual.columns]
        let queries = work[.query, residual.rows, shape.heads * shape.keyWidth]
        let attended = work[.attended, residual.rows, shape.heads * shape.valueWidth]
        compute.normalize(residual, layer.crossNorm, into: normed)
        compute.multiply(normed, by: layer.crossQuery, into: queries)
        for segment in context.step.segments {
            guard let (keys, values) = segment.state.encoding?.layers[context.layer] else { continue }
            let span = AttentionSpan(queries: segment.rows, keys: 0..<keys.rows)
            compute.attention(queries, keys, values, within: [span], shape, into: attended)
        }
        compute.multiply(attended, by: layer.crossOutput, into: normed)
        compute.add(normed, to: residual)
    }

    // MARK: The encoder

    /// Encodes the inputs of sequences that begin, all in one step.
    private func encode(_ step: Step, _ compute: Compute) {
        let encodings = step.segments.compactMap { segment -> SequenceEncoding? in
            precondition(segment.state.encoding != nil, "a sequence of an encoder-decoder has an input")
            return segment.state.encoding.flatMap { $0.layers.isEmpty ? $0 : nil }
        }
        guard !encodings.isEmpty else { return }
        var inputs = Step()
        for encoding in encodings { inputs.append(encoding.input[...], to: encoder.makeState(), output: .all) }
        inputs.output = .states
        inputs.isAbandoned = step.isAbandoned
        let states = encoder.forward(inputs, on: compute)
        for (encoding, segment) in zip(encodings, inputs.segments) {
            let rows = states[rows: segment.rows.lowerBound, count: segment.rows.count]
            for layer in layers {
                encoding.append(
                    keyWidth: layer.crossKey.weights.rows, valueWidth: layer.crossValue.weights.rows
                ) { keys, values in
                    compute.multiply {
                        $0.add(rows, by: layer.crossKey, into: keys)
                        $0.add(rows, by: layer.crossValue, into: values)
                    }
                }
            }
        }
    }
}
