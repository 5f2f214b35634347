import Compute

/// A decoder-only network: token embeddings, layers that add to a residual stream, a norm, and a projection to logits.
///
/// A `Family` declares the blocks; this file defines the order in which they run.
final class DecoderNetwork: Network {
    let vocabularySize: Int
    let trainedContext: Int
    var stateShape: StateShape

    /// `x += post(mixer(pre(x))); x += post(feedForward(pre(x)))`; absent parts are skipped.
    struct Layer {
        var mixer: (any Mixer)?
        /// How each block reads and writes the residual stream; `nil`: reads it, and adds to it.
        var mixerConnection: (any ResidualConnection)?
        var feedForwardConnection: (any ResidualConnection)?
        /// Norm before the mixer.
        var mixerNorm: Norm?
        /// Norm of the mixer's output.
        var mixerPostNorm: Norm?
        var feedForward: (any FeedForward)?
        /// Norm before the feed-forward block. Without it, a parallel block reads the mixer's input.
        var feedForwardNorm: Norm?
        /// Norm of the feed-forward block's output.
        var feedForwardPostNorm: Norm?
        /// Whether the feed-forward block reads the layer's input, before the mixer's output is added to it.
        var isParallel = false
        /// Factor on the output of each block.
        var branchScale: Float = 1
        /// A third block, which reads the residual stream without a norm, and the norm of its output.
        var last: (any FeedForward)?
        var lastPostNorm: Norm?
        /// Factor on the embedding, which is added again after the blocks.
        var embeddingShare: Float = 0
        /// Factor on the residual stream after all additions.
        var outputScale: Float = 1
        /// Norm of the residual stream at the end of the layer.
        var outputNorm: Norm?

        /// Changes the parts of the layer's attention; nothing happens if it has another mixer.
        mutating func changeAttention(_ change: (inout SelfAttention.Parts, inout AttentionShape) -> Void) {
            if let attention = mixer as? SelfAttention { mixer = attention.changed(change) }
        }
    }

    struct Parts {
        var embedding: Embedding
        /// Embeddings of each layer's own.
        var perLayer: PerLayerEmbeddings?
        var layers: [Layer]
        var head: OutputHead
        /// Rotary embeddings of all layers; blocks refer to them by index.
        var rotaries: [Rotary]
        var trainedContext: Int
        /// Residual streams per row; the first begins as the embedding, the others as copies of it.
        var streams = 1
        /// Combines the streams into one at the end.
        var gather: (any ResidualConnection)?
        var predictor: PredictionHead?
    }

    var imageWidth: Int? { embedding.width }
    let predictor: PredictionHead?
    private(set) var lastStates: Matrix?

    private let embedding: Embedding
    private let perLayer: PerLayerEmbeddings?
    private let layers: [Layer]
    private let head: OutputHead
    private let rotaries: [Rotary]
    private let streams: Int
    private let gather: (any ResidualConnection)?
    private let work = Workspace()

    init(_ parts: Parts) {
        embedding = parts.embedding
        perLayer = parts.perLayer
        layers = parts.layers
        head = parts.head
        rotaries = parts.rotaries
        trainedContext = parts.trainedContext
        streams = parts.streams
        gather = parts.gather
        predictor = parts.predictor
        vocabularySize = head.vocabularySize
        stateShape = StateShape(layers.map { $0.mixer?.state ?? .none })
    }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        compute.adapters = step.adapters
        defer { compute.adapters = [] }
        let (rows, width) = (step.tokens.count, embedding.width)
        let residual = work[.residual, rows, streams * width]
        let first = residual[columns: 0, count: width]
        embedding.embed(step, into: first, work, on: compute)
        step.add(part: 0, ofImagesTo: first, on: compute)
        for stream in 1..<max(1, streams) { compute.copy(first, into: residual[columns: stream * width, count: width]) }
        if layers.contains(where: { $0.embeddingShare != 0 }) {
            compute.copy(residual, into: work[.embedded, residual.rows, residual.columns])
        }
        var context = LayerContext(
            step: step, layer: 0, layerCount: layers.count, work: work, compute: compute,
            angles: rotaries.enumerated().map { $1.angles(of: step.places, in: work, index: $0) })
        perLayer?.prepare(residual, context)
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            context.layer = index
            if index == layers.count - 1, let outputs = outputsOfLast(step, compute) {
                let kept = layer.forward(residual, width: width, context, keeping: outputs)
                outputs.add(part: layers.count, ofImagesTo: kept, on: compute)
                return head.outputs(outputs, kept, work, compute)
            }
            layer.forward(residual, width: width, context)
            step.add(part: index + 1, ofImagesTo: first, on: compute)
        }
        if predictor != nil {
            let states = work[.states, rows, width]
            compute.normalize(first, head.norm, into: states)
            lastStates = states
        }
        guard let gather else { return head.outputs(step, first, work, compute) }
        let states = work[.mixed, rows, width]
        gather.read(residual, into: states, context)
        return head.outputs(step, states, work, compute)
    }

    /// The step of the rows whose outputs the last layer must compute; `nil`: all rows.
    private func outputsOfLast(_ step: Step, _ compute: Compute) -> Step? {
        // A head for multi-token prediction reads the states of all rows; statistics are those of all inputs.
        guard predictor == nil, gather == nil, compute.observer == nil, layers.last?.canSkipRows == true else {
            return nil
        }
        return step.ofOutputs
    }
}

