import GGUF
import Compute
import KernelFormats

/// Per-layer token embeddings (Gemma 3n and 4): from a table, plus a projection of the token embedding.
final class PerLayerEmbeddings {
    /// Width of the embedding for one layer.
    let width: Int
    private let table: WeightMatrix
    private let projection: Linear
    private let norm: Norm
    private let layers: Int

    /// - Returns: `nil` if the file has none.
    init?(_ model: DecoderBuilder) throws(ModelFileError) {
        let file = model.file
        guard let width = file.tensorIfPresent("per_layer_proj_norm.weight")?.shape[0] else { return nil }
        self.width = width
        layers = model.layerCount
        table = try file.matrix("per_layer_token_embd.weight", columns: width * layers)
        projection = Linear(
            weights: file.weights(
                try file.tensor("per_layer_model_proj.weight", shape: [model.width, width * layers])))
        norm = try model.norm("per_layer_proj_norm", width: width)
    }

    /// Computes the embeddings of a step for all layers, `[rows, layers · width]`.
    ///
    /// - Parameter embedded: `[rows, model width]`, the start of the residual stream.
    func prepare(_ embedded: Matrix, _ context: LayerContext) {
        let (compute, work) = (context.compute, context.work)
        let result = work[.perLayer, embedded.rows, width * layers]
        compute.multiply(embedded, by: projection, into: result)
        compute.scale(result, by: 1 / Float(embedded.columns).squareRoot())
        compute.normalize(result, norm, into: result)
        let own = work[.gathered, embedded.rows, width * layers]
        compute.embed(table, rows: context.step.tokens, into: own)
        compute.add(own, times: Float(width).squareRoot(), to: result)
        compute.scale(result, by: Float(0.5).squareRoot())
    }
}

/// Adds a layer's per-layer embedding, gated by the residual stream.
final class PerLayerBlock: FeedForward {
    private let gate: Linear
    private let projection: Linear

    init(_ layer: LayerBuilder, width: Int) throws(ModelFileError) {
        gate = try layer.linear("inp_gate", from: layer.width, to: width)
        projection = try layer.linear("proj", from: width, to: layer.width)
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (compute, work) = (context.compute, context.work)
        let width = gate.weights.rows
        let gated = work[.gate, input.rows, width]
        compute.multiply(input, by: gate, into: gated)
        let layers = context.layerCount
        let own = work[.perLayer, input.rows, layers * width][columns: context.layer * width, count: width]
        compute.activate(gated, own, .gelu, into: gated)
        compute.multiply(gated, by: projection, into: output)
    }
}
