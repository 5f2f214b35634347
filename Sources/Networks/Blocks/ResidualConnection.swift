import Compute

/// How a block reads and writes the residual stream, in models that do more than add.
protocol ResidualConnection: AnyObject {
    /// - Parameters:
    ///   - residual: `[rows, streams · width]`. May be changed.
    ///   - input: `[rows, width]`: receives the input of the block's norm. Must not overlap `residual`.
    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext)

    /// Called after `read`, when the block has been computed.
    ///
    /// - Parameter output: The block's output, `[rows, width]`.
    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext)
}

/// A connection in which the block's normalized, scaled input replaces the residual stream (MiniMax 01).
final class NormedResidual: ResidualConnection {
    private let norm: Norm
    private let scale: Float

    init(_ norm: Norm, scale: Float) {
        self.norm = norm
        self.scale = scale
    }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        context.compute.normalize(residual, norm, into: input)
        context.compute.copy(input, into: residual)
        context.compute.scale(residual, by: scale)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        context.compute.add(output, to: residual)
    }
}
