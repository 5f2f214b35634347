import Compute

/// A network whose tokens attend in both directions within an input. It has no state between steps.
///
/// A step holds any number of inputs, one after the other; each is one segment that begins at position 0. The output is
/// states, never logits. A family declares the blocks; this file defines the order in which they run.
final class EncoderNetwork: Network {
    /// Encoders have no state between steps.
    var stateShape = StateShape([])
    var kind: ModelKind { .encoder }
    let vocabularySize: Int
    let trainedContext: Int
    var longestContext: Int? { embedding.positions?.rows }

    private let embedding: Embedding
    private let layers: [EncoderLayer]
    private let outputNorm: Norm?
    private let rotaries: [Rotary]
    private let work = Workspace()

    /// - Parameter rotaries: Rotary embeddings of all layers; attention refers to its own by index.
    init(embedding: Embedding, layers: [EncoderLayer], outputNorm: Norm?, rotaries: [Rotary], trainedContext: Int) {
        self.embedding = embedding
        self.layers = layers
        self.outputNorm = outputNorm
        self.rotaries = rotaries
        self.trainedContext = trainedContext
        vocabularySize = embedding.table.rows
    }

    /// - Returns: States after the last norm, `[step.outputRows.count, width]`.
    func forward(_ step: Step, on compute: Compute) -> Matrix {
        compute.adapters = step.adapters
        defer { compute.adapters = [] }
        let residual = work[.residual, step.tokens.count, embedding.width]
        embedding.embed(step, into: residual, work, on: compute)
        var context = LayerContext(
            step: step, layer: 0, layerCount: layers.count, work: work, compute: compute,
            angles: rotaries.enumerated().map { $1.angles(of: step.positions, in: work, index: $0) })
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            context.layer = index
            layer.forward(residual, context)
        }
        let states = work[.normed, step.outputRows.count, residual.columns]
        compute.gather(step.outputRows, of: residual, into: states)
        if let outputNorm { compute.normalize(states, outputNorm, into: states) }
        return states
    }
}
