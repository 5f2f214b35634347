import GGUF
import Compute
import KernelFormats

/// Mamba (Gu and Dao 2023): a state space model in which each channel has its own step size.
///
///     x, z = in·input        x = silu(convolution(x))        Δ, B, C = select·x        Δ = softplus(step·Δ + bias)
///     h = exp(Δ·A)·h + Δ·B·x        y = C·h + D·x        output = out·(y · silu(z))
///
/// Jamba normalizes Δ, B and C with weights, FalconMamba without. State: the convolution's, then h `[states][inner]`.
final class Mamba: Mixer {
    private let shape: StateSpaceShape
    private let input: Linear
    private let select: Linear
    private let step: Linear
    private let output: Linear
    private let convolution: CausalConvolution
    /// A `[states][inner]` and D `[inner]`.
    private let rates: [Float]
    private let skips: [Float]
    /// Weights of the norms of Δ, B and C.
    private let norms: [[Float]]?
    private let epsilon: Float

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (file, hyper, name, width) = (layer.file, layer.hyper, layer.name, layer.width)
        shape = try StateSpaceShape(hyper, hasHeads: false)
        let (inner, states, rank) = (shape.inner, shape.states, shape.rank)
        input = try file.linear(name + "ssm_in", from: width, to: 2 * inner)
        select = try file.linear(name + "ssm_x", from: inner, to: rank + 2 * states)
        step = try file.linear(name + "ssm_dt", from: rank, to: inner)
        output = try file.linear(name + "ssm_out", from: inner, to: width)
        convolution = try CausalConvolution(
            file, [name + "ssm_conv1d.weight"], bias: name + "ssm_conv1d.bias", taps: shape.taps, channels: inner,
            silu: true)
        let rates = try file.floats(name + "ssm_a", dimensions: [states, inner])
        self.rates = (0..<states * inner).map { rates[$0 % inner * states + $0 / inner] }
        skips = try file.floats(name + "ssm_d", dimensions: [inner])
        epsilon = layer.model.epsilon
        let normalizes = try hyper.bool("ssm.dt_b_c_rms") ?? false
        if file.tensorIfPresent(name + "ssm_dt_norm.weight") != nil {
            norms = [
                try file.vector(name + "ssm_dt_norm.weight", rank), try file.vector(name + "ssm_b_norm.weight", states),
                try file.vector(name + "ssm_c_norm.weight", states),
            ]
        } else if normalizes {
            norms = [rank, states, states].map { Array(repeating: 1, count: $0) }
        } else {
            norms = nil
        }
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats + shape.states * shape.inner) }

    /// Channels that a worker scans in turn.
    private static let pieceChannels = 64

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let (rows, inner, rank, states) = (input.rows, shape.inner, shape.rank, shape.states)
        let projected = work[.projected, rows, 2 * inner]
        compute.multiply(input, by: self.input, into: projected, exact: context.step.answerRows)
        let convolved = work[.convolved, rows, inner]
        convolution.forward(projected[columns: 0, count: inner], into: convolved, runs, compute)
        let selected = work[.lowRank, rows, rank + 2 * states]
        compute.multiply(convolved, by: select, into: selected)
        normalize(selected, compute)
        // Step sizes, replaced by the scan's output.
        let steps = work[.decays, rows, inner]
        compute.multiply(selected[columns: 0, count: rank], by: step, into: steps)
        compute.forEachRow(of: steps) { compute.kernels.recurrent.softplus(steps[$0], steps[$0], inner) }

        let pieces = (inner + Self.pieceChannels - 1) / Self.pieceChannels
        compute.forEachPiece(runs.count * pieces, serially: rows * states * inner <= 1 << 12) { piece, _ in
            let first = piece % pieces * Self.pieceChannels
            scan(
                runs[piece / pieces], first..<min(first + Self.pieceChannels, inner), convolved, selected, steps,
                compute)
        }
        compute.activate(projected[columns: inner, count: inner], steps, .silu, into: steps)
        compute.multiply(steps, by: self.output, into: output, exact: context.step.answerRows)
    }

    private func scan(
        _ run: RecurrentRun, _ channels: Range<Int>, _ x: Matrix, _ selected: Matrix, _ steps: Matrix,
        _ compute: Compute
    ) {
        let (row, first) = (run.rows.lowerBound, channels.lowerBound)
        rates.withUnsafeBufferPointer { rates in
            skips.withUnsafeBufferPointer { skips in
                compute.kernels.recurrent.selectiveScan(
                    x[row] + first, steps[row] + first, shape.inner, selected[row] + shape.rank,
                    selected[row] + shape.rank + shape.states, selected.stride, rates.baseAddress! + first,
                    skips.baseAddress! + first, run.state + convolution.stateFloats + first, shape.inner,
                    run.rows.count, channels.count, shape.states, steps[row] + first)
            }
        }
    }

    /// Normalizes Δ, B and C of each row.
    private func normalize(_ selected: Matrix, _ compute: Compute) {
        guard let norms else { return }
        compute.forEachRow(of: selected) { row in
            var part = selected[row]
            for weight in norms {
                weight.withUnsafeBufferPointer {
                    compute.kernels.rmsNorm(part, $0.baseAddress!, epsilon, part, weight.count)
                }
                part += weight.count
            }
        }
    }
}
