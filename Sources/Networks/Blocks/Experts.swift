import GGUF
import Compute
import Foundation
import KernelFormats

/// A mixture of experts: a router assigns each row to a few of many small MLPs, and their weighted outputs are summed
/// (Shazeer et al. 2017). Only the weights of experts with rows are read.
final class Experts: FeedForward {
    /// Differences between families.
    struct Style: Sendable {
        /// Function from router logits to scores if the file has no `expert_gating_func`.
        var gating = Routing.Gating.softmax
        /// Whether the weights of a row's experts are normalized to sum to 1.
        var normalizesWeights = Normalization.always
        /// Factor on the weights if the file has no `expert_weights_scale`.
        var weightScale: Float = 1
        /// Whether files of the family may be dense models.
        var isOptional = false
        /// Whether `feed_forward_length`, if it is the only width, is the total of a token's experts.
        var sharesFeedForwardWidth = false
        /// Whether a row's weight multiplies the expert's input instead of its output.
        var weighsInputs = false
        /// Whether the router reads the layer's input, before mixer and norms.
        var routesLayerInput = false
        /// Whether the outputs of the experts and of the shared expert are averaged instead of added.
        var averagesShared = false
        /// Whether `hash_layer_count` names leading layers whose experts are selected by token ID.
        var hasHashLayers = false
    }

    enum Normalization: Sendable {
        case always
        /// As `expert_weights_norm` of the file says; without the key, not.
        case declared
    }

    private struct Shared {
        let mlp: MLP
        /// Gates the shared expert's output by a sigmoid.
        let gate: Linear?
    }

    private let shape: Shape
    /// `nil`: another block selects the experts.
    private let router: Linear?
    /// Added to the router's scores for selection only (DeepSeek V3).
    private let selectionBias: [Float]?
    /// Experts by token ID, `[vocabulary][used]`, instead of the router's selection (DeepSeek V4).
    private let expertsOfToken: [Int32]?
    private let gates: [Linear]?
    private let ups: [Linear]
    private let downs: [Linear]
    /// Holds the experts' weights if they are read from disk when they are used.
    private let cache: ExpertCache.Layer?
    /// Projections to and from the smaller width in which the experts work (Nemotron 3).
    private let latent: (down: Linear, norm: Norm?, up: Linear)?
    private let shared: Shared?
    private let activation: Activation
    private let routing: Routing

    /// Rows per expert pass; a larger expert gets a pass of its own. Enough for all rows of a decode step, and for
    /// several experts in prefill, which have about 30 to 60 rows each. The rows of a pass fit the caches.
    private static let passPlaces = 256

