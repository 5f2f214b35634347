/// What lets the tokens of a sequence act on each other in a layer: attention, or a recurrent mixer.
protocol Mixer: AnyObject {
    /// What the layer remembers of a sequence.
    var state: LayerState { get }

    /// - Parameters:
    ///   - input: `[rows, width]`. Must not be changed.
    ///   - output: `[rows, width]`. Another matrix than `input`.
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext)
}

/// What transforms each token of a layer by itself: an MLP or a mixture of experts.
protocol FeedForward: AnyObject {
    /// Called before the layer's mixer runs, for blocks that look at what the layer reads.
    ///
    /// - Parameter residual: `[rows, width]`, not normalized. Must not be changed.
    func prepare(_ residual: Matrix, _ context: LayerContext)

    /// - Parameters:
    ///   - input: `[rows, width]`. Must not be changed but through `output`.
    ///   - output: `[rows, width]`. May be `input`.
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext)
}

extension FeedForward {
    func prepare(_ residual: Matrix, _ context: LayerContext) {}
}

/// What the blocks of a layer work with in one step.
struct LayerContext {
    let step: Step
    /// Index of the layer, by which its state is found.
    var layer: Int
    let layerCount: Int
    let work: Workspace
    let compute: Compute
    /// Angles of the step's rows, by the index that `DecoderBuilder.rotary` gave.
    let angles: [RotaryAngles]
    /// Which rows look at which where each sees what is before and after it; `nil`: each segment of the step at itself.
    var spans: [AttentionSpan]?
}
