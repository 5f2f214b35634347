/// A network that reads whole inputs: every token sees those after it too, so nothing is remembered between steps.
///
/// A step holds any number of inputs, their rows one after the other; each is one segment that begins at position 0. What
/// comes out are states, never logits. What the blocks are is declared by a family; this file says in what order they run.
final class EncoderNetwork: Network {
    struct Layer {
        let attention: EncoderAttention
        let attentionNorms: Norms
        let feedForward: any FeedForward
        let feedForwardNorms: Norms
    }

    /// Where a block of a layer is normalized. x is the residual stream: `y = after(block(before(x)))`,
    /// `x = ofSum(x + y)`, or with a second norm `x = second(x + ofSum(x + y))`.
    struct Norms {
        /// Of what the block reads (pre-norm).
        var before: Norm?
        /// Of what it gives.
        var after: Norm?
        /// Of the residual stream with the block's output added (post-norm, as in BERT).
        var ofSum: Norm?
        var second: Norm?
    }

    /// Nothing is remembered between steps.
    var stateShape = StateShape([])
    var kind: LocalModel.Kind { .encoder }
    let vocabularySize: Int
    let trainedContext: Int
    var longestContext: Int? { embedding.positions?.rows }

    private let embedding: Embedding
    private let layers: [Layer]
    private let outputNorm: Norm?
    private let rotaries: [Rotary]
    private let work = Workspace()

    /// - Parameter rotaries: Those of all layers; attention names its own by its index.
    init(embedding: Embedding, layers: [Layer], outputNorm: Norm?, rotaries: [Rotary], trainedContext: Int) {
        self.embedding = embedding
        self.layers = layers
        self.outputNorm = outputNorm
        self.rotaries = rotaries
        self.trainedContext = trainedContext
        vocabularySize = embedding.table.rows
    }

    /// - Returns: States, `[step.outputRows.count, width]`.
    func forward(_ step: Step, on compute: Compute) -> Matrix {
        let residual = work[.residual, step.tokens.count, embedding.width]
        embedding.embed(step, into: residual, work, on: compute)
        var context = LayerContext(
            step: step, layer: 0, layerCount: layers.count, work: work, compute: compute,
            angles: rotaries.enumerated().map { $1.angles(of: step.positions, in: work, index: $0) })
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            context.layer = index
            add({ layer.attention.forward($0, into: $1, context) }, layer.attentionNorms, to: residual, compute)
            add({ layer.feedForward.forward($0, into: $1, context) }, layer.feedForwardNorms, to: residual, compute)
        }
        let states = work[.normed, step.outputRows.count, residual.columns]
        for (index, row) in step.outputRows.enumerated() {
            states[index].update(from: residual[row], count: residual.columns)
        }
        if let outputNorm { compute.normalize(states, outputNorm, into: states) }
        return states
    }

    /// Adds what a block makes of the residual stream to it.
    private func add(
        _ block: (_ input: Matrix, _ output: Matrix) -> Void, _ norms: Norms, to residual: Matrix, _ compute: Compute
    ) {
        var input = residual
        let result = work[.mixed, residual.rows, residual.columns]
        if let before = norms.before {
            input = work[.normed, residual.rows, residual.columns]
            compute.normalize(residual, before, into: input)
        }
        block(input, result)
        if let after = norms.after { compute.normalize(result, after, into: result) }
        if let second = norms.second, let first = norms.ofSum {
            compute.add(residual, to: result)
            compute.normalize(result, first, into: result)
            compute.add(result, to: residual)
            compute.normalize(residual, second, into: residual)
        } else {
            compute.add(result, to: residual)
            if let norm = norms.ofSum { compute.normalize(residual, norm, into: residual) }
        }
    }
}
