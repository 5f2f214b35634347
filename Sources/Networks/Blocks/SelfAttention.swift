import GGUF
import Compute
import KernelFormats
import Platform

/// Attention with grouped query heads over the KV cache (Vaswani et al. 2017; Ainslie et al. 2023), with the options of
/// all model families.
final class SelfAttention: StoringMixer {
    /// Weights as in the file, and options in the order of their application.
    struct Parts {
        var query: Linear
        /// Whether `query` gives each head's query followed by its `gate`.
        var queryHoldsGate = false
        /// `nil`: the layer attends to another layer's keys and values.
        var key: Linear?
        var value: Linear?
        /// Norm of each head's query, or of all heads together; `keyNorm` likewise.
        var queryNorm: Norm?
        var keyNorm: Norm?
        var valueNorm: Norm?
        /// Whether queries and keys are normalized after rotation instead of before.
        var normsFollowRotation = false
        /// Limit on the magnitude of queries, keys and values.
        var clamp: Float?
        /// Index of the rotary embedding; `nil`: no rotation.
        var rotary: Int?
        /// Scaling of queries by position.
        var temperature: Temperature?
        /// Factor on the output of attention.
        var valueScale: Float = 1
        /// Norm of the input of the output projection (BitNet).
        var innerNorm: Norm?
        /// Gates the output of attention by a sigmoid, per value or per head.
        var gate: Linear?
        /// Whether the gate uses softplus instead.
        var gateIsSoftplus = false
        var output: Linear
    }

    /// Factor on a query by position: `1 + scale · log(1 + ⌊(position + offset) / length⌋)`.
    struct Temperature: Sendable {
        let scale: Float
        let length: Float
        let offset: Float

        func callAsFunction(_ position: Int32) -> Float {
            1 + scale * logf(1 + ((Float(position) + offset) / length).rounded(.down))
        }
    }

    let state: LayerState
    let shape: AttentionShape
    private let parts: Parts
    private let keyWidth: Int
    private let valueWidth: Int

    init(_ parts: Parts, state: LayerState, keyWidth: Int, valueWidth: Int, shape: AttentionShape) {
        self.parts = parts
        self.state = state
        self.shape = shape
        self.keyWidth = keyWidth
        self.valueWidth = valueWidth
    }

    /// A copy with changed parts.
    func changed(_ change: (inout Parts, inout AttentionShape) -> Void) -> SelfAttention {
        var (parts, shape) = (parts, shape)
        change(&parts, &shape)
        return SelfAttention(parts, state: state, keyWidth: keyWidth, valueWidth: valueWidth, shape: shape)
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        context.compute.multiply { list in
            addQueries(of: input, to: &list, context)
            addKeys(of: input, to: &list, context)
        }
        storeKeys(rows: input.rows, context)
        attend(rows: input.rows, into: output, context)
    }

    func store(_ input: Matrix, _ context: LayerContext) {
        guard parts.key != nil else { return }
        context.compute.multiply { addKeys(of: input, to: &$0, context) }
        storeKeys(rows: input.rows, context)
    }

    func attend(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        context.compute.multiply { addQueries(of: input, to: &$0, context) }
        attend(rows: input.rows, into: output, context)
    }

    /// Queries as projected: with `queryHoldsGate`, their gates are between them.
    private func projected(_ rows: Int, _ work: Workspace) -> Matrix {
        work[parts.queryHoldsGate ? .projected : .query, rows, parts.query.weights.rows]
    }

    private func gate(_ rows: Int, _ work: Workspace) -> Matrix? {
        parts.gate.map { work[.gate, rows, $0.weights.rows] }
    }

    /// `nil` if the layer attends to another layer's keys and values.
    private func keysAndValues(_ rows: Int, _ work: Workspace) -> (keys: Matrix, values: Matrix)? {
        guard let key = parts.key, let value = parts.value else { return nil }
        return (work[.key, rows, key.weights.rows], work[.value, rows, value.weights.rows])
    }

