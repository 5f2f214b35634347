import Compute

/// Bidirectional attention of an encoder's layer, over the whole input or within a window.
final class EncoderAttention: Mixer {
    /// Encoders have no state between steps.
    var state: LayerState { .none }

    let query: Linear
    let key: Linear
    let value: Linear
    let output: Linear
    /// Norm of each head's query, or of all heads together; `keyNorm` likewise.
    var queryNorm: Norm?
    var keyNorm: Norm?
    var valueNorm: Norm?
    let shape: BidirectionalShape
    /// Index of the layer's rotary embedding; `nil`: no rotation.
    var rotary: Int?
    var bias: PositionBias?

    init(query: Linear, key: Linear, value: Linear, output: Linear, _ shape: BidirectionalShape) {
        self.query = query
        self.key = key
        self.value = value
        self.output = output
        self.shape = shape
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute) = (context.work, context.compute)
        let queries = work[.query, input.rows, shape.heads * shape.keyWidth]
        let keys = work[.key, input.rows, shape.kvHeads * shape.keyWidth]
        let values = work[.value, input.rows, shape.kvHeads * shape.valueWidth]
        let attended = work[.attended, input.rows, shape.heads * shape.valueWidth]
        compute.multiply {
            $0.add(input, by: query, into: queries, exact: 0, sensitive: true)
            $0.add(input, by: key, into: keys, exact: 0, sensitive: true)
            $0.add(input, by: value, into: values, exact: 0, sensitive: true)
        }
        if let queryNorm { compute.normalize(queries, queryNorm, into: queries) }
        if let keyNorm { compute.normalize(keys, keyNorm, into: keys) }
        if let valueNorm { compute.normalize(values, valueNorm, into: values) }
        if let rotary {
            compute.rotate(queries, headWidth: shape.keyWidth, by: context.angles[rotary])
            compute.rotate(keys, headWidth: shape.keyWidth, by: context.angles[rotary])
        }
        let spans = context.spans ?? context.step.segments.map { AttentionSpan(queries: $0.rows, keys: $0.rows) }
        compute.attention(queries, keys, values, within: spans, shape, bias: bias, into: attended)
        compute.multiply(attended, by: self.output, into: output, exact: 0, sensitive: true)
    }
}
