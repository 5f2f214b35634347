import GGUF
import Compute
import Foundation

/// HRM-Text (hierarchical reasoning model, Wang et al. 2025): two stacks of layers that run alternately over the same tokens. The low
/// stack runs several times per run of the high stack.
///
///     repeat hCycles times:  repeat lCycles times: low = rms(lowStack(high + low))
///                            high = rms(highStack(high + low))
///
/// `high` starts as the embedding and ends as the input of the output projection; `low` starts as a learned vector. Each run of a stack
/// has its own KV cache. Attention is causal in prompts too, as in the reference when no prefix is marked (`hrm.prefix_lm`).
/// Reference implementation: transformers' `HrmTextModel`.
extension Family {
    static let hrmText = Family(
        normsHaveWeights: false, embeddingScale: .key("embedding_scale", default: 1), outputNorm: nil,
        network: { model throws(ModelFileError) in try model.alternatingStacks() })
}

extension DecoderBuilder {
    /// The file has the blocks of the low stack first, then those of the high stack; `block_count` counts a block once per run.
    fileprivate func alternatingStacks() throws(ModelFileError) -> DecoderNetwork {
        let stack = try hyper.count("hrm.layers_per_stack")
        let (highCycles, lowCycles) = (try hyper.count("hrm.h_cycles"), try hyper.count("hrm.l_cycles"))
        let runs = highCycles.multipliedReportingOverflow(by: lowCycles + 1)
        let layersRun = runs.partialValue.multipliedReportingOverflow(by: stack)
        guard !runs.overflow, !layersRun.overflow, layersRun.partialValue == layerCount else {
            throw hyper.invalid(
                "block_count", "hrm.layers_per_stack · hrm.h_cycles · (hrm.l_cycles + 1)", found: layerCount)
        }
        let table = try file.matrix("token_embd.weight", columns: width)
        let initial = try file.vector("hrm.z_l_init", width)
        var blocks: [DecoderNetwork.Layer] = []
        for index in 0..<2 * stack { blocks.append(try LayerBuilder(self, index).layer()) }
        var layers: [DecoderNetwork.Layer] = []
        for run in 0..<highCycles * (lowCycles + 1) {
            let isHigh = run % (lowCycles + 1) == lowCycles
            for index in 0..<stack {
                var layer = blocks[isHigh ? stack + index : index]
                layer.mixerConnection = StackConnection(
                    isHigh: isHigh, addsOther: index == 0, initial: run == 0 && index == 0 ? initial : nil)
                layer.feedForwardConnection = StackConnection(
                    isHigh: isHigh, norm: index == stack - 1 ? weightlessNorm(width) : nil)
                layers.append(layer)
            }
        }
        return DecoderNetwork(
            DecoderNetwork.Parts(
                embedding: try embedding(table), layers: layers, head: try head(table), rotaries: rotaries,
                trainedContext: trainedContext, streams: 2, gather: StackConnection(isHigh: true)))
    }
}

/// The residual stream of one stack. A row is `[high, low]`, `width` values each.
private final class StackConnection: ResidualConnection {
    private let isHigh: Bool
    /// Whether a run starts here: the stream becomes the sum of both.
    private let addsOther: Bool
    /// Start of the low stream; `nil` after the first run.
    private let initial: [Float]?
    /// Applied to the stream at the end of a run.
    private let norm: Norm?

    init(isHigh: Bool, addsOther: Bool = false, initial: [Float]? = nil, norm: Norm? = nil) {
        self.isHigh = isHigh
        self.addsOther = addsOther
        self.initial = initial
        self.norm = norm
    }

    private func stream(_ residual: Matrix, isHigh: Bool) -> Matrix {
        residual[columns: isHigh ? 0 : residual.columns / 2, count: residual.columns / 2]
    }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        let own = stream(residual, isHigh: isHigh)
        if let initial { context.compute.fill(stream(residual, isHigh: false), withRow: initial) }
        if addsOther { context.compute.add(stream(residual, isHigh: !isHigh), to: own) }
        context.compute.copy(own, into: input)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        let own = stream(residual, isHigh: isHigh)
        context.compute.add(output, to: own)
        if let norm { context.compute.normalize(own, norm, into: own) }
    }
}
