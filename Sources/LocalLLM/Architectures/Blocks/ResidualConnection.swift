/// How a block reads the residual stream and adds to it, in models that do not simply add.
protocol ResidualConnection: AnyObject {
    /// - Parameters:
    ///   - residual: `[rows, streams · width]`. May be changed.
    ///   - input: `[rows, width]`: becomes what the block's norm reads. Another matrix.
    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext)

    /// Called after `read`, when the block has been computed.
    ///
    /// - Parameter output: `[rows, width]`, of the block.
    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext)
}

/// A block whose normalized input, scaled, takes the residual stream's place (MiniMax 01).
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
