import Compute

/// Multi-head latent attention (DeepSeek-V2, Liu et al. 2024): keys and values of all heads derive from one vector per
/// token.
///
/// A query is `[nope | rope]` per head, the latent vector `[rank | rope]` for all heads. With separate `keyDown` and
/// `valueUp`, the key projection is applied to queries instead, and the cache holds only latent vectors. Otherwise keys
/// and values are computed from them and cached.
final class LatentAttention: Mixer {
    enum Expansion {
        /// Per head: from the unrotated part of a query to the latent width, and from there to values.
        case absorbed(keyDown: [Linear], valueUp: [Linear])
        /// Per head: from latent vectors to unrotated keys and to values.
        case expanded([(key: Linear, value: Linear)])
    }

    struct Parts {
        /// Low-rank queries: down-projection to a vector that is normalized.
        var queryDown: Linear?
        var queryNorm: Norm?
        var query: Linear
        /// Projection to the latent vector.
        var latent: Linear
        var latentNorm: Norm
        /// Norm of the rotated part of the key.
        var keyNorm: Norm?
        var expansion: Expansion
        /// `nil`: no rotation.
        var rotary: Int?
        var temperature: SelfAttention.Temperature?
        /// Gates the output of attention by a sigmoid, per value or per head.
        var gate: Linear?
        var output: Linear
    }

    struct Widths {
        let heads: Int
        /// Width of the unrotated part of a key, and of the rotated part, which all heads share.
        let nope: Int
        let rope: Int
        let rank: Int
        let value: Int
        /// The layer's window in tokens; `nil`: none.
        var window: Int?
    }

    let state: LayerState
    private let parts: Parts
    private let widths: Widths
    private let shape: AttentionShape

    /// - Parameter sinks: As in `AttentionShape`.
    init(_ parts: Parts, _ widths: Widths, scale: Float, sinks: [Float]? = nil) {
        self.parts = parts
        self.widths = widths
        shape = AttentionShape(heads: widths.heads, scale: scale, window: widths.window, sinks: sinks)
        state =
            switch parts.expansion {
            case .absorbed:
                .latent(width: widths.rank + widths.rope, valueWidth: widths.rank, window: widths.window)
            case .expanded:
                .keysAndValues(
                    heads: widths.heads, keyWidth: widths.nope + widths.rope, valueWidth: widths.value,
                    window: widths.window)
            }
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (compute, work) = (context.compute, context.work)
        let keyWidth = widths.nope + widths.rope
        let query = work[.query, input.rows, widths.heads * keyWidth]
        let latent = work[.latent, input.rows, widths.rank + widths.rope]
        project(input, query, latent, context)

        let compressed = latent[columns: 0, count: widths.rank]
        compute.normalize(compressed, parts.latentNorm, into: compressed)
        if let norm = parts.keyNorm {
            let keys = latent[columns: widths.rank, count: widths.rope]
            compute.normalize(keys, norm, into: keys)
        }
        if let rotary = parts.rotary {
            // The rotated part comes last in each head.
            let turning = query[columns: widths.nope, count: query.columns - widths.nope]
            compute.rotate(turning, headWidth: keyWidth, by: context.angles[rotary])
            let keys = latent[columns: widths.rank, count: widths.rope]
            compute.rotate(keys, headWidth: widths.rope, by: context.angles[rotary])
        }
        if let temperature = parts.temperature {
            compute.scale(query) { row in temperature(context.step.positions[row]) }
        }
        let values = work[.attended, input.rows, widths.heads * widths.value]
        switch parts.expansion {
        case .absorbed(let keyDown, let valueUp): attend(query, latent, keyDown, valueUp, into: values, context)
        case .expanded(let heads): attend(query, latent, heads, into: values, context)
        }
        if let projection = parts.gate {
            let gate = work[.gate, input.rows, projection.weights.rows]
            compute.multiply(input, by: projection, into: gate, exact: context.step.answerRows, sensitive: true)
            compute.multiply(values, bySigmoidOf: gate)
        }
        compute.multiply(
            values, by: parts.output, into: output, exact: context.step.answerRows,
            sensitive: parts.output.isSensitive)
    }

