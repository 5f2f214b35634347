import GGUF
import Compute
import KernelFormats

/// GroveMoE (Wu et al. 2025): each group of experts shares a smaller adjugate expert, whose output is added with the weights of
/// the group's selected experts.
extension Family {
    static let groveMoE = Family(
        experts: .init(),
        feedForward: { layer throws(ModelFileError) in
            guard let shape = layer.model.experts else { return nil }
            return try GroveExperts(layer, shape)
        })
}

private final class GroveExperts: FeedForward {
    let readsOnlyInput = true

    private let experts: Experts
    private let adjugates: Experts
    private let routing: Routing
    private let adjugateRouting: Routing
    /// Experts per adjugate expert.
    private let groupSize: Int
    /// Factor on the output of the adjugate experts.
    private let scale: Float

    init(_ layer: LayerBuilder, _ shape: Experts.Shape) throws(ModelFileError) {
        let hyper = layer.hyper
        routing = shape.routings[layer.index]
        groupSize = try hyper.count("experts_per_group")
        guard routing.count % groupSize == 0, routing.used <= routing.count / groupSize else {
            throw hyper.invalid(
                "experts_per_group",
                "a divisor of the \(routing.count) experts that gives at least \(routing.used) groups",
                found: groupSize)
        }
        scale = Float(try hyper.double("expert_group_scale") ?? 0.05)
        experts = try layer.experts(shape)
        let headWidth = try layer.headWidths().key
        let width = try hyper.countIfPresent("expert_chunk_feed_forward_length") ?? headWidth
        adjugateRouting = Routing(
            count: routing.count / groupSize, used: routing.used, normalizes: false, scale: 1)
        adjugates = try Experts(
            layer.file, layer: layer.name, index: layer.index, width: layer.width,
            shape.routed(by: adjugateRouting, hiddenWidth: width), activation: .silu, isGated: true, scaled: false,
            suffix: "_chexps")
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let compute = context.compute
        // `output` may be `input`.
        let added = context.work[.branch, input.rows, input.columns]
        compute.copy(input, into: added)
        experts.forward(input, into: output, context)
        adjugateRouting.route(toGroupsOf: routing, size: groupSize, rows: input.rows)
        adjugates.forward(added, into: added, context)
        compute.add(added, times: scale, to: output)
    }
}
