import Compute

/// A layer of an encoder: attention and a feed-forward block, each added to the residual stream.
struct EncoderLayer {
    let attention: EncoderAttention
    let attentionNorms: Norms
    let feedForward: any FeedForward
    let feedForwardNorms: Norms
    /// Factor on the residual stream after both blocks.
    var outputScale: Float = 1

    /// Norms around a block. With x as the residual stream: `y = after(gain · block(before(x)))`, `x = ofSum(x + y)`,
    /// or with a second norm `x = second(x + ofSum(x + y))`.
    struct Norms {
        /// Norm of the block's input (pre-norm).
        var before: Norm?
        /// Factors on the block's output (LayerScale, Touvron et al. 2021).
        var gain: [Float]?
        /// Norm of the block's output.
        var after: Norm?
        /// Norm of the residual stream after the block's output was added (post-norm, as in BERT).
        var ofSum: Norm?
        var second: Norm?
    }

    /// - Parameter residual: `[rows, width]`, changed in place.
    func forward(_ residual: Matrix, _ context: LayerContext) {
        add({ attention.forward($0, into: $1, context) }, attentionNorms, to: residual, context)
        add({ feedForward.forward($0, into: $1, context) }, feedForwardNorms, to: residual, context)
        if outputScale != 1 { context.compute.scale(residual, by: outputScale) }
    }

    /// Adds a block's output to the residual stream.
    private func add(
        _ block: (_ input: Matrix, _ output: Matrix) -> Void, _ norms: Norms, to residual: Matrix,
        _ context: LayerContext
    ) {
        let (compute, work) = (context.compute, context.work)
        var input = residual
        let result = work[.mixed, residual.rows, residual.columns]
        if let before = norms.before {
            input = work[.normed, residual.rows, residual.columns]
            compute.normalize(residual, before, into: input)
        }
        block(input, result)
        if let gain = norms.gain { compute.scale(result, by: gain) }
        if let after = norms.after { compute.normalize(result, after, into: result) }
        if let second = norms.second, let first = norms.ofSum {
            compute.add(residual, to: result)
            compute.normalize(result, first, into: result)
            compute.add(result, to: residual)
            compute.normalize(residual, second, into: residual)
        } else {
            compute.add(result, to: residual)
            if let norm = norms.ofSum { compute.normalize(residual, norm, into: residual) }
        }
    }
}
