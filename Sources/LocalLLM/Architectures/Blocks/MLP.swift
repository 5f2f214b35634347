/// The gated MLP of a layer, or a mixture's expert for all tokens: `down · (silu(gate · x) · (up · x))` (SwiGLU, Shazeer 2020).
struct MLP {
    let gate: Linear
    let up: Linear
    let down: Linear

    /// - Parameters:
    ///   - suffix: Of the tensors' names, `ffn_gate…` and so on.
    ///   - scaled: Whether the tensors `….scale` count.
    init(
        _ file: GGUFFile, layer name: String, suffix: String = "", width: Int, hiddenWidth: Int, scaled: Bool
    ) throws(ModelFileError) {
        gate = try file.mlpLinear(name + "ffn_gate" + suffix, from: width, to: hiddenWidth, scaled: scaled)
        up = try file.mlpLinear(name + "ffn_up" + suffix, from: width, to: hiddenWidth, scaled: scaled)
        down = try file.mlpLinear(name + "ffn_down" + suffix, from: hiddenWidth, to: width, scaled: scaled)
    }

    /// Prompts are rounded to 8 bits here, where most of the work is: it costs a third of the error that rounding
    /// everywhere would (docs/performance.md).
    ///
    /// - Parameter output: May be `input`.
    func forward(_ input: Matrix, into output: Matrix, _ step: Step, _ work: Workspace, _ compute: Compute) {
        let gated = work[.gate, input.rows, gate.weights.rows]
        let raised = work[.up, input.rows, up.weights.rows]
        compute.multiply {
            $0.add(input, by: gate, into: gated, exact: step.answerRows)
            $0.add(input, by: up, into: raised, exact: step.answerRows)
        }
        compute.swiGLU(gated, raised, into: gated)
        compute.multiply(gated, by: down, into: output, exact: step.answerRows)
    }
}
