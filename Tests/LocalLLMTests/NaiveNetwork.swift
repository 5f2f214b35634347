import Foundation
import TestSupport

/// The Llama family written down once more, as plainly as it goes and in double precision: one token after another, whole
/// history recomputed from stored keys and values, no blocks, no tricks. What a layer has beside that, it has by its weights: biases,
/// norms with biases (LayerNorm) or without weights, a gate before the output projection, an MLP with or without a gate.
struct NaiveNetwork {
    /// Keys and values of each layer, a row a token.
    typealias History = [(keys: [[Double]], values: [[Double]])]

    let model: TinyModel
    /// Whether values (0, 1) make a pair that turns, or (0, n/2).
    let turnsAdjacent: Bool
    let frequencies: [Double]
    var expertWeightsSumToOne = true
    var expertScale = 1.0
    var weights: [String: [Double]]

    init(_ model: TinyModel, turnsAdjacent: Bool, frequencyFactor: Double = 1) {
        self.model = model
        self.turnsAdjacent = turnsAdjacent
        frequencies = (0..<model.headWidth / 2).map {
            pow(10_000, -2 * Double($0) / Double(model.headWidth)) * frequencyFactor
        }
        weights = model.weights().mapValues { $0.map { Double($0) } }
    }

    func logits(_ tokens: [Int32]) -> [Float] {
        var history = emptyHistory
        return tokens.enumerated().flatMap { position, token in
            var x = embedding(token)
            for layer in 0..<model.layers { x = forward(x, layer, position, &history[layer]) }
            return logits(of: norm(x, "output_norm"))
        }
    }

    var emptyHistory: History { Array(repeating: ([], []), count: model.layers) }

    func embedding(_ token: Int32) -> [Double] {
        Array(weights["token_embd.weight"]![Int(token) * model.width..<(Int(token) + 1) * model.width])
    }

    func logits(of state: [Double]) -> [Float] {
        linear(model.isTied ? "token_embd" : "output", state).map { Float($0) }
    }

    /// One layer, for one token.
    func forward(_ x: [Double], _ layer: Int, _ position: Int, _ history: inout History.Element) -> [Double] {
        let name = "blk.\(layer)."
        let h = norm(x, name + "attn_norm")
        history.keys.append(heads(name + "attn_k", h, position))
        history.values.append(linear(name + "attn_v", h))
        var attended = attend(heads(name + "attn_q", h, position), history.keys, history.values)
        if weights[name + "attn_gate.weight"] != nil {
            attended = zip(attended, linear(name + "attn_gate", h)).map { $0 / (1 + exp(-$1)) }
        }
        let middle = add(x, linear(name + "attn_output", attended))
        let g = norm(middle, name + "ffn_norm")
        return add(middle, model.experts > 0 ? mixture(name, g) : mlp(name, "", g))
    }

    private func heads(_ name: String, _ x: [Double], _ position: Int) -> [Double] {
        var result = linear(name, x)
        let width = model.headWidth
        if model.hasAllHeadsNorm { result = norm(result, name + "_norm") }
        for head in stride(from: 0, to: result.count, by: width) {
            var part = Array(result[head..<head + width])
            if model.hasHeadNorm { part = norm(part, name + "_norm") }
            for pair in 0..<width / 2 {
                let (i, j) = turnsAdjacent ? (2 * pair, 2 * pair + 1) : (pair, pair + width / 2)
                let angle = Double(position) * frequencies[pair]
                (part[i], part[j]) = (
                    part[i] * cos(angle) - part[j] * sin(angle), part[i] * sin(angle) + part[j] * cos(angle)
                )
            }
            result.replaceSubrange(head..<head + width, with: part)
        }
        return result
    }

    private func attend(_ query: [Double], _ keys: [[Double]], _ values: [[Double]]) -> [Double] {
        let width = model.headWidth
        let first = model.slidingWindow > 0 ? max(0, keys.count - model.slidingWindow) : 0
        return (0..<model.heads).flatMap { head in
            let kv = head / (model.heads / model.kvHeads) * width
            let scores = (first..<keys.count).map { t -> Double in
                var score = 0.0
                for d in 0..<width { score += query[head * width + d] * keys[t][kv + d] }
                return score / Double(width).squareRoot()
            }
            let exponentials = scores.map { exp($0 - scores.max()!) }
            let sum = exponentials.reduce(0, +)
            return (0..<width).map { d -> Double in
                var value = 0.0
                for (weight, row) in zip(exponentials, values[first...]) { value += weight / sum * row[kv + d] }
                return value
            }
        }
    }

    private func mlp(_ name: String, _ suffix: String, expert: Int? = nil, _ x: [Double]) -> [Double] {
        let up = linear(name + "ffn_up" + suffix, expert: expert, x)
        guard weights[name + "ffn_gate" + suffix + ".weight"] != nil else {
            return linear(name + "ffn_down" + suffix, expert: expert, up.map(gelu))
        }
        let gate = linear(name + "ffn_gate" + suffix, expert: expert, x)
        return linear(name + "ffn_down" + suffix, expert: expert, zip(gate, up).map { $0 / (1 + exp(-$0)) * $1 })
    }

    /// As approximated by tanh (Hendrycks and Gimpel 2016).
    private func gelu(_ x: Double) -> Double {
        0.5 * x * (1 + tanh((2 / Double.pi).squareRoot() * (x + 0.044_715 * x * x * x)))
    }

    /// The experts that the router likes best, weighted by its softmax, and the shared one where there is one.
    private func mixture(_ name: String, _ x: [Double]) -> [Double] {
        let exponentials = linear(name + "ffn_gate_inp", x).map { exp($0) }
        let chosen = exponentials.indices.sorted { exponentials[$0] > exponentials[$1] }.prefix(model.usedExperts)
        let sum = (expertWeightsSumToOne ? chosen.map { exponentials[$0] } : exponentials).reduce(0, +)
        var result = x.map { _ in 0.0 }
        for expert in chosen {
            let weight = exponentials[expert] / sum * expertScale
            result = add(result, mlp(name, "_exps", expert: expert, x).map { $0 * weight })
        }
        guard model.sharedFeedForward > 0 else { return result }
        let gate = linear(name + "ffn_gate_inp_shexp", x)[0]
        return add(result, mlp(name, "_shexp", x).map { $0 / (1 + exp(-gate)) })
    }

    private func linear(_ name: String, expert: Int? = nil, _ x: [Double]) -> [Double] {
        let matrix = weights[name + ".weight"]!
        let bias = weights[name + ".bias"]
        let rows = matrix.count / x.count / (expert == nil ? 1 : model.experts)
        return (0..<rows).map { row -> Double in
            var sum = bias?[row] ?? 0
            let start = ((expert ?? 0) * rows + row) * x.count
            for column in x.indices { sum += matrix[start + column] * x[column] }
            return sum
        }
    }

    /// RMS, or with a bias LayerNorm.
    func norm(_ x: [Double], _ name: String) -> [Double] {
        let (weight, bias) = (weights[name + ".weight"], weights[name + ".bias"])
        let mean = bias == nil ? 0 : x.reduce(0, +) / Double(x.count)
        var squares = 0.0
        for value in x { squares += (value - mean) * (value - mean) }
        let scale = 1 / (squares / Double(x.count) + 1e-5).squareRoot()
        return x.indices.map { index in
            let normal = (x[index] - mean) * scale
            return normal * (weight?[index] ?? 1) + (bias?[index] ?? 0)
        }
    }

    func add(_ a: [Double], _ b: [Double]) -> [Double] { zip(a, b).map { $0 + $1 } }
}
