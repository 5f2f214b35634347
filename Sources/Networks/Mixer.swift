import GGUF
import Compute
import KernelFormats

/// The part of a layer in which tokens of a sequence interact: attention, or a recurrent mixer.
protocol Mixer: AnyObject {
    /// The layer's state per sequence.
    var state: LayerState { get }

    /// - Parameters:
    ///   - input: `[rows, width]`. Not changed.
    ///   - output: `[rows, width]`. Must not overlap `input`.
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext)
}

/// Attention that can store the keys and values of all rows, and then compute the outputs of some rows only.
protocol StoringMixer: Mixer {
    /// Stores the keys and values of all rows.
    func store(_ input: Matrix, _ context: LayerContext)

    /// Computes the outputs of rows that are stored.
    ///
    /// - Parameters:
    ///   - input: Some rows of the input of `store`, those of the context's step.
    ///   - output: As in `forward`.
    func attend(_ input: Matrix, into output: Matrix, _ context: LayerContext)
}

/// The part of a layer that transforms each token separately: an MLP or a mixture of experts.
protocol FeedForward: AnyObject {
    /// Whether `forward` reads only its input and the step, so that rows may be left out of both.
    var readsOnlyInput: Bool { get }

    /// Called before the layer's mixer runs, for blocks that read the layer's input.
    ///
    /// - Parameter residual: `[rows, width]`, not normalized. Not changed.
    func prepare(_ residual: Matrix, _ context: LayerContext)

    /// - Parameters:
    ///   - input: `[rows, width]`. Not changed unless it is `output`.
    ///   - output: `[rows, width]`. May be `input`.
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext)
}

extension FeedForward {
    var readsOnlyInput: Bool { false }

    func prepare(_ residual: Matrix, _ context: LayerContext) {}
}

/// What the blocks of a layer need in a step.
struct LayerContext {
    private(set) var step: Step
    /// Index of the layer, used to find its state.
    var layer: Int
    let layerCount: Int
    let work: Workspace
    let compute: Compute
    /// Angles of the step's rows, by the index from `DecoderBuilder.index(of:)`.
    private(set) var angles: [RotaryAngles]
    /// Bidirectional attention: which rows attend to which; `nil`: each segment of the step to itself.
    var spans: [AttentionSpan]?

    /// The precision of the layer's attention. Rows of answers are computed in floats, and all rows if the weights of
    /// `projection`, a matrix of the layer, are 32-bit floats. If they are quantized, scores of prompts have 8 bits.
    func precision(_ projection: Linear) -> AttentionPrecision {
        let type = projection.weights.tensor.type
        return type == .F32 ? .floats : AttentionPrecision(exactRows: step.answerRows, hasByteScores: type.isQuantized)
    }

    /// The step's segments, with their states of this layer.
    var runs: [RecurrentRun] { step.runs(ofLayer: layer) }

    /// The context of the rows with an output. The angles of the other rows are lost.
    ///
    /// - Parameter outputs: `step.ofOutputs`.
    func keeping(_ outputs: Step) -> LayerContext {
        var kept = self
        kept.step = outputs
        kept.angles = angles.map { angles in
            RotaryAngles(
                layout: angles.layout, cosines: angles.cosines.keep(step.outputRows),
                sines: angles.sines.keep(step.outputRows))
        }
        return kept
    }
}