    private func project(_ input: Matrix, _ query: Matrix, _ latent: Matrix, _ context: LayerContext) {
        let (compute, exact) = (context.compute, context.step.answerRows)
        guard let down = parts.queryDown, let norm = parts.queryNorm else {
            return compute.multiply {
                $0.add(input, by: parts.query, into: query, exact: exact, sensitive: parts.query.isSensitive)
                $0.add(input, by: parts.latent, into: latent, exact: exact, sensitive: true)
            }
        }
        let low = context.work[.up, input.rows, down.weights.rows]
        compute.multiply {
            $0.add(input, by: down, into: low, exact: exact, sensitive: down.isSensitive)
            $0.add(input, by: parts.latent, into: latent, exact: exact, sensitive: true)
        }
        compute.normalize(low, norm, into: low)
        compute.multiply(low, by: parts.query, into: query, exact: exact, sensitive: parts.query.isSensitive)
    }

    /// Attends to latent vectors in the cache.
    private func attend(
        _ query: Matrix, _ latent: Matrix, _ keyDown: [Linear], _ valueUp: [Linear], into values: Matrix,
        _ context: LayerContext
    ) {
        let (compute, work, exact) = (context.compute, context.work, context.step.answerRows)
        let (keyWidth, latentWidth) = (widths.nope + widths.rope, widths.rank + widths.rope)
        let absorbed = work[.key, query.rows, widths.heads * latentWidth]
        compute.multiply {
            for (head, layer) in keyDown.enumerated() {
                let (from, to) = (head * keyWidth, head * latentWidth)
                $0.add(
                    query[columns: from, count: widths.nope], by: layer,
                    into: absorbed[columns: to, count: widths.rank], exact: exact, sensitive: layer.isSensitive)
            }
        }
        compute.copy(
            query.heads(widths.heads, width: widths.rope, from: widths.nope, stride: keyWidth),
            into: absorbed.heads(widths.heads, width: widths.rope, from: widths.rank, stride: latentWidth))
        compute.store(latent, nil, of: context.step, layer: context.layer)
        let attended = work[.value, query.rows, widths.heads * widths.rank]
        compute.attention(
            absorbed, of: context.step, layer: context.layer, shape, context.precision(parts.output),
            into: attended)
        compute.multiply {
            for (head, layer) in valueUp.enumerated() {
                let (from, to) = (head * widths.rank, head * widths.value)
                $0.add(
                    attended[columns: from, count: widths.rank], by: layer,
                    into: values[columns: to, count: widths.value], exact: exact, sensitive: true)
            }
        }
    }

    /// Attends to keys and values expanded from latent vectors.
    private func attend(
        _ query: Matrix, _ latent: Matrix, _ heads: [(key: Linear, value: Linear)], into attended: Matrix,
        _ context: LayerContext
    ) {
        let (compute, work, exact) = (context.compute, context.work, context.step.answerRows)
        let keyWidth = widths.nope + widths.rope
        let key = work[.key, query.rows, widths.heads * keyWidth]
        let value = work[.value, query.rows, widths.heads * widths.value]
        let compressed = latent[columns: 0, count: widths.rank]
        compute.multiply {
            for (head, layers) in heads.enumerated() {
                let (toKey, toValue) = (head * keyWidth, head * widths.value)
                let (keys, values) = (
                    key[columns: toKey, count: widths.nope], value[columns: toValue, count: widths.value]
                )
                $0.add(compressed, by: layers.key, into: keys, exact: exact, sensitive: true)
                $0.add(compressed, by: layers.value, into: values, exact: exact, sensitive: true)
            }
        }
        compute.copy(
            latent.heads(widths.heads, width: widths.rope, from: widths.rank, stride: 0),
            into: key.heads(widths.heads, width: widths.rope, from: widths.nope, stride: keyWidth))
        compute.store(key, value, of: context.step, layer: context.layer)
        compute.attention(
            query, of: context.step, layer: context.layer, shape, context.precision(parts.output), into: attended
        )
    }
}
