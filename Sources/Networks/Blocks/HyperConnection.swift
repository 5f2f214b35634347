import GGUF
import Compute

/// Several residual streams that are mixed for each block (hyper-connections, Zhu et al. 2024; on a manifold, Xie et
/// al. 2025).
///
///     m = project · rms(x₁ … xₙ)        input = Σᵢ (σ(s₀·mᵢ + bᵢ) + ε) · xᵢ
///     xᵢ = postᵢ·output + Σⱼ combⱼᵢ·xⱼ    postᵢ = factor·σ(s₁·mₙ₊ᵢ + bₙ₊ᵢ) + offset
///
/// comb is the softmax of the remaining m, with rows and columns normalized alternately (Sinkhorn); if m has no more
/// values, comb is the identity.
final class HyperConnection: ResidualConnection {
    /// Differences between models.
    struct Style: Sendable {
        var postFactor: Float = 2
        var postOffset: Float = 0
        /// Sinkhorn iterations on comb; 0: comb is the identity.
        var iterations = 0
    }

    private let streams: Int
    private let style: Style
    private let epsilon: Float
    private let norm: Norm
    private let projection: Linear
    /// s, one per part of m.
    private let scales: [Float]
    /// b of each part.
    private let bases: (read: [Float], write: [Float], comb: [Float])
    /// Number of values of m. Without the parts for `write`, one per stream.
    private let mixCount: Int

    /// - Parameters:
    ///   - name: Prefix of the tensors `{name}_fn.weight`, `{name}_scale.weight` and `{name}_base.weight`.
    ///   - writes: Whether the connection also writes; if not, it only gathers the streams.
    init(_ model: DecoderBuilder, _ name: String, _ style: Style, writes: Bool = true) throws(ModelFileError) {
        streams = try Self.streams(model)
        self.style = style
        epsilon = Float(try model.hyper.double("hyper_connection.epsilon") ?? 0)
        let columns = streams * model.width
        norm = model.weightlessNorm(columns, .rms)
        mixCount = !writes ? streams : style.iterations > 0 ? (2 + streams) * streams : 2 * streams
        projection = Linear(
            weights: model.file.weights(try model.file.tensor(name + "_fn.weight", shape: [columns, mixCount])))
        scales = try model.file.vector(name + "_scale.weight", !writes ? 1 : style.iterations > 0 ? 3 : 2)
        let all = try model.file.vector(name + "_base.weight", mixCount)
        bases = (
            Array(all.prefix(streams)), Array(all.dropFirst(streams).prefix(streams)),
            Array(all.dropFirst(2 * streams))
        )
    }

    /// Number of residual streams of a model.
    static func streams(_ model: DecoderBuilder) throws(ModelFileError) -> Int {
        let count = try model.hyper.count("hyper_connection.count")
        guard count <= 16 else { throw model.hyper.invalid("hyper_connection.count", "1...16", found: count) }
        return count
    }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let normed = context.work[.streams, residual.rows, residual.columns]
        compute.normalize(residual, norm, into: normed)
        let mixes = self.mixes(residual.rows, context)
        compute.multiply(normed, by: projection, into: mixes)
        let weights = mixes[columns: 0, count: streams]
        compute.weigh(weights, scale: scales[0], bias: bases.read, offset: epsilon)
        compute.sumStreams(residual, times: weights, into: input)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let mixes = self.mixes(residual.rows, context)
        if style.iterations > 0 {
            let old = context.work[.streams, residual.rows, residual.columns]
            compute.copy(residual, into: old)
            let comb = mixes[columns: 2 * streams, count: streams * streams]
            compute.balance(
                comb, scale: scales[2], bias: bases.comb, epsilon: epsilon, iterations: style.iterations)
            compute.mixStreams(old, streams, by: comb, into: residual)
        }
        let weights = mixes[columns: streams, count: streams]
        compute.weigh(
            weights, scale: scales[1], bias: bases.write, factor: style.postFactor, offset: style.postOffset)
        compute.add(output, times: weights, toStreams: residual)
    }

    /// m, `[rows, mixes]`, from `read` to `write`.
    private func mixes(_ rows: Int, _ context: LayerContext) -> Matrix { context.work[.connection, rows, mixCount] }
}

/// The mean of all streams, with which GLM 5 Next gathers them.
final class MeanOfStreams: ResidualConnection {
    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        context.compute.averageStreams(residual, into: input)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {}
}
