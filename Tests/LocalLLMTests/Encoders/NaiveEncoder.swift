import Foundation
import TestSupport

/// The arithmetic of `TinyEncoder` as its papers write it, in double precision, one input at a time.
struct NaiveEncoder {
    let model: TinyEncoder
    let weights: [String: [Double]]
    private let epsilon = Double(Float(1e-6))

    init(_ model: TinyEncoder) {
        self.model = model
        weights = Dictionary(
            uniqueKeysWithValues: model.tensors().map { tensor in
                let values = tensor.data.withUnsafeBytes { bytes in
                    (0..<bytes.count / 4).map { Double(bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self)) }
                }
                return (tensor.name, values)
            })
    }

    /// The state of each token: `[tokens][width]`.
    ///
    /// - Parameter separator: Tokens after the first of these have the second type.
    func states(_ tokens: [Int32], separator: Int32? = nil) -> [[Double]] {
        let end = separator.flatMap { tokens.firstIndex(of: $0) } ?? tokens.count
        var x = tokens.enumerated().map { position, token in
            var state = row("token_embd.weight", Int(token), model.width)
            let type = position > end ? 1 : 0
            if model.hasTokenTypes { state = add(state, row("token_types.weight", type, model.width)) }
            if model.positions == .learned { state = add(state, row("position_embd.weight", position, model.width)) }
            return weights["token_embd_norm.weight"] == nil ? state : norm("token_embd_norm", state)
        }
        for layer in 0..<model.layers {
            let name = model.layerName(layer)
            if model.isPreNorm {
                x = zip(x, attention(layer, x.map { norm(name + "attn_norm", $0) })).map { add($0, $1) }
                x = x.map { add($0, mlp(name, norm(name + "ffn_norm", $0))) }
            } else {
                let input = x
                x = zip(x, attention(layer, x)).map { norm(name + "attn_output_norm", add($0, $1)) }
                if model.hasExtraNorms { x = zip(x, input).map { norm(name + "attn_norm_2", add($0, $1)) } }
                x = x.map { norm(name + "layer_output_norm", add($0, mlp(name, $0))) }
            }
        }
        return model.isPreNorm ? x.map { norm(model.outputNorm, $0) } : x
    }

    func mean(_ tokens: [Int32]) -> [Float] {
        let states = states(tokens)
        return (0..<model.width).map { column in
            Float(states.reduce(0) { $0 + $1[column] } / Double(states.count))
        }
    }

    /// What a classifier makes of the first token.
    func scores(_ tokens: [Int32], separator: Int32? = nil) -> [Float] {
        linear("cls.output", linear("cls", states(tokens, separator: separator)[0]).map { tanh($0) }).map { Float($0) }
    }

    // MARK: Blocks

    private func attention(_ layer: Int, _ x: [[Double]]) -> [[Double]] {
        let name = model.layerName(layer)
        let isLocal = model.window > 0 && layer % 3 != 0
        let projections = x.enumerated().map { position, state in
            var (q, k, v) = self.projections(name, state)
            if model.hasExtraNorms { (q, k) = (norm(name + "attn_q_norm", q), norm(name + "attn_k_norm", k)) }
            return (
                rotated(q, position, isLocal: isLocal), rotated(k, position, isLocal: isLocal), v
            )
        }
        let width = model.headWidth
        let scale = model.positions == .relative ? 1 : 1 / Double(width).squareRoot()
        return x.indices.map { query in
            var attended: [Double] = []
            for head in 0..<model.heads {
                let kv = head / (model.heads / model.kvHeads) * width
                let q = projections[query].0[head * width..<(head + 1) * width]
                let scores = x.indices.map { key -> Double in
                    if isLocal, abs(key - query) > model.window / 2 { return -.infinity }
                    let k = projections[key].1[kv..<kv + width]
                    return zip(q, k).reduce(0) { $0 + $1.0 * $1.1 } * scale + bias(head, key - query)
                }
                let exponentials = scores.map { exp($0 - scores.max()!) }
                let sum = exponentials.reduce(0, +)
                for d in 0..<width {
                    attended.append(x.indices.reduce(0) { $0 + exponentials[$1] / sum * projections[$1].2[kv + d] })
                }
            }
            return linear(name + model.attentionOutput, attended)
        }
    }

    private func projections(_ name: String, _ x: [Double]) -> ([Double], [Double], [Double]) {
        guard model.isFused else {
            return (linear(name + "attn_q", x), linear(name + "attn_k", x), linear(name + "attn_v", x))
        }
        let all = linear(name + "attn_qkv", x)
        let (queries, keys) = (model.heads * model.headWidth, model.kvHeads * model.headWidth)
        return (
            Array(all[..<queries]), Array(all[queries..<queries + keys]), Array(all[(queries + keys)...])
        )
    }

    private func rotated(_ x: [Double], _ position: Int, isLocal: Bool) -> [Double] {
        guard model.positions == .rotaryHalves || model.positions == .rotaryAdjacent else { return x }
        var result = x
        let half = model.headWidth / 2
        let base = isLocal ? 10_000 : Double(model.rotaryBase)
        for head in stride(from: 0, to: x.count, by: model.headWidth) {
            for pair in 0..<half {
                let (i, j) = model.positions == .rotaryHalves ? (pair, pair + half) : (2 * pair, 2 * pair + 1)
                let angle = Double(position) * pow(base, -Double(pair) / Double(half))
                let (a, b) = (x[head + i], x[head + j])
                result[head + i] = a * cos(angle) - b * sin(angle)
                result[head + j] = a * sin(angle) + b * cos(angle)
            }
        }
        return result
    }

    private func bias(_ head: Int, _ distance: Int) -> Double {
        switch model.positions {
        case .learned, .rotaryHalves, .rotaryAdjacent: return 0
        case .alibi:
            // Of 3 heads: two by the powers for 2 heads, the third by the first of those for 4.
            let slopes = [1.0 / 16, 1.0 / 256, 1.0 / 4]
            return -slopes[head] * Double(abs(distance))
        case .relative:
            // 8 buckets: distances 0 and 1 have their own, 2 and more share by logarithm up to 128; 4 for each side.
            let far = Double(abs(distance))
            let index = far < 2 ? far : min(3, (2 + log(far / 2) / log(64) * 2).rounded(.down))
            let bucket = Int(index) + (distance > 0 ? 4 : 0)
            return weights[model.layerName(0) + "attn_rel_b.weight"]![bucket * model.heads + head]
        }
    }

    func mlp(_ name: String, _ x: [Double]) -> [Double] {
        if weights[name + "ffn_gate_inp.weight"] != nil { return mixture(name, x) }
        let up = linear(name + "ffn_up", x)
        let inner =
            switch model.gating {
            case .none: up.map { activation($0) }
            case .separate: zip(linear(name + "ffn_gate", x), up).map { activation($0) * $1 }
            case .fused: zip(up[..<model.feedForward], up[model.feedForward...]).map { activation($0) * $1 }
            }
        return linear(name + "ffn_down", inner)
    }

    /// The experts that the router likes best, weighted by its softmax over all.
    private func mixture(_ name: String, _ x: [Double]) -> [Double] {
        let exponentials = linear(name + "ffn_gate_inp", x).map { exp($0) }
        let sum = exponentials.reduce(0, +)
        let chosen = exponentials.indices.sorted { exponentials[$0] > exponentials[$1] }
            .prefix(TinyEncoder.usedExperts)
        return chosen.reduce(x.map { _ in 0 }) { result, expert in
            let up = linear(name + "ffn_up_exps", expert: expert, x).map { activation($0) }
            let down = linear(name + "ffn_down_exps", expert: expert, up)
            return add(result, down.map { $0 * exponentials[expert] / sum })
        }
    }

    private func activation(_ x: Double) -> Double {
        switch (model.architecture, model.gating) {
        case ("t5encoder", .none), ("t5", .none): max(0, x)
        case ("nomic-bert", _), ("neo-bert", _), ("eurobert", _), ("llama-embed", _): x / (1 + exp(-x))
        default: 0.5 * x * (1 + tanh((2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x)))
        }
    }

    func norm(_ name: String, _ x: [Double]) -> [Double] {
        let mean = model.isRMS ? 0 : x.reduce(0, +) / Double(x.count)
        let variance = x.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(x.count)
        let scale = 1 / (variance + epsilon).squareRoot()
        let normed = zip(x, weights[name + ".weight"]!).map { ($0 - mean) * scale * $1 }
        return weights[name + ".bias"].map { add(normed, $0) } ?? normed
    }

    func linear(_ name: String, expert: Int? = nil, _ x: [Double]) -> [Double] {
        let matrix = weights[name + ".weight"]!
        let bias = weights[name + ".bias"]
        let rows = matrix.count / x.count / (expert == nil ? 1 : model.experts)
        return (0..<rows).map { row in
            let start = ((expert ?? 0) * rows + row) * x.count
            return x.indices.reduce(bias?[row] ?? 0) { $0 + matrix[start + $1] * x[$1] }
        }
    }

    func row(_ name: String, _ index: Int, _ width: Int) -> [Double] {
        Array(weights[name]![index * width..<(index + 1) * width])
    }

    func add(_ a: [Double], _ b: [Double]) -> [Double] { zip(a, b).map { $0 + $1 } }
}