extension DecoderNetwork.Layer {
    /// Whether rows may be left out after the mixer has read them.
    fileprivate var canSkipRows: Bool {
        mixerConnection == nil && feedForwardConnection == nil && last == nil && embeddingShare == 0
            && feedForward?.readsOnlyInput != false
    }

    /// - Parameters:
    ///   - residual: `[rows, width]`, or several streams per row if the layer has connections.
    ///   - width: Width of the blocks' inputs and outputs.
    ///   - outputs: The rows that are computed, if `canSkipRows`; `nil`: all.
    /// - Returns: The computed rows of `residual`.
    @discardableResult
    func forward(_ residual: Matrix, width: Int, _ context: LayerContext, keeping outputs: Step? = nil) -> Matrix {
        var (residual, context) = (residual, context)
        let (compute, work) = (context.compute, context.work)
        feedForward?.prepare(residual, context)
        var normed = work[.normed, residual.rows, width]
        var mixed = work[.mixed, residual.rows, width]
        /// Input of the block after `norm`.
        func input(_ connection: (any ResidualConnection)?, _ norm: Norm?) -> Matrix {
            connection?.read(residual, into: normed, context)
            let source = connection == nil ? residual : normed
            guard let norm else { return source }
            compute.normalize(source, norm, into: normed)
            return normed
        }
        func add(_ output: Matrix, _ connection: (any ResidualConnection)?) {
            if let connection {
                connection.write(output, to: residual, context)
            } else {
                compute.add(output, times: branchScale, to: residual)
            }
        }

        var read = mixer == nil ? residual : input(mixerConnection, mixerNorm)
        if let outputs {
            // Rows without an output are left out from here on. Attention needs their keys and values only.
            let attention = mixer as? any StoringMixer
            if let attention {
                attention.store(read, context)
            } else {
                mixer?.forward(read, into: mixed, context)
            }
            let rows = context.step.outputRows
            context = context.keeping(outputs)
            compute.adapters = outputs.adapters
            mixed = mixed.keep(rows)
            normed = normed.keep(rows)
            let readsResidual = read.startsWhere(residual)
            residual = residual.keep(rows)
            read = readsResidual ? residual : normed
            attention?.attend(read, into: mixed, context)
        } else {
            mixer?.forward(read, into: mixed, context)
        }
        if mixer != nil {
            if let mixerPostNorm { compute.normalize(mixed, mixerPostNorm, into: mixed) }
            if !isParallel { add(mixed, mixerConnection) }
        }
        if let feedForward {
            if !isParallel || feedForwardNorm != nil { read = input(feedForwardConnection, feedForwardNorm) }
            feedForward.forward(read, into: normed, context)
            if let feedForwardPostNorm { compute.normalize(normed, feedForwardPostNorm, into: normed) }
            add(normed, feedForwardConnection)
        }
        if isParallel, mixer != nil { add(mixed, nil) }
        if let last {
            last.forward(residual, into: normed, context)
            if let lastPostNorm { compute.normalize(normed, lastPostNorm, into: normed) }
            compute.add(normed, to: residual)
        }
        if embeddingShare != 0 {
            compute.add(work[.embedded, residual.rows, residual.columns], times: embeddingShare, to: residual)
        }
        if outputScale != 1 { compute.scale(residual, by: outputScale) }
        if let outputNorm { compute.normalize(residual, outputNorm, into: residual) }
        return residual
    }
}
