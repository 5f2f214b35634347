import GGUF
import Compute
import KernelFormats
import Foundation

/// Gemma 3n: there are several residual streams (AltUp, Baykal et al. 2023). Only the active one goes through attention
/// and MLP; each layer predicts all streams and corrects the predictions by its change of the active one.
///
/// A low-rank layer runs parallel to attention (LAuReL, Menghani et al. 2024), the first layers' MLPs are sparse, the
/// model has per-layer embeddings, and the last layers share keys and values of earlier ones. Reference implementation:
/// `modeling_gemma3n.py` in transformers.
final class Gemma3n: Network {
    static let family = Family(
        mixerPostNorm: "post_attention_norm", feedForwardPostNorm: "post_ffw_norm", embeddingScale: .rootOfWidth,
        logitSoftcap: .present("final_logit_softcapping", default: 30),
        windows: .init(period: 5, rotaryBase: 10_000, areUnscaled: true), weightlessNorms: [.value],
        scoreScale: .key("attention.scale", default: 1), activation: .gelu,
        network: { builder throws(ModelFileError) in try Gemma3n(builder) })

    private struct Layer {
        let attention: any Mixer
        let attentionNorm: Norm
        let attentionPostNorm: Norm
        let mlp: MLP
        /// Standard deviations above the mean at which the MLP's gate is cut off; `nil`: no cut-off.
        let sparsity: Float?
        let mlpNorm: Norm
        let mlpPostNorm: Norm
        /// The low-rank layer parallel to attention.
        let laurelDown: Linear
        let laurelUp: Linear
        let laurelNorm: Norm
        /// From the active stream to coefficients of the modes.
        let router: Linear
        let routerNorm: Norm
        /// From modes to the coefficients of the prediction, and of the correction.
        let predict: Linear
        let correct: Linear
        let correctScale: [Float]
        let perLayer: PerLayerBlock
        let perLayerNorm: Norm
    }

    var stateShape: StateShape
    let vocabularySize: Int
    let trainedContext: Int
    private let streams: Int
    private let width: Int
    private let embedding: Embedding
    private let perLayer: PerLayerEmbeddings
    /// Projections from the first stream to each other, and back.
    private let spread: [Linear]
    private let gather: [Linear]
    private let layers: [Layer]
    private let head: OutputHead
    private let rotaries: [Rotary]
    private let work = Workspace()

    private init(_ model: DecoderBuilder) throws(ModelFileError) {
        let (file, hyper) = (model.file, model.hyper)
        width = model.width
        streams = try hyper.count("altup.num_inputs", default: 4)
        guard (2...16).contains(streams) else { throw hyper.invalid("altup.num_inputs", "2...16", found: streams) }
        let table = try file.matrix("token_embd.weight", columns: width)
        embedding = Embedding(table: table, scale: Float(width).squareRoot())
        guard let perLayer = try PerLayerEmbeddings(model) else {
            throw ModelFileError(.missingTensor, "Tensor 'per_layer_proj_norm.weight' is missing.", path: file.path)
        }
        self.perLayer = perLayer
        spread = try file.experts("altup_proj", streams - 1, from: width, to: [width], scaled: false).map { $0[0] }
        gather = try file.experts("altup_unembd_proj", streams - 1, from: width, to: [width], scaled: false)
            .map { $0[0] }
        let shared = try hyper.countIfPresent("attention.shared_kv_layers")
        let firstShared = shared.map { model.layerCount - $0 } ?? 20
        guard firstShared >= 2 else {
            throw hyper.invalid(
                "attention.shared_kv_layers", "less than the number of layers minus one", found: shared ?? 0)
        }
        let sparsity = try hyper.doubles("activation_sparsity_scale", layers: model.layerCount)
        var layers: [Layer] = []
        for index in 0..<model.layerCount {
            // The cut-off share of values as standard deviations: 1.645 cuts off 95 %.
            let deviations =
                sparsity.map { $0[index] == 0 ? nil : Float($0[index]) } ?? (index < 10 ? 1.644_853_6 : nil)
            layers.append(
                try Self.layer(
                    LayerBuilder(model, index), streams: streams, perLayerWidth: perLayer.width,
                    firstShared: firstShared, sparsity: deviations))
        }
        self.layers = layers
        head = try model.head(table)
        vocabularySize = table.rows
        trainedContext = model.trainedContext
        rotaries = model.rotaries
        stateShape = StateShape(layers.map { $0.attention.state })
    }

