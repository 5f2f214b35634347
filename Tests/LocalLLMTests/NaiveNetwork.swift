import Foundation
import TestSupport

/// The Llama family written down once more, as plainly as it goes and in double precision: one token after another, whole
/// history recomputed from stored keys and values, no blocks, no tricks.
struct NaiveNetwork {
    let model: TinyModel
    /// Whether values (0, 1) make a pair that turns, or (0, n/2).
    let turnsAdjacent: Bool
    let frequencies: [Double]
    var expertWeightsSumToOne = true
    var expertScale = 1.0
    private let weights: [String: [Double]]

    init(_ model: TinyModel, turnsAdjacent: Bool, frequencyFactor: Double = 1) {
        self.model = model
        self.turnsAdjacent = turnsAdjacent
        frequencies = (0..<model.headWidth / 2).map {
            pow(10_000, -2 * Double($0) / Double(model.headWidth)) * frequencyFactor
        }
        weights = model.weights().mapValues { $0.map { Double($0) } }
    }

    func logits(_ tokens: [Int32]) -> [Float] {
        var keys = [[[Double]]](repeating: [], count: model.layers)
        var values = keys
        return tokens.enumerated().flatMap { position, token in
            var x = Array(weights["token_embd.weight"]![Int(token) * model.width..<(Int(token) + 1) * model.width])
            for layer in 0..<model.layers {
                let name = "blk.\(layer)."
                let h = norm(x, weights[name + "attn_norm.weight"]!)
                keys[layer].append(heads(name + "attn_k", h, position))
                values[layer].append(linear(name + "attn_v", h))
                x = add(
                    x,
                    linear(
                        name + "attn_output", attend(heads(name + "attn_q", h, position), keys[layer], values[layer])))
                let g = norm(x, weights[name + "ffn_norm.weight"]!)
                x = add(x, model.experts > 0 ? mixture(name, g) : mlp(name, "", g))
            }
            let last = norm(x, weights["output_norm.weight"]!)
            return linear(model.isTied ? "token_embd" : "output", last).map { Float($0) }
        }
    }

    private func heads(_ name: String, _ x: [Double], _ position: Int) -> [Double] {
        var result = linear(name, x)
        let width = model.headWidth
        if model.hasAllHeadsNorm { result = norm(result, weights[name + "_norm.weight"]!) }
        for head in stride(from: 0, to: result.count, by: width) {
            var part = Array(result[head..<head + width])
            if model.hasHeadNorm { part = norm(part, weights[name + "_norm.weight"]!) }
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
        let gate = linear(name + "ffn_gate" + suffix, expert: expert, x)
        let up = linear(name + "ffn_up" + suffix, expert: expert, x)
        return linear(name + "ffn_down" + suffix, expert: expert, zip(gate, up).map { $0 / (1 + exp(-$0)) * $1 })
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

    private func norm(_ x: [Double], _ weight: [Double]) -> [Double] {
        let scale = 1 / (x.reduce(0) { $0 + $1 * $1 } / Double(x.count) + 1e-5).squareRoot()
        return zip(x, weight).map { $0 * scale * $1 }
    }

    private func add(_ a: [Double], _ b: [Double]) -> [Double] { zip(a, b).map { $0 + $1 } }
}
