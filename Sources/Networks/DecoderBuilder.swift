import GGUF
import Compute

/// Builds a decoder of a family from a file.
final class DecoderBuilder {
    let file: ModelReader
    let family: Family
    let hyper: Hyperparameters
    let width: Int
    /// Number of layers, without those for multi-token prediction.
    let layerCount: Int
    let trainedContext: Int
    /// The context in tokens to serve, which selects between scalings of positions.
    let context: Int
    let headCounts: [Int]
    let kvHeadCounts: [Int]
    let feedForwardWidths: [Int]
    let norm: Norm.Kind
    let epsilon: Float
    /// Shape of the experts, shared by all layers.
    let experts: Experts.Shape?
    /// The window of each layer; `nil`: none.
    let windows: [Int?]
    private(set) var rotaries: [Rotary] = []

    /// - Parameter context: Context in tokens to serve; `nil`: the trained context.
    init(_ file: ModelReader, architecture: String, _ family: Family, context: Int? = nil) throws(ModelFileError) {
        let file = file.hiding { family.isUnused($0) }
        self.file = file
        self.family = family
        let hyper = Hyperparameters(file: file, architecture: architecture)
        self.hyper = hyper
        width = try hyper.count("embedding_length")
        trainedContext = try hyper.count("context_length")
        self.context = context ?? trainedContext
        let blocks = try hyper.blockCount()
        let predicting = try hyper.countIfPresent("nextn_predict_layers") ?? 0
        guard predicting < blocks else {
            throw hyper.invalid("nextn_predict_layers", "less than the number of blocks, \(blocks)", found: predicting)
        }
        layerCount = blocks - predicting
        try Self.checkPrediction(hyper, layerCount..<blocks)
        headCounts = try hyper.counts("attention.head_count", layers: blocks)
        kvHeadCounts = try hyper.countsIfPresent("attention.head_count_kv", layers: blocks) ?? headCounts
        for (heads, kvHeads) in zip(headCounts, kvHeadCounts) where kvHeads > 0 && heads % kvHeads != 0 {
            throw hyper.invalid("attention.head_count_kv", "a divisor of the \(heads) heads", found: kvHeads)
        }
        feedForwardWidths = try hyper.counts("feed_forward_length", layers: blocks, default: 0)
        let declaresRMS = try hyper.factor("attention.layer_norm_rms_epsilon") != nil
        norm =
            switch family.norm {
            case .rms: .rms
            case .layer: .layer
            case .declared: declaresRMS ? .rms : .layer
            }
        let epsilonKey = norm == .rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"
        var epsilon = try hyper.double(epsilonKey)
        if epsilon == nil { epsilon = try hyper.double("attention.layer_norm_rms_epsilon") }
        self.epsilon = Float(epsilon ?? 1e-5)
        windows = try Self.windows(hyper, family.windows, layers: layerCount)
        if let style = family.experts {
            experts = try Experts.Shape(hyper, style, width: width, layers: blocks)
        } else if let count = try hyper.int("expert_count"), count > 0 {
            throw ModelFileError(
                .unsupported,
                "This is a mixture of \(count) experts; of '\(architecture)' only dense models are supported.",
                path: file.path)
        } else {
            experts = nil
        }
    }

    /// Checks that the blocks that are left out are for multi-token prediction. Files may lack their tensors.
    private static func checkPrediction(_ hyper: Hyperparameters, _ blocks: Range<Int>) throws(ModelFileError) {
        guard !blocks.isEmpty else { return }
        let namesByBlock = Dictionary(grouping: hyper.file.tensors.map(\.name)) { name in
            name.hasPrefix("blk.") ? name.dropFirst(4).prefix { $0 != "." } : ""
        }
        for block in blocks {
            let names = namesByBlock[Substring("\(block)")] ?? []
            guard names.isEmpty || names.contains(where: { $0.contains(".nextn.") }) else {
                throw hyper.invalid(
                    "nextn_predict_layers", "0, as block \(block) has no tensor 'nextn.*'", found: blocks.count)
            }
        }
    }

