import KernelsPortable

/// The MLP of a layer: `down · act(up · x)`, or gated, `down · (act(gate · x) · (up · x))` (GLU variants, Shazeer 2020).
final class MLP: FeedForward {
    let gate: Linear?
    let up: Linear
    let down: Linear
    let activation: Activation
    /// Of what `down` reads (BitNet).
    private let innerNorm: Norm?

    init(gate: Linear?, up: Linear, down: Linear, activation: Activation, innerNorm: Norm? = nil) {
        self.gate = gate
        self.up = up
        self.down = down
        self.activation = activation
        self.innerNorm = innerNorm
    }

    /// - Parameters:
    ///   - suffix: Of the tensors' names, `ffn_gate…` and so on.
    ///   - scaled: Whether the tensors `….scale` count.
    convenience init(
        _ file: GGUFFile, layer name: String, suffix: String = "", width: Int, hiddenWidth: Int, scaled: Bool,
        activation: Activation
    ) throws(ModelFileError) {
        self.init(
            gate: try file.mlpLinear(name + "ffn_gate" + suffix, from: width, to: hiddenWidth, scaled: scaled),
            up: try file.mlpLinear(name + "ffn_up" + suffix, from: width, to: hiddenWidth, scaled: scaled),
            down: try file.mlpLinear(name + "ffn_down" + suffix, from: hiddenWidth, to: width, scaled: scaled),
            activation: activation)
    }

    /// Prompts are rounded to 8 bits here, where most of the work is: it costs a third of the error that rounding
    /// everywhere would (docs/performance.md).
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (compute, exact) = (context.compute, context.step.answerRows)
        let raised = context.work[.up, input.rows, up.weights.rows]
        if let gate {
            let gated = context.work[.gate, input.rows, gate.weights.rows]
            compute.multiply {
                $0.add(input, by: gate, into: gated, exact: exact)
                $0.add(input, by: up, into: raised, exact: exact)
            }
            compute.activate(gated, raised, activation, into: raised)
        } else {
            compute.multiply(input, by: up, into: raised, exact: exact)
            compute.activate(raised, activation)
        }
        if let innerNorm { compute.normalize(raised, innerNorm, into: raised) }
        compute.multiply(raised, by: down, into: output, exact: exact)
    }
}
