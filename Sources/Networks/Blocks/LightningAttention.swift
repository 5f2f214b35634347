import GGUF
import Compute
import KernelFormats
import Foundation

/// Linear attention with a fixed decay per head (Lightning Attention, Qin et al. 2024).
///
///     q, k, v = silu(in·input)        S = λ·S + k·vᵀ        output = out·(norm(Sᵀ·q) · sigmoid(gate·input))
///
/// λ = exp(−slope), with ALiBi's slopes, which decrease from layer to layer. State: `[heads][width][width]`.
final class LightningAttention: Mixer {
    private let heads: Int
    private let headWidth: Int
    private let input: Linear
    private let gate: Linear
    private let output: Linear
    /// Norm of the outputs of all heads together.
    private let norm: Norm
    /// λ, `[heads]`.
    private let decays: [Float]
    private let recurrence: ScalarDecayRecurrence

    init(_ layer: LayerBuilder) throws(ModelFileError) {
        let (file, name, width) = (layer.file, layer.name, layer.width)
        heads = try layer.hyper.positive("attention.head_count", layer.model.headCounts[layer.index])
        headWidth = try layer.headWidths().key
        let inner = heads * headWidth
        // The architecture has no biases or scales here.
        layer.leaveUnused(["attn_qkv", "attn_gate", "attn_output"])
        func weights(_ part: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
            Linear(weights: file.weights(try file.tensor(name + part + ".weight", shape: [inputs, outputs])))
        }
        input = try weights("attn_qkv", from: width, to: 3 * inner)
        gate = try weights("attn_gate", from: width, to: inner)
        output = try weights("attn_output", from: inner, to: width)
        norm = try layer.model.norm(name + "attn_norm_2", width: inner)
        let depth = Double(layer.index) / Double(max(1, layer.model.layerCount - 1))
        let slope = pow(2, -pow(2, 3 - log2(Double(heads))))
        decays = (0..<heads).map { head in Float(exp(-pow(slope, Double(head + 1)) * (1 - depth + 1e-5))) }
        recurrence = ScalarDecayRecurrence(
            groups: heads, heads: heads, keyWidth: headWidth, valueWidth: headWidth, isDelta: false)
    }

    var state: LayerState { .recurrent(floats: recurrence.stateFloats) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute, exact) = (context.work, context.compute, context.step.answerRows)
        let (rows, inner) = (input.rows, heads * headWidth)
        let projected = work[.projected, rows, 3 * inner], gates = work[.gate, rows, inner]
        compute.multiply {
            $0.add(input, by: self.input, into: projected, exact: exact)
            $0.add(input, by: gate, into: gates, exact: exact)
        }
        compute.activate(projected, .silu)
        // The projection has query, key and value of each head side by side.
        let apart = work[.convolved, rows, 3 * inner]
        let (factors, gains) = (work[.decays, rows, heads], work[.gains, rows, heads])
        for part in 0..<3 {
            compute.copy(
                projected.heads(heads, width: headWidth, from: part * headWidth, stride: 3 * headWidth),
                into: apart[columns: part * inner, count: inner].heads(heads, width: headWidth))
        }
        compute.fill(factors, withRow: decays)
        compute.fill(gains, with: 1)
        let mixed = work[.attended, rows, inner]
        recurrence.forward(
            ScalarDecayRecurrence.Inputs(
                queries: apart[columns: 0, count: inner], keys: apart[columns: inner, count: inner],
                values: apart[columns: 2 * inner, count: inner], decays: factors, gains: gains),
            into: mixed, context.runs, stateOffset: 0, compute)
        compute.normalize(mixed, norm, into: mixed)
        compute.multiply(mixed, bySigmoidOf: gates)
        compute.multiply(mixed, by: self.output, into: output, exact: exact)
    }
}