    /// - Parameters:
    ///   - index: Index of the layer in `shape.hiddenWidths`.
    ///   - scaled: Whether the tensors `ffn_*_exps.scale` are used.
    ///   - suffix: Suffix of the names of the experts' tensors.
    ///   - latentNorm: Norm of the sum, if experts have a smaller width.
    ///   - shared: The shared expert, which computes all rows.
    init(
        _ file: ModelReader, layer: String, index: Int, width: Int, _ shape: Shape, activation: Activation,
        isGated: Bool,
        scaled: Bool, suffix: String = "_exps", latentNorm: Norm? = nil, shared: MLP? = nil
    ) throws(ModelFileError) {
        routing = shape.routings[index]
        let (name, count, hidden) = (layer + "ffn_", routing.count, shape.hiddenWidths[index])
        self.shape = shape
        self.activation = activation
        if suffix == "_exps" {
            // Not repacked: rounding could change the choice of experts, and the router takes little time.
            router = Linear(
                weights: WeightMatrix(try file.tensor(name + "gate_inp.weight", shape: [width, count])),
                bias: try file.vectorIfPresent(name + "gate_inp.bias", count))
            let bias = layer + "exp_probs_b"
            selectionBias = try file.vectorIfPresent(file.contains(bias) ? bias : bias + ".bias", count)
        } else {
            (router, selectionBias) = (nil, nil)
        }
        expertsOfToken =
            index < shape.hashLayers
            ? try Self.expertsOfToken(file, name + "gate_tid2eid.weight", width: width, routing) : nil
        var expertWidth = width
        let narrower = name + (file.contains(name + "routed_down.weight") ? "routed" : "latent")
        if let declared = shape.latentWidth ?? file.tensorIfPresent(narrower + "_down.weight")?.shape.last {
            expertWidth = declared
            latent = (
                down: try file.linear(narrower + "_down", from: width, to: expertWidth),
                norm: latentNorm, up: try file.linear(narrower + "_up", from: expertWidth, to: width)
            )
        } else {
            latent = nil
        }
        if isGated, suffix == "_exps", file.contains(name + "gate_up_exps.weight") {
            let both = try file.experts(
                name + "gate_up_exps", count, from: expertWidth, to: [hidden, hidden], scaled: scaled)
            (gates, ups) = (both.map { $0[0] }, both.map { $0[1] })
        } else {
            gates =
                isGated
                ? try file.experts(name + "gate", suffix, count, from: expertWidth, to: hidden, scaled: scaled) : nil
            ups = try file.experts(name + "up", suffix, count, from: expertWidth, to: hidden, scaled: scaled)
        }
        downs = try file.experts(name + "down", suffix, count, from: hidden, to: expertWidth, scaled: scaled)
        cache = [ups, downs, gates ?? []].lazy.compactMap { $0.first?.weights.expert?.layer }.first
        guard let shared else {
            self.shared = nil
            return
        }
        var gate: Linear?
        if file.contains(name + "gate_inp_shexp.weight") {
            gate = Linear(weights: WeightMatrix(try file.tensor(name + "gate_inp_shexp.weight", shape: [width, 1])))
        }
        self.shared = Shared(mlp: shared, gate: gate)
    }

    var readsOnlyInput: Bool { !shape.routesLayerInput }

