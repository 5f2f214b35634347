import GGUF
import Compute
import KernelFormats

/// RWKV's feed-forward block, `value·relu(key·x)²`, in RWKV 6 times sigmoid(receptance·x). Its inputs interpolate the
/// token and the previous one; the last token is stored in the layer's state, behind the time mix's.
final class RWKVChannelMix: FeedForward {
    private let width: Int
    private let shift: TokenShift
    private let keyShare: [Float]
    private let key: Linear
    private let value: Linear
    private let receptanceShare: [Float]?
    private let receptance: Linear?

    init(_ layer: LayerBuilder, hasReceptance: Bool) throws(ModelFileError) {
        let (file, name) = (layer.file, layer.name)
        width = layer.width
        let hiddenWidth = try layer.hyper.count("feed_forward_length")
        shift = TokenShift(width: width)
        let mix = name + "channel_mix_"
        keyShare = try file.floats(mix + "lerp_k.weight", dimensions: [width])
        key = try file.linear(mix + "key", from: width, to: hiddenWidth)
        value = try file.linear(mix + "value", from: hiddenWidth, to: width)
        receptanceShare = hasReceptance ? try file.floats(mix + "lerp_r.weight", dimensions: [width]) : nil
        receptance = hasReceptance ? try file.linear(mix + "receptance", from: width, to: width) : nil
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, runs) = (context.work, context.compute, context.runs)
        let rows = input.rows
        let shifts = work[.shifts, rows, width]
        shift.forward(input, into: shifts, runs, stateOffset: width, compute)
        let mixed = work[.mixtures, rows, 2 * width]
        let (forKey, forReceptance) = (mixed[columns: 0, count: width], mixed[columns: width, count: width])
        compute.interpolate(input, shifts, by: keyShare, into: forKey)
        if let receptanceShare { compute.interpolate(input, shifts, by: receptanceShare, into: forReceptance) }
        let hidden = work[.up, rows, key.weights.rows], gate = work[.gate, rows, width]
        compute.multiply {
            $0.add(forKey, by: key, into: hidden)
            if let receptance { $0.add(forReceptance, by: receptance, into: gate) }
        }
        compute.activate(hidden, .squaredReLU)
        compute.multiply(hidden, by: value, into: output)
        if receptance != nil { compute.multiply(output, bySigmoidOf: gate) }
    }
}
