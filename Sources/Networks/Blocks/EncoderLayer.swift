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
        let result = context.work[.mixed, residual.rows, residual.columns]
        attention.forward(input(residual, attentionNorms, context), into: result, context)
        add(result, attentionNorms, to: residual, context)
        addFeedForward(to: residual, context)
    }

    /// The first half of `forward` for some rows: what other rows read of them.
    func begin(_ residual: Matrix, _ rows: Range<Int>, _ context: LayerContext) {
        let part = residual[rows: rows.lowerBound, count: rows.count]
        attention.project(input(part, attentionNorms, context), to: rows, of: residual.rows, context)
    }

    /// The second half, once `begin` was called for all rows.
    ///
    /// - Parameter spans: What these rows attend to, and no others.
    func finish(_ residual: Matrix, _ rows: Range<Int>, within spans: [AttentionSpan], _ context: LayerContext) {
        let part = residual[rows: rows.lowerBound, count: rows.count]
        let result = context.work[.mixed, rows.count, residual.columns]
        attention.attend(rows, of: residual.rows, within: spans, into: result, context)
        add(result, attentionNorms, to: part, context)
        addFeedForward(to: part, context)
    }

    private func addFeedForward(to residual: Matrix, _ context: LayerContext) {
        let result = context.work[.mixed, residual.rows, residual.columns]
        feedForward.forward(input(residual, feedForwardNorms, context), into: result, context)
        add(result, feedForwardNorms, to: residual, context)
        if outputScale != 1 { context.compute.scale(residual, by: outputScale) }
    }

    /// The input of a block.
    private func input(_ residual: Matrix, _ norms: Norms, _ context: LayerContext) -> Matrix {
        guard let before = norms.before else { return residual }
        let input = context.work[.normed, residual.rows, residual.columns]
        context.compute.normalize(residual, before, into: input)
        return input
    }

    /// Adds a block's output to the residual stream.
    ///
    /// - Parameter result: Changed.
    private func add(_ result: Matrix, _ norms: Norms, to residual: Matrix, _ context: LayerContext) {
        let compute = context.compute
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