    func prepare(_ residual: Matrix, _ context: LayerContext) {
        if shape.routesLayerInput { route(residual, context) }
    }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        let compute = context.compute
        if !shape.routesLayerInput { route(input, context) }
        var read = input
        if let latent {
            read = context.work[.expertInput, input.rows, latent.down.weights.rows]
            compute.multiply(input, by: latent.down, into: read)
        }
        var sum = context.work[.expertSum, read.rows, read.columns]
        compute.clear(sum)
        routing.forEachPass(limit: Self.passPlaces) { pass in
            routing.add(forward(pass, read, context), of: pass, to: sum, on: compute)
        }
        if let latent {
            if let norm = latent.norm { compute.normalize(sum, norm, into: sum) }
            let raised = context.work[.gathered, input.rows, input.columns]
            compute.multiply(sum, by: latent.up, into: raised)
            sum = context.work[.expertSum, input.rows, input.columns]
            compute.copy(raised, into: sum)
        }
        if let shared {
            add(shared, of: input, to: sum, context)
            if shape.averagesShared { compute.scale(sum, by: 0.5) }
        }
        compute.copy(sum, into: output)
    }

    /// Selects the experts of each row.
    func route(_ input: Matrix, _ context: LayerContext) {
        guard let router else { return }
        let logits = context.work[.routerLogits, input.rows, routing.count]
        context.compute.multiply(input, by: router, into: logits)
        var fixed: ((Int) -> ArraySlice<Int32>)?
        if let expertsOfToken {
            let used = routing.used
            fixed = { row in
                let token = Int(context.step.tokens[row])
                return expertsOfToken[token * used..<(token + 1) * used]
            }
        }
        routing.route(logits, selectionBias: selectionBias, fixed: fixed, on: context.compute)
    }

    /// Reads the table of a hash layer, `[vocabulary][used]`.
    private static func expertsOfToken(
        _ file: ModelReader, _ name: String, width: Int, _ routing: Routing
    ) throws(ModelFileError) -> [Int32] {
        let vocabulary = try file.matrix("token_embd.weight", columns: width).rows
        let tensor = try file.tensor(name, shape: [routing.used, vocabulary])
        guard tensor.type == .I32 else {
            throw ModelFileError(
                .badTensor, "Tensor '\(name)' must be of the type I32, but is \(tensor.type).", path: tensor.file.path)
        }
        let experts = tensor.int32s()
        guard let wrong = experts.first(where: { !(0..<Int32(routing.count)).contains($0) }) else { return experts }
        throw ModelFileError(
            .badTensor, "Tensor '\(name)' must hold numbers of the \(routing.count) experts, but holds \(wrong).",
            path: tensor.file.path)
    }

    /// - Returns: The experts' outputs, `[places, width]`.
    private func forward(_ pass: Routing.Pass, _ input: Matrix, _ context: LayerContext) -> Matrix {
        let (compute, work, step) = (context.compute, context.work, context.step)
        cache?.load(routing.experts(of: pass), on: compute.pool)
        let count = pass.places.count
        // Holds inputs, then reused for outputs.
        let rows = work[.gathered, count, input.columns]
        let up = work[.up, count, ups[0].weights.rows]

        func part(_ matrix: Matrix, _ expert: Int) -> Matrix {
            let places = routing.places(of: expert)
            return matrix[rows: places.lowerBound - pass.places.lowerBound, count: places.count]
        }
        // All experts read the same row, which is quantized once.
        let isShared = input.rows == 1 && !routing.weighsInputs
        /// Step rows of an expert's places, if adapters need them.
        func stepRows(_ expert: Int) -> [Int]? {
            guard !compute.adapters.isEmpty else { return nil }
            return routing.places(of: expert).map { routing.row(at: $0) }
        }
        func exact(_ expert: Int) -> Int { routing.rows(of: expert, before: step.answerRows) }

        if !isShared { routing.gather(input, of: pass, into: rows, on: compute) }
        compute.multiply {
            for expert in routing.experts(of: pass) {
                let own = isShared ? input : part(rows, expert)
                let (exact, stepRows) = (exact(expert), stepRows(expert))
                if let gates {
                    $0.add(
                        own, by: ups[expert], gatedBy: gates[expert], activation, into: part(up, expert),
                        gates: part(work[.gate, count, ups[0].weights.rows], expert), exact: exact, stepRows: stepRows)
                } else {
                    $0.add(own, by: ups[expert], into: part(up, expert), exact: exact, stepRows: stepRows)
                }
            }
        }
        if gates == nil { compute.activate(up, activation) }
        compute.multiply {
            for expert in routing.experts(of: pass) {
                $0.add(
                    part(up, expert), by: downs[expert], into: part(rows, expert), exact: exact(expert),
                    stepRows: stepRows(expert))
            }
        }
        return rows
    }

    private func add(_ shared: Shared, of input: Matrix, to sum: Matrix, _ context: LayerContext) {
        let compute = context.compute
        let output = context.work[.gathered, input.rows, input.columns]
        shared.mlp.forward(input, into: output, context)
        if let gate = shared.gate {
            let gates = context.work[.routerLogits, input.rows, 1]
            compute.multiply(input, by: gate, into: gates)
            compute.multiply(output, bySigmoidOf: gates)
        }
        compute.add(output, to: sum)
    }
}

extension Experts {
    /// Shape of the experts, shared by all layers of a model.
    struct Shape {
        /// Routing of each layer. Layers with the same number of experts per row share one.
        let routings: [Routing]
        let routesLayerInput: Bool
        let averagesShared: Bool
        /// Hidden width of each layer's experts.
        let hiddenWidths: [Int]
        /// Number of leading layers with an MLP instead of experts.
        let leadingDenseLayers: Int
        /// Width that experts work in, if the file declares it; `nil`: their tensors say.
        let latentWidth: Int?
        /// Number of leading layers whose experts are selected by token ID.
        let hashLayers: Int

