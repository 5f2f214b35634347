import GGUF
package import Compute

/// A head for multi-token prediction (DeepSeek-V3, 2024): a layer that drafts the token after the next one from the
/// model's state of a token and the embedding of the next token.
///
///     x = projection(RMSNorm(embedding of token i) ‖ RMSNorm(state of token i − 1));  logits = head(norm(layer(x)))
///
/// The normalized output of the layer takes the place of the model's state when the head drafts further tokens.
package final class PredictionHead: Network {
    package let vocabularySize: Int
    package let trainedContext: Int
    package var stateShape: StateShape
    /// Width of the states.
    package let width: Int
    package private(set) var lastStates: Matrix?

    private let embedding: Embedding
    private let embeddingNorm: Norm
    private let stateNorm: Norm
    private let projection: Linear
    private let layer: DecoderNetwork.Layer
    private let head: OutputHead
    private let rotaries: [Rotary]
    private let work = Workspace()

    /// Reads the first head of a file, which is the block after the model's layers.
    ///
    /// - Parameters:
    ///   - embedding: The model's embedding, used if the head has none of its own.
    ///   - head: The model's, used for what the head has none of its own.
    /// - Returns: `nil` if the file has no head.
    init?(_ model: DecoderBuilder, embedding: Embedding, head: OutputHead) throws(ModelFileError) {
        let (builder, file) = (LayerBuilder(model, model.layerCount), model.file)
        let (name, width) = (builder.name + "nextn.", model.width)
        guard file.contains(name + "eh_proj.weight") else { return nil }
        self.width = width
        embeddingNorm = try model.norm(name + "enorm")
        stateNorm = try model.norm(name + "hnorm")
        projection = try file.linear(name + "eh_proj", from: 2 * width, to: width)
        var (embedding, head) = (embedding, head)
        if file.contains(name + "embed_tokens.weight") {
            let table = try file.tensor(name + "embed_tokens.weight", shape: [width, head.vocabularySize])
            embedding = Embedding(table: WeightMatrix(table))
        }
        if file.contains(name + "shared_head_norm.weight") { head.norm = try model.norm(name + "shared_head_norm") }
        if file.contains(name + "shared_head_head.weight") {
            head.projection = try file.linear(name + "shared_head_head", from: width, to: head.vocabularySize)
        }
        layer = try builder.layer()
        (self.embedding, self.head) = (embedding, head)
        stateShape = StateShape([layer.mixer?.state ?? .none])
        rotaries = model.rotaries
        trainedContext = model.trainedContext
        vocabularySize = head.vocabularySize
    }

    /// - Parameter step: With `previousStates`.
    package func forward(_ step: Step, on compute: Compute) -> Matrix {
        let rows = step.tokens.count
        let (residual, joined) = (work[.residual, rows, width], work[.joined, rows, 2 * width])
        embedding.embed(step, into: residual, work, on: compute)
        compute.normalize(residual, embeddingNorm, into: joined[columns: 0, count: width])
        let (states, right) = (work[.states, rows, width], joined[columns: width, count: width])
        if let previous = step.previousStates {
            compute.normalize(previous, stateNorm, into: right)
        } else {
            compute.clear(right)
        }
        compute.multiply(joined, by: projection, into: residual)
        layer.forward(
            residual, width: width,
            LayerContext(
                step: step, layer: 0, layerCount: 1, work: work, compute: compute,
                angles: rotaries.enumerated().map { $1.angles(of: step.places, in: work, index: $0) }))
        compute.normalize(residual, head.norm, into: states)
        lastStates = states
        return head.outputs(step, residual, work, compute)
    }
}

extension Compute {
    /// Copies the input if there is no norm.
    func normalize(_ input: Matrix, _ norm: Norm?, into output: Matrix) {
        if let norm { normalize(input, norm, into: output) } else { copy(input, into: output) }
    }
}
