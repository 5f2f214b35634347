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
        project(input, to: 0..<input.rows, of: input.rows, context)
        let spans = context.spans ?? context.step.segments.map { AttentionSpan(queries: $0.rows, keys: $0.rows) }
        attend(0..<input.rows, of: input.rows, within: spans, into: output, context)
    }

    /// Computes queries, keys and values of some of all rows. They stay in the workspace.
    ///
    /// - Parameter input: `[rows.count, width]`.
    func project(_ input: Matrix, to rows: Range<Int>, of count: Int, _ context: LayerContext) {
        let (work, compute) = (context.work, context.compute)
        func part(_ matrix: Matrix) -> Matrix { matrix[rows: rows.lowerBound, count: rows.count] }
        let queries = part(work[.query, count, shape.heads * shape.keyWidth])
        let keys = part(work[.key, count, shape.kvHeads * shape.keyWidth])
        let values = part(work[.value, count, shape.kvHeads * shape.valueWidth])
        compute.multiply {
            $0.add(input, by: query, into: queries, exact: 0, sensitive: true)
            $0.add(input, by: key, into: keys, exact: 0, sensitive: true)
            $0.add(input, by: value, into: values, exact: 0, sensitive: true)
        }
        if let queryNorm { compute.normalize(queries, queryNorm, into: queries) }
        if let keyNorm { compute.normalize(keys, keyNorm, into: keys) }
        if let valueNorm { compute.normalize(values, valueNorm, into: values) }
        if let rotary {
            let all = context.angles[rotary]
            let angles = RotaryAngles(layout: all.layout, cosines: part(all.cosines), sines: part(all.sines))
            compute.rotate(queries, headWidth: shape.keyWidth, by: angles)
            compute.rotate(keys, headWidth: shape.keyWidth, by: angles)
        }
    }

    /// The attention of some of all rows, once all are projected.
    ///
    /// - Parameters:
    ///   - spans: What these rows attend to, and no others.
    ///   - output: `[rows.count, width]`.
    func attend(
        _ rows: Range<Int>, of count: Int, within spans: [AttentionSpan], into output: Matrix, _ context: LayerContext
    ) {
        let (work, compute) = (context.work, context.compute)
        let attended = work[.attended, count, shape.heads * shape.valueWidth]
        compute.attention(
            work[.query, count, shape.heads * shape.keyWidth], work[.key, count, shape.kvHeads * shape.keyWidth],
            work[.value, count, shape.kvHeads * shape.valueWidth], within: spans, shape, bias: bias, into: attended)
        compute.multiply(
            attended[rows: rows.lowerBound, count: rows.count], by: self.output, into: output, exact: 0, sensitive: true
        )
    }
}
