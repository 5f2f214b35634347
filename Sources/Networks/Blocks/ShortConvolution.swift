import GGUF
import Compute

/// LFM2's gated short convolution (Liquid AI 2025): `out·(C · convolution(B · x))` with `B, C, x = in·input`.
///
/// The state is the convolution's.
final class ShortConvolution: Mixer {
    private let width: Int
    private let input: Linear
    private let output: Linear
    private let convolution: CausalConvolution

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (file, hyper, name) = (layer.file, layer.hyper, layer.name)
        width = layer.width
        input = try file.linear(name + "shortconv.in_proj", from: width, to: 3 * width)
        output = try file.linear(name + "shortconv.out_proj", from: width, to: width)
        convolution = try CausalConvolution(
            file, [name + "shortconv.conv.weight"], taps: try hyper.count("shortconv.l_cache"), channels: width,
            silu: false)
    }

    var state: LayerState { .recurrent(floats: convolution.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs, exact) = (context.work, context.compute, context.runs, context.step.answerRows)
        let projected = work[.projected, input.rows, 3 * width]
        compute.multiply(
            input, by: self.input, into: projected, exact: exact, sensitive: self.input.isSensitive)
        let gated = projected[columns: 0, count: width]
        compute.multiply(gated, byValuesOf: projected[columns: 2 * width, count: width])
        let convolved = work[.convolved, input.rows, width]
        convolution.forward(gated, into: convolved, runs, compute)
        compute.multiply(convolved, byValuesOf: projected[columns: width, count: width])
        compute.multiply(
            convolved, by: self.output, into: output, exact: exact, sensitive: self.output.isSensitive)
    }
}
