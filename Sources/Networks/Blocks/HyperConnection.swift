import GGUF
import Compute
import Foundation

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
    private let width: Int
    private let style: Style
    private let epsilon: Float
    private let norm: Norm
    private let projection: Linear
    /// s, one per part of m.
    private let scales: [Float]
    /// b, one per value of m.
    private let bases: [Float]
    /// Whether m has the parts for `write`.
    private let writes: Bool

    /// - Parameters:
    ///   - name: Prefix of the tensors `{name}_fn.weight`, `{name}_scale.weight` and `{name}_base.weight`.
    ///   - writes: Whether the connection also writes; if not, it only gathers the streams.
    init(_ model: DecoderBuilder, _ name: String, _ style: Style, writes: Bool = true) throws(ModelFileError) {
        (streams, width) = (try Self.streams(model), model.width)
        self.style = style
        self.writes = writes
        epsilon = Float(try model.hyper.double("hyper_connection.epsilon") ?? 0)
        norm = model.weightlessNorm(streams * width, .rms)
        let mixes = !writes ? streams : style.iterations > 0 ? (2 + streams) * streams : 2 * streams
        projection = Linear(
            weights: model.file.weights(try model.file.tensor(name + "_fn.weight", shape: [streams * width, mixes])))
        scales = try model.file.vector(name + "_scale.weight", !writes ? 1 : style.iterations > 0 ? 3 : 2)
        bases = try model.file.vector(name + "_base.weight", mixes)
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
        let mixes = context.work[.connection, residual.rows, bases.count]
        compute.multiply(normed, by: projection, into: mixes)
        compute.forEachRow(of: residual) { row in
            weigh(mixes[row])
            let (x, y) = (residual[row], input[row])
            y.update(repeating: 0, count: width)
            for stream in 0..<streams {
                compute.add(x + stream * width, times: mixes[row][stream], to: y, count: width)
            }
        }
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        let (compute, size) = (context.compute, residual.columns)
        let mixes = context.work[.connection, residual.rows, bases.count]
        let old = context.work[.streams, residual.rows, size]
        if style.iterations > 0 { compute.copy(residual, into: old) }
        compute.forEachRow(of: residual) { row in
            let post = mixes[row] + streams, comb = mixes[row] + 2 * streams
            for stream in 0..<streams {
                let x = residual[row] + stream * width
                if style.iterations > 0 {
                    x.update(repeating: 0, count: width)
                    for source in 0..<streams {
                        compute.add(
                            old[row] + source * width, times: comb[source * streams + stream], to: x, count: width)
                    }
                }
                compute.add(output[row], times: post[stream], to: x, count: width)
            }
        }
    }

    /// Computes a row's weights of streams and output, and comb, from m in place.
    private func weigh(_ mixes: UnsafeMutablePointer<Float>) {
        func sigmoid(_ index: Int, _ scale: Float) -> Float { 1 / (1 + exp(-(mixes[index] * scale + bases[index]))) }
        for index in 0..<streams { mixes[index] = sigmoid(index, scales[0]) + epsilon }
        guard writes else { return }
        for index in streams..<2 * streams {
            mixes[index] = style.postFactor * sigmoid(index, scales[1]) + style.postOffset
        }
        guard style.iterations > 0 else { return }
        let comb = mixes + 2 * streams
        for index in 0..<streams * streams { comb[index] = comb[index] * scales[2] + bases[2 * streams + index] }
        normalizeDoubly(comb)
    }

    /// Softmax of each row, then Sinkhorn iterations. `comb[source · streams + destination]`.
    private func normalizeDoubly(_ comb: UnsafeMutablePointer<Float>) {
        func divideBySums(of first: (Int) -> Int, stride: Int) {
            for line in 0..<streams {
                var sum = epsilon
                for index in 0..<streams { sum += comb[first(line) + index * stride] }
                for index in 0..<streams { comb[first(line) + index * stride] /= sum }
            }
        }
        for source in 0..<streams {
            let row = comb + source * streams
            var largest = -Float.infinity
            for index in 0..<streams { largest = max(largest, row[index]) }
            var sum: Float = 0
            for index in 0..<streams {
                row[index] = exp(row[index] - largest)
                sum += row[index]
            }
            for index in 0..<streams { row[index] = row[index] / sum + epsilon }
        }
        for iteration in 0..<style.iterations {
            if iteration > 0 { divideBySums(of: { $0 * streams }, stride: 1) }
            divideBySums(of: { $0 }, stride: streams)
        }
    }
}

/// The mean of all streams, with which GLM 5 Next gathers them.
final class MeanOfStreams: ResidualConnection {
    private let streams: Int

    init(_ streams: Int) { self.streams = streams }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        let (compute, width) = (context.compute, input.columns)
        compute.forEachRow(of: residual) { row in
            input[row].update(repeating: 0, count: width)
            for stream in 0..<streams {
                compute.add(
                    residual[row] + stream * width, times: 1 / Float(streams), to: input[row], count: width)
            }
        }
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {}
}
