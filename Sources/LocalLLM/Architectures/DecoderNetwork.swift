/// A decoder-only network: token embeddings, layers that add to a residual stream, a norm, and a projection to logits.
///
/// What the blocks are is declared by a `Family`; this file says in what order they run.
final class DecoderNetwork: Network {
    let vocabularySize: Int
    let trainedContext: Int
    var stateShape: StateShape

    /// `x += post(mixer(pre(x))); x += post(feedForward(pre(x)))`, with whichever of these the layer has.
    struct Layer {
        var mixer: (any Mixer)?
        /// Before the mixer.
        var mixerNorm: Norm?
        /// Of the mixer's output.
        var mixerPostNorm: Norm?
        var feedForward: (any FeedForward)?
        /// Before the feed-forward block. Without one, a parallel block reads what the mixer reads.
        var feedForwardNorm: Norm?
        /// Of the feed-forward block's output.
        var feedForwardPostNorm: Norm?
        /// Whether the feed-forward block reads the layer's input, before the mixer's output is added to it.
        var isParallel = false
        /// Multiplies what each block adds to the residual stream.
        var branchScale: Float = 1
        /// A further block, which reads the residual stream as it is, and the norm of its output.
        var last: (any FeedForward)?
        var lastPostNorm: Norm?
        /// How much of the embedding is added again.
        var embeddingShare: Float = 0
        /// Multiplies the residual stream when all have been added.
        var outputScale: Float = 1
        /// Of the residual stream in the end.
        var outputNorm: Norm?
    }

    private let embedding: Embedding
    private let layers: [Layer]
    private let head: OutputHead
    private let rotaries: [Rotary]
    /// Embeddings of each layer's own (Gemma 3n and 4).
    private let perLayer: PerLayerEmbeddings?
    private let work = Workspace()

    /// - Parameter rotaries: Those of all layers; blocks name theirs by its index.
    init(
        embedding: Embedding, perLayer: PerLayerEmbeddings? = nil, layers: [Layer], head: OutputHead,
        rotaries: [Rotary], trainedContext: Int
    ) {
        self.perLayer = perLayer
        self.embedding = embedding
        self.layers = layers
        self.head = head
        self.rotaries = rotaries
        self.trainedContext = trainedContext
        vocabularySize = head.vocabularySize
        stateShape = StateShape(layers.map { $0.mixer?.state ?? .none })
    }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        compute.adapters = step.adapters
        defer { compute.adapters = [] }
        let residual = work[.residual, step.tokens.count, embedding.width]
        embedding.embed(step, into: residual, work, on: compute)
        if layers.contains(where: { $0.embeddingShare != 0 }) {
            compute.copy(residual, into: work[.embedded, residual.rows, residual.columns])
        }
        var context = LayerContext(
            step: step, layer: 0, layerCount: layers.count, work: work, compute: compute,
            angles: rotaries.enumerated().map { $1.angles(of: step.positions, in: work, index: $0) })
        perLayer?.prepare(residual, context)
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            context.layer = index
            forward(layer, residual, context)
        }
        return head.outputs(step, residual, work, compute)
    }

    private func forward(_ layer: Layer, _ residual: Matrix, _ context: LayerContext) {
        let compute = context.compute
        layer.feedForward?.prepare(residual, context)
        let normed = work[.normed, residual.rows, residual.columns]
        let mixed = work[.mixed, residual.rows, residual.columns]
        /// What the block before or after `norm` reads.
        func normalized(_ norm: Norm?) -> Matrix {
            guard let norm else { return residual }
            compute.normalize(residual, norm, into: normed)
            return normed
        }

        var input = residual
        if let mixer = layer.mixer {
            input = normalized(layer.mixerNorm)
            mixer.forward(input, into: mixed, context)
            if let norm = layer.mixerPostNorm { compute.normalize(mixed, norm, into: mixed) }
            if !layer.isParallel { compute.add(mixed, times: layer.branchScale, to: residual) }
        }
        if let feedForward = layer.feedForward {
            if !layer.isParallel || layer.feedForwardNorm != nil { input = normalized(layer.feedForwardNorm) }
            feedForward.forward(input, into: normed, context)
            if let norm = layer.feedForwardPostNorm { compute.normalize(normed, norm, into: normed) }
            compute.add(normed, times: layer.branchScale, to: residual)
        }
        if layer.isParallel, layer.mixer != nil { compute.add(mixed, times: layer.branchScale, to: residual) }
        if let last = layer.last {
            last.forward(residual, into: normed, context)
            if let norm = layer.lastPostNorm { compute.normalize(normed, norm, into: normed) }
            compute.add(normed, to: residual)
        }
        if layer.embeddingShare != 0 {
            let embedded = work[.embedded, residual.rows, residual.columns]
            compute.add(embedded, times: layer.embeddingShare, to: residual)
        }
        if layer.outputScale != 1 { compute.scale(residual, by: layer.outputScale) }
        if let norm = layer.outputNorm { compute.normalize(residual, norm, into: residual) }
    }
}