    private func addQueries(of input: Matrix, to list: inout ProductList, _ context: LayerContext) {
        let exact = context.step.answerRows
        list.add(
            input, by: parts.query, into: projected(input.rows, context.work), exact: exact,
            sensitive: parts.query.isSensitive)
        if let projection = parts.gate, let gate = gate(input.rows, context.work) {
            list.add(input, by: projection, into: gate, exact: exact, sensitive: true)
        }
    }

    private func addKeys(of input: Matrix, to list: inout ProductList, _ context: LayerContext) {
        guard let key = parts.key, let value = parts.value,
            let (keys, values) = keysAndValues(input.rows, context.work)
        else { return }
        let exact = context.step.answerRows
        list.add(input, by: key, into: keys, exact: exact, sensitive: true)
        list.add(input, by: value, into: values, exact: exact, sensitive: true)
    }

    /// Stores projected keys and values.
    private func storeKeys(rows: Int, _ context: LayerContext) {
        guard let (keys, values) = keysAndValues(rows, context.work) else { return }
        let compute = context.compute
        if let limit = parts.clamp {
            compute.clamp(keys, to: limit)
            compute.clamp(values, to: limit)
        }
        prepare(keys, parts.keyNorm, context)
        if let norm = parts.valueNorm { compute.normalize(values, norm, into: values) }
        compute.store(keys, values, of: context.step, layer: context.layer)
    }

    /// Attends with projected queries.
    private func attend(rows: Int, into output: Matrix, _ context: LayerContext) {
        let (compute, work, step) = (context.compute, context.work, context.step)
        var (query, gate) = (projected(rows, work), gate(rows, work))
        if parts.queryHoldsGate { (query, gate) = takeApart(query, context) }
        if let limit = parts.clamp { compute.clamp(query, to: limit) }
        prepare(query, parts.queryNorm, context)
        if let temperature = parts.temperature {
            compute.scale(query) { row in temperature(step.positions[row]) }
        }
        let attended = work[.attended, rows, shape.heads * valueWidth]
        compute.attention(
            query, of: step, layer: context.layer, shape, context.precision(parts.query), into: attended)
        if parts.valueScale != 1 { compute.scale(attended, by: parts.valueScale) }
        if let gate {
            if parts.gateIsSoftplus {
                compute.multiply(attended, bySoftplusOf: gate)
            } else {
                compute.multiply(attended, bySigmoidOf: gate)
            }
        }
        if let norm = parts.innerNorm { compute.normalize(attended, norm, into: attended) }
        compute.multiply(
            attended, by: parts.output, into: output, exact: step.answerRows, sensitive: parts.output.isSensitive)
    }

    /// Splits a fused projection into queries and the gates between them.
    private func takeApart(_ projected: Matrix, _ context: LayerContext) -> (query: Matrix, gate: Matrix) {
        let query = context.work[.query, projected.rows, projected.columns / 2]
        let gate = context.work[.gate, projected.rows, projected.columns / 2]
        for (part, first) in [(query, 0), (gate, keyWidth)] {
            context.compute.copy(
                projected.heads(shape.heads, width: keyWidth, from: first, stride: 2 * keyWidth),
                into: part.heads(shape.heads, width: keyWidth))
        }
        return (query, gate)
    }

    /// Normalizes and rotates queries or keys.
    private func prepare(_ heads: Matrix, _ norm: Norm?, _ context: LayerContext) {
        if let norm, !parts.normsFollowRotation { context.compute.normalize(heads, norm, into: heads) }
        if let rotary = parts.rotary { context.compute.rotate(heads, headWidth: keyWidth, by: context.angles[rotary]) }
        if let norm, parts.normsFollowRotation { context.compute.normalize(heads, norm, into: heads) }
    }
}

extension Linear {
    /// Whether a prompt's inputs of the projections of queries, of the attention's output and of short convolutions need more
    /// than 8 bits. They do not in formats with blocks of 256 values: llama.cpp rounds 256 activations with one scale there,
    /// and 8 bits with a scale per 32 keep the error below half of llama.cpp's (docs/performance.md).
    var isSensitive: Bool { weights.tensor.type.blockValues < 256 }
}
