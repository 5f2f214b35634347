/// The hierarchical reasoning model for text (Wang et al. 2025; DFM Mimir): two stacks of layers that run in turn over two streams.
///
///     low ← norm(lowLayers(low + high)), several times, then high ← norm(highLayers(high + low)); and all of that several times
///
/// Each run of a stack has keys and values of its own. Norms have no weights. Reference implementation: `modeling_hrm_text.py` in
/// transformers.
final class HRMText: Network {
    static let family = Family(
        normsHaveWeights: false, embeddingScale: .key("embedding_scale", default: 1), outputNorm: nil,
        network: { builder throws(ModelFileError) in try HRMText(builder) })

    var stateShape: StateShape
    let vocabularySize: Int
    let trainedContext: Int
    private let embedding: Embedding
    /// The low stream before the first run.
    private let initial: [Float]
    private let low: [DecoderNetwork.Layer]
    private let high: [DecoderNetwork.Layer]
    /// Runs of the low stack before one of the high.
    private let lowCycles: Int
    private let highCycles: Int
    private let norm: Norm
    private let head: OutputHead
    private let rotaries: [Rotary]
    private let work = Workspace()

    private init(_ model: DecoderBuilder) throws(ModelFileError) {
        let (file, hyper) = (model.file, model.hyper)
        if try hyper.bool("hrm.prefix_lm") == true {
            throw hyper.invalid(
                "hrm.prefix_lm", "false: prompts whose tokens see later ones are not supported", found: true)
        }
        let height = try hyper.count("hrm.layers_per_stack")
        lowCycles = try hyper.count("hrm.l_cycles")
        highCycles = try hyper.count("hrm.h_cycles")
        guard model.layerCount <= 1 << 12, height <= model.layerCount, lowCycles < model.layerCount,
            highCycles <= model.layerCount,
            height * highCycles * (lowCycles + 1) == model.layerCount
        else {
            throw hyper.invalid(
                "block_count", "hrm.layers_per_stack · hrm.h_cycles · (hrm.l_cycles + 1)", found: model.layerCount)
        }
        let table = try file.matrix("token_embd.weight", columns: model.width)
        embedding = try model.embedding(table)
        initial = try file.vector("hrm.z_l_init", model.width)
        func stack(_ blocks: Range<Int>) throws(ModelFileError) -> [DecoderNetwork.Layer] {
            var layers: [DecoderNetwork.Layer] = []
            for block in blocks { layers.append(try LayerBuilder(model, block).layer()) }
            return layers
        }
        (low, high) = (try stack(0..<height), try stack(height..<2 * height))
        norm = model.weightlessNorm(model.width)
        head = try model.head(table)
        vocabularySize = table.rows
        trainedContext = model.trainedContext
        rotaries = model.rotaries
        let cycle = Array(repeating: low, count: lowCycles).flatMap { $0 } + high
        stateShape = StateShape(
            Array(repeating: cycle, count: highCycles).flatMap { $0 }.map { $0.mixer?.state ?? .none })
    }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        let (rows, width) = (step.tokens.count, embedding.width)
        let highStream = work[.residual, rows, width], lowStream = work[.streams, rows, width]
        embedding.embed(step, into: highStream, work, on: compute)
        for row in 0..<rows { for column in 0..<width { lowStream[row][column] = initial[column] } }
        var context = LayerContext(
            step: step, layer: 0, layerCount: stateShape.layers.count, work: work, compute: compute,
            angles: rotaries.enumerated().map { $1.angles(of: step.positions, in: work, index: $0) })
        func run(_ stack: [DecoderNetwork.Layer], _ stream: Matrix, adding other: Matrix) {
            compute.add(other, to: stream)
            for layer in stack {
                if !step.isAbandoned() { layer.forward(stream, width: width, context) }
                context.layer += 1
            }
            compute.normalize(stream, norm, into: stream)
        }
        for _ in 0..<highCycles {
            for _ in 0..<lowCycles { run(low, lowStream, adding: highStream) }
            run(high, highStream, adding: lowStream)
        }
        return head.outputs(step, highStream, work, compute)
    }
}