    /// The parts of a `DecoderNetwork`, as the family declares them.
    func parts() throws(ModelFileError) -> DecoderNetwork.Parts {
        let table = try file.matrix(
            file.tensorIfPresent("token_embd.weight") == nil ? "output.weight" : "token_embd.weight", columns: width)
        var layers: [DecoderNetwork.Layer] = []
        for index in 0..<layerCount { layers.append(try LayerBuilder(self, index).layer()) }
        let streams: (count: Int, gather: any ResidualConnection)? =
            if let make = family.streams { try make(self) } else { nil }
        let (embedding, head) = (try embedding(table), try head(table))
        let predictor =
            family.predicts && layerCount < feedForwardWidths.count
            ? try PredictionHead(self, embedding: embedding, head: head) : nil
        return DecoderNetwork.Parts(
            embedding: embedding, layers: layers, head: head, rotaries: rotaries, trainedContext: trainedContext,
            streams: streams?.count ?? 1, gather: streams?.gather, predictor: predictor)
    }

    func embedding(_ table: WeightMatrix) throws(ModelFileError) -> Embedding {
        var norm: Norm?
        if let name = family.embeddingNorm { norm = try self.norm(name) }
        var positions: WeightMatrix?
        if file.tensorIfPresent("position_embd.weight") != nil {
            positions = try file.matrix("position_embd.weight", columns: width)
        }
        return Embedding(table: table, scale: try factor(family.embeddingScale), positions: positions, norm: norm)
    }

    func head(_ table: WeightMatrix) throws(ModelFileError) -> OutputHead {
        let (logitScale, softcap) = (try factor(family.logitScale), try factor(family.logitSoftcap))
        // Their largest logits are those of the largest products.
        let isPlain = logitScale == 1 && softcap == 0
        let projection =
            file.tensorIfPresent("output.weight") == nil
            ? Linear(weights: isPlain ? file.headWeights(table.tensor) : file.weights(table.tensor))
            : try file.linear("output", from: width, to: table.rows, isHead: isPlain)
        var norm: Norm?
        if let name = family.outputNorm { norm = try self.norm(name) }
        return OutputHead(
            norm: norm, projection: projection, stateScale: try factor(family.stateScale),
            logitScale: logitScale, softcap: softcap)
    }

    func factor(_ factor: Family.Factor) throws(ModelFileError) -> Float { try factor.value(self) }

    /// Index of a rotary embedding in `LayerContext.angles`. Layers with the same embedding share it.
    func index(of rotary: Rotary) -> Int {
        if let index = rotaries.firstIndex(of: rotary) { return index }
        rotaries.append(rotary)
        return rotaries.count - 1
    }

    /// The norm `name.weight`, with `name.bias` if the file has one.
    func norm(_ name: String, width: Int? = nil) throws(ModelFileError) -> Norm {
        let width = width ?? self.width
        guard family.normsHaveWeights else { return weightlessNorm(width) }
        // PLaMo 3's files name some norms without a suffix.
        let weight = file.tensorIfPresent(name + ".weight") == nil && file.tensorIfPresent(name) != nil ? "" : ".weight"
        return Norm(
            norm, weight: try file.vector(name + weight, width),
            bias: try file.vectorIfPresent(name + ".bias", width), epsilon: epsilon)
    }

    func weightlessNorm(_ width: Int, _ kind: Norm.Kind? = nil) -> Norm {
        Norm(kind ?? norm, weight: Array(repeating: 1, count: width), epsilon: epsilon)
    }

    private static func windows(
        _ hyper: Hyperparameters, _ style: Family.Windows?, layers: Int
    ) throws(ModelFileError) -> [Int?] {
        let declared = try hyper.int("attention.sliding_window")
        if let declared, declared != 0 { _ = try hyper.count("attention.sliding_window") }
        guard let style else { return Array(repeating: declared == 0 ? nil : declared, count: layers) }
        let size = style.size(declared, layers: layers)
        guard size > 0 else { return Array(repeating: nil, count: layers) }
        if let pattern = try hyper.flagsIfPresent("attention.sliding_window_pattern", layers: layers) {
            return pattern.map { $0 ? size : nil }
        }
        let period = try hyper.int("attention.sliding_window_pattern") ?? style.period
        guard period >= 0 else { throw hyper.invalid("attention.sliding_window_pattern", "at least 0", found: period) }
        return (0..<layers).map { layer in
            let isGlobal = period > 0 && layer % period == (style.globalIsFirst ? 0 : period - 1)
            return isGlobal ? nil : size
        }
    }
}
