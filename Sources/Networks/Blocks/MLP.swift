import Compute
import KernelFormats

/// The MLP of a layer: `down · act(up · x)`, or gated, `down · (act(gate · x) · (up · x))` (GLU variants, Shazeer 2020).
final class MLP: FeedForward {
    let readsOnlyInput = true

    let gate: Linear?
    let up: Linear
    let down: Linear
    let activation: Activation
    /// Norm of the input of `down` (BitNet).
    private let innerNorm: Norm?
    /// Factors on the input of `down`, one per value.
    private let innerScale: [Float]?

    init(
        gate: Linear?, up: Linear, down: Linear, activation: Activation, innerNorm: Norm? = nil,
        innerScale: [Float]? = nil
    ) {
        self.gate = gate
        self.up = up
        self.down = down
        self.activation = activation
        self.innerNorm = innerNorm
        self.innerScale = innerScale
    }

    /// Prefill quantizes activations to 8 bits here, where most of the work is, and to more in attention: a third of the
    /// error of 8 bits everywhere (docs/performance.md).
    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        forward(input, into: output, cutting: nil, context)
    }

    /// - Parameter deviations: Gate values less than this many standard deviations above their row's mean become 0, and
    ///   the others are reduced by that threshold (Gemma 3n); `nil`: no cut-off.
    func forward(_ input: Matrix, into output: Matrix, cutting deviations: Float?, _ context: LayerContext) {
        let (compute, exact) = (context.compute, context.step.answerRows)
        let raised = context.work[.up, input.rows, up.weights.rows]
        if let gate, let deviations {
            let gated = context.work[.gate, input.rows, gate.weights.rows]
            compute.multiply {
                $0.add(input, by: gate, into: gated, exact: exact)
                $0.add(input, by: up, into: raised, exact: exact)
            }
            compute.cut(gated, at: deviations)
            compute.activate(gated, raised, activation, into: raised)
        } else if let gate {
            compute.multiply {
                $0.add(
                    input, by: up, gatedBy: gate, activation, into: raised,
                    gates: context.work[.gate, input.rows, gate.weights.rows], exact: exact)
            }
        } else {
            compute.multiply(input, by: up, into: raised, exact: exact)
            compute.activate(raised, activation)
        }
        if let innerNorm { compute.normalize(raised, innerNorm, into: raised) }
        if let innerScale { compute.scale(raised, by: innerScale) }
        compute.multiply(raised, by: down, into: output, exact: exact)
    }
}
