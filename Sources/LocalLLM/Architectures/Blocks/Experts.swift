import Foundation
import KernelsPortable

/// The MLP of a mixture's layer: a router sends each row to a few of many small MLPs, whose outputs are added up, weighted
/// (Shazeer et al. 2017). Only the experts that some row goes to are read.
final class Experts: FeedForward {
    /// What the models that share this block differ in.
    struct Style {
        /// Whether the weights of a row's experts sum to 1.
        var normalizesWeights = true
        /// Whether the file can be one of a dense model.
        var isOptional = false
        /// An expert's width where the file gives only `feed_forward_length`: that is of all experts of a token.
        var sharesFeedForwardWidth = false
        var activation = Activation.silu
        var isGated = true
        /// Whether there is an expert that all rows go to, by a gate of its own.
        var hasSharedExpert = false
    }

    private struct Shared {
        let mlp: MLP
        let gate: Linear
    }

    private let routing: Routing
    private let router: Linear
    /// `nil` where experts are not gated.
    private let gates: [Linear]?
    private let activation: Activation
    private let ups: [Linear]
    private let downs: [Linear]
    private let shared: Shared?

    /// Places computed at once, or those of one expert that has more: enough for all of some running answers, and for several experts of a prompt, which
    /// have some 30 to 60 rows each. They fit the caches together.
    private static let passPlaces = 256

    init(_ file: GGUFFile, layer name: String, _ shape: Shape) throws(ModelFileError) {
        let (width, hidden, count) = (shape.width, shape.hiddenWidth, shape.routing.count)
        routing = shape.routing
        // As in the file: the choice of experts is nothing to save time at.
        router = Linear(weights: WeightMatrix(try file.tensor(name + "ffn_gate_inp.weight", shape: [width, count])))
        activation = shape.activation
        gates =
            shape.isGated
            ? try file.experts(name + "ffn_gate", count, from: width, to: hidden, scaled: shape.scaled) : nil
        ups = try file.experts(name + "ffn_up", count, from: width, to: hidden, scaled: shape.scaled)
        downs = try file.experts(name + "ffn_down", count, from: hidden, to: width, scaled: shape.scaled)
        guard let sharedWidth = shape.sharedWidth else {
            shared = nil
            return
        }
        shared = Shared(
            mlp: try MLP(
                file, layer: name, suffix: "_shexp", width: width, hiddenWidth: sharedWidth, scaled: shape.scaled,
                activation: .silu),
            gate: Linear(weights: WeightMatrix(try file.tensor(name + "ffn_gate_inp_shexp.weight", shape: [width, 1]))))
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let (work, compute) = (context.work, context.compute)
        let logits = work[.routerLogits, input.rows, routing.count]
        compute.multiply(input, by: router, into: logits)
        routing.route(logits, on: compute)
        let sum = work[.expertSum, input.rows, input.columns]
        compute.clear(sum)
        routing.forEachPass(limit: Self.passPlaces) { pass in
            let outputs = forward(pass, input, context.step, work, compute)
            routing.add(outputs, of: pass, to: sum, on: compute)
        }
        if let shared { forward(shared, input, into: output, addingTo: sum, context) }
        compute.copy(sum, into: output)
    }

    /// - Returns: The outputs of some experts, `[places, width]`.
    private func forward(
        _ pass: Routing.Pass, _ input: Matrix, _ step: Step, _ work: Workspace, _ compute: Compute
    ) -> Matrix {
        let count = pass.places.count
        // Inputs, and when they are no longer needed, outputs.
        let rows = work[.gathered, count, input.columns]
        let gate = work[.gate, count, ups[0].weights.rows]
        let up = work[.up, count, ups[0].weights.rows]

        func part(_ matrix: Matrix, _ expert: Int) -> Matrix {
            let places = routing.places(of: expert)
            return matrix[rows: places.lowerBound - pass.places.lowerBound, count: places.count]
        }
        func exact(_ expert: Int) -> Int { routing.rows(of: expert, before: step.answerRows) }

        let isShared = input.rows == 1  // All experts have the same row, which is rounded once.
        if !isShared {
            compute.forEachRow(of: rows) { place in
                rows[place].update(from: input[routing.row(at: pass.places.lowerBound + place)], count: input.columns)
            }
        }
        compute.multiply {
            for expert in routing.experts(of: pass) {
                let own = isShared ? input : part(rows, expert)
                if let gates { $0.add(own, by: gates[expert], into: part(gate, expert), exact: exact(expert)) }
                $0.add(own, by: ups[expert], into: part(up, expert), exact: exact(expert))
            }
        }
        if gates == nil { compute.activate(up, activation) } else { compute.activate(gate, up, activation, into: up) }
        compute.multiply {
            for expert in routing.experts(of: pass) {
                $0.add(part(up, expert), by: downs[expert], into: part(rows, expert), exact: exact(expert))
            }
        }
        return rows
    }

    private func forward(
        _ shared: Shared, _ input: Matrix, into output: Matrix, addingTo sum: Matrix, _ context: LayerContext
    ) {
        let compute = context.compute
        let gate = context.work[.routerLogits, input.rows, 1]
        compute.multiply(input, by: shared.gate, into: gate)
        shared.mlp.forward(input, into: output, context)
        compute.forEachRow(of: output) { row in
            compute.add(output[row], times: 1 / (1 + exp(-gate[row][0])), to: sum[row], count: output.columns)
        }
    }
}

extension Experts {
    /// What all layers of a model share.
    struct Shape {
        let routing: Routing
        let width: Int
        let hiddenWidth: Int
        let sharedWidth: Int?
        /// Whether the tensors `ffn_*.scale` count.
        let scaled: Bool
        let activation: Activation
        let isGated: Bool

        /// - Returns: `nil` for a dense model.
        init?(_ hyper: Hyperparameters, _ style: Style, width: Int, scaled: Bool) throws(ModelFileError) {
            if style.isOptional, try hyper.int("expert_count") ?? 0 == 0 { return nil }
            let count = try hyper.count("expert_count")
            let used = try hyper.count("expert_used_count")
            guard used <= count else {
                throw hyper.invalid("expert_used_count", "at most the \(count) experts that there are", found: used)
            }
            // Some converters write 0 for what a model does not have.
            let scale = try hyper.double("expert_weights_scale") ?? 0
            guard scale.isFinite else { throw hyper.invalid("expert_weights_scale", "finite", found: scale) }
            routing = Routing(
                count: count, used: used, normalizes: style.normalizesWeights, scale: scale == 0 ? 1 : Float(scale))
            self.width = width
            self.scaled = scaled
            activation = style.activation
            isGated = style.isGated
            if let declared = try hyper.int("expert_feed_forward_length"), declared != 0 {
                hiddenWidth = try hyper.count("expert_feed_forward_length")
            } else {
                let declared = try hyper.count("feed_forward_length")
                hiddenWidth = style.sharesFeedForwardWidth ? max(1, declared / used) : declared
            }
            if !style.hasSharedExpert {
                sharedWidth = nil
            } else if let declared = try hyper.int("expert_shared_feed_forward_length"), declared != 0 {
                sharedWidth = try hyper.count("expert_shared_feed_forward_length")
            } else {
                sharedWidth = try hyper.count("feed_forward_length")
            }
        }
    }
}
