import Compute

/// Two mixers with the same input whose outputs are added: one has pages, the other is recurrent.
final class ParallelMixers: Mixer {
    private let first: any Mixer
    private let second: any Mixer

    init(_ first: any Mixer, _ second: any Mixer) {
        self.first = first
        self.second = second
    }

    var state: LayerState { .both(first.state, second.state) }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        first.forward(input, into: output, context)
        let other = context.work[.branch, output.rows, output.columns]
        second.forward(input, into: other, context)
        context.compute.add(other, to: output)
    }
}