        /// - Returns: `nil` for a dense model.
        init?(_ hyper: Hyperparameters, _ style: Style, width: Int, layers: Int) throws(ModelFileError) {
            if style.isOptional, try hyper.int("expert_count") ?? 0 == 0 { return nil }
            let count = try hyper.expertCount()
            // One number, or one per layer: 0 in layers without experts.
            let used = try hyper.counts("expert_used_count", layers: layers)
            guard let most = used.max(), most > 0, most <= count else {
                throw hyper.invalid(
                    "expert_used_count", "1...\(count) (expert_count)", found: used.max() ?? 0)
            }
            let groups = try hyper.countIfPresent("expert_group_count") ?? 1
            let usedGroups = try hyper.countIfPresent("expert_group_used_count") ?? groups
            guard count % groups == 0 else {
                throw hyper.invalid("expert_group_count", "a divisor of the \(count) experts", found: groups)
            }
            guard usedGroups <= groups, most <= count / groups * usedGroups else {
                throw hyper.invalid(
                    "expert_group_used_count",
                    "at most \(groups) (expert_group_count), with at least \(most) experts in these groups",
                    found: usedGroups)
            }
            let (gating, normalizes, scale) = (
                try Self.gating(hyper, default: style.gating), try Self.normalizes(hyper, style.normalizesWeights),
                try hyper.factor("expert_weights_scale") ?? style.weightScale
            )
            var byCount: [Int: Routing] = [:]
            for used in Set(used) {
                byCount[used] = Routing(
                    count: count, used: max(1, used), gating: gating, normalizes: normalizes, scale: scale,
                    groups: groups, usedGroups: usedGroups, weighsInputs: style.weighsInputs)
            }
            routings = used.compactMap { byCount[$0] }
            routesLayerInput = style.routesLayerInput
            averagesShared = style.averagesShared
            leadingDenseLayers = try hyper.int("leading_dense_block_count") ?? 0
            latentWidth = try hyper.countIfPresent("expert_latent_length")
            hashLayers = style.hasHashLayers ? try hyper.int("hash_layer_count") ?? 0 : 0
            let dense = try hyper.counts("feed_forward_length", layers: layers, default: 0)
            let own = try hyper.counts("expert_feed_forward_length", layers: layers, default: 0)
            var widths: [Int] = []
            for (index, (dense, own)) in zip(dense, own).enumerated() {
                let width = own != 0 ? own : style.sharesFeedForwardWidth ? dense / max(1, used[index]) : dense
                widths.append(max(1, width))
            }
            hiddenWidths = widths
        }

        /// The shape with another set of experts, routed by the caller.
        func routed(by routing: Routing, hiddenWidth: Int) -> Shape {
            Shape(
                routings: routings.map { _ in routing }, routesLayerInput: true, averagesShared: false,
                hiddenWidths: hiddenWidths.map { _ in hiddenWidth }, leadingDenseLayers: 0)
        }

        private init(
            routings: [Routing], routesLayerInput: Bool, averagesShared: Bool, hiddenWidths: [Int],
            leadingDenseLayers: Int
        ) {
            self.routings = routings
            self.routesLayerInput = routesLayerInput
            self.averagesShared = averagesShared
            self.hiddenWidths = hiddenWidths
            self.leadingDenseLayers = leadingDenseLayers
            latentWidth = nil
            hashLayers = 0
        }

        private static func gating(
            _ hyper: Hyperparameters, default fallback: Routing.Gating
        ) throws(ModelFileError) -> Routing.Gating {
            switch try hyper.int("expert_gating_func") ?? 0 {
            case 0: return fallback
            case 1: return .softmax
            case 2: return .sigmoid
            case 3: return .softmaxOfChosen
            case 4: return .rootOfSoftplus
            case let other: throw hyper.invalid("expert_gating_func", "0...4", found: other)
            }
        }

        private static func normalizes(
            _ hyper: Hyperparameters, _ normalization: Normalization
        ) throws(ModelFileError) -> Bool {
            switch normalization {
            case .always: true
            case .declared: try hyper.bool("expert_weights_norm") ?? false
            }
        }
    }
}