    private static func layer(
        _ layer: LayerBuilder, streams: Int, perLayerWidth: Int, firstShared: Int, sparsity: Float?
    ) throws(ModelFileError) -> Layer {
        let (file, name, width) = (layer.file, layer.name, layer.width)
        func norm(_ part: String) throws(ModelFileError) -> Norm { try layer.model.norm(name + part) }
        let source = layer.index < firstShared ? nil : try layer.sharedLayer(before: firstShared)
        guard let attention = try layer.attention(sharing: source) else {
            throw layer.hyper.invalid("attention.head_count", "above 0 in each layer", found: 0)
        }
        guard let rank = file.tensorIfPresent(name + "laurel_l.weight")?.shape.last else {
            throw ModelFileError(.missingTensor, "Tensor '\(name)laurel_l.weight' is missing.", path: file.path)
        }
        return Layer(
            attention: attention, attentionNorm: try norm("attn_norm"),
            attentionPostNorm: try norm("post_attention_norm"),
            mlp: try layer.mlp(
                hiddenWidth: try layer.hyper.positive(
                    "feed_forward_length", layer.model.feedForwardWidths[layer.index])),
            sparsity: sparsity, mlpNorm: try norm("ffn_norm"), mlpPostNorm: try norm("post_ffw_norm"),
            laurelDown: try layer.linear("laurel_l", from: width, to: rank),
            laurelUp: try layer.linear("laurel_r", from: rank, to: width), laurelNorm: try norm("laurel_post_norm"),
            router: try layer.linear("altup_router", from: width, to: streams),
            routerNorm: try norm("altup_router_norm"),
            predict: try layer.linear("altup_predict_coef", from: streams, to: streams * streams),
            correct: try layer.linear("altup_correct_coef", from: streams, to: streams),
            correctScale: try file.vector(name + "altup_correct_scale.weight", width),
            perLayer: try PerLayerBlock(layer, width: perLayerWidth), perLayerNorm: try norm("post_norm"))
    }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        let rows = step.tokens.count
        let all = work[.streams, streams * rows, width]
        let first = all[rows: 0, count: rows]
        embedding.embed(step, into: first, work, on: compute)
        var context = LayerContext(
            step: step, layer: 0, layerCount: layers.count, work: work, compute: compute,
            angles: rotaries.enumerated().map { $1.angles(of: step.positions, in: work, index: $0) })
        perLayer.prepare(first, context)
        for (index, projection) in spread.enumerated() {
            let stream = all[rows: (index + 1) * rows, count: rows]
            compute.multiply(first, by: projection, into: stream)
            compute.matchLength(of: stream, to: first)
        }
        for (index, layer) in layers.enumerated() where !step.isAbandoned() {
            context.layer = index
            forward(layer, all, rows, context)
        }
        let other = work[.mixed, rows, width]
        let sum = work[.branch, rows, width]
        compute.copy(first, into: sum)
        for (index, projection) in gather.enumerated() {
            compute.multiply(all[rows: (index + 1) * rows, count: rows], by: projection, into: other)
            compute.matchLength(of: other, to: first)
            compute.add(other, to: sum)
        }
        compute.scale(sum, by: 1 / Float(streams))
        return head.outputs(step, sum, work, compute)
    }

    private func forward(_ layer: Layer, _ all: Matrix, _ rows: Int, _ context: LayerContext) {
        let compute = context.compute
        let predictions = work[.predictions, streams * rows, width]
        predict(layer, all, into: predictions, rows, context)
        let active = predictions[rows: 0, count: rows]

        let normed = work[.normed, rows, width]
        compute.normalize(active, layer.attentionNorm, into: normed)
        let laurel = work[.branch, rows, width]
        let low = work[.up, rows, layer.laurelDown.weights.rows]
        compute.multiply(normed, by: layer.laurelDown, into: low)
        compute.multiply(low, by: layer.laurelUp, into: laurel)
        compute.normalize(laurel, layer.laurelNorm, into: laurel)
        compute.add(normed, to: laurel)

        let mixed = work[.mixed, rows, width]
        layer.attention.forward(normed, into: mixed, context)
        compute.normalize(mixed, layer.attentionPostNorm, into: mixed)
        compute.add(active, to: mixed)
        compute.add(laurel, to: mixed)
        compute.scale(mixed, by: Float(0.5).squareRoot())

        compute.normalize(mixed, layer.mlpNorm, into: normed)
        layer.mlp.forward(normed, into: normed, cutting: layer.sparsity, context)
        compute.normalize(normed, layer.mlpPostNorm, into: normed)
        compute.add(normed, to: mixed)
        correct(layer, predictions, by: mixed, into: all, rows, context)

        compute.copy(all[rows: 0, count: rows], into: mixed)
        compute.scale(mixed, by: layer.correctScale)
        layer.perLayer.forward(mixed, into: normed, context)
        compute.normalize(normed, layer.perLayerNorm, into: normed)
        for stream in 1..<streams { compute.add(normed, to: all[rows: stream * rows, count: rows]) }
    }

    /// Mode coefficients of the active stream, `[rows, streams]`.
    private func modes(_ layer: Layer, _ active: Matrix, _ context: LayerContext) -> Matrix {
        let compute = context.compute
        let normed = work[.normed, active.rows, width]
        compute.normalize(active, layer.routerNorm, into: normed)
        compute.scale(normed, by: 1 / Float(width))
        let modes = work[.gains, active.rows, streams]
        compute.multiply(normed, by: layer.router, into: modes)
        compute.softcap(modes, at: 1)
        return modes
    }

    /// Predicts each stream: itself plus a linear combination of all streams.
    private func predict(
        _ layer: Layer, _ all: Matrix, into predictions: Matrix, _ rows: Int, _ context: LayerContext
    ) {
        let modes = modes(layer, all[rows: 0, count: rows], context)
        let shares = work[.lowRank, rows, streams * streams]
        context.compute.multiply(modes, by: layer.predict, into: shares)
        context.compute.predictStreams(all, shares, into: predictions)
    }

    /// Corrects each stream's prediction by a share of the change of the active one.
    private func correct(
        _ layer: Layer, _ predictions: Matrix, by activated: Matrix, into all: Matrix, _ rows: Int,
        _ context: LayerContext
    ) {
        let modes = modes(layer, activated, context)
        let shares = work[.lowRank, rows, streams]
        context.compute.multiply(modes, by: layer.correct, into: shares)
        context.compute.correctStreams(predictions, shares, by: activated, into: all)
    }
}
