/// The part of a layer in which tokens of a sequence interact: attention, or a recurrent mixer.
protocol Mixer: AnyObject {
    /// The layer's state per sequence.
    var state: LayerState { get }

    /// - Parameters:
    ///   - input: `[rows, width]`. Not changed.
    ///   - output: `[rows, width]`. Must not overlap `input`.
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext)
}

/// The part of a layer that transforms each token separately: an MLP or a mixture of experts.
protocol FeedForward: AnyObject {
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
    func prepare(_ residual: Matrix, _ context: LayerContext) {}
}

/// What the blocks of a layer need in a step.
struct LayerContext {
    let step: Step
    /// Index of the layer, used to find its state.
    var layer: Int
    let layerCount: Int
    let work: Workspace
    let compute: Compute
    /// Angles of the step's rows, by the index from `DecoderBuilder.index(of:)`.
    let angles: [RotaryAngles]
    /// Bidirectional attention: which rows attend to which; `nil`: each segment of the step to itself.
    var spans: [AttentionSpan]?
}
