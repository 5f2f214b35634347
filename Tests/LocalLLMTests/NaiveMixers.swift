import Foundation
import TestSupport

/// Random tensors of one layer, `blk.0.…`, and what each recurrent mixer is by its paper: one token after the other, in double
/// precision.
struct NaiveLayer {
    struct Tensor {
        /// In GGUF's order: the length of a row first.
        let shape: [Int]
        let values: [Float]
    }

    let architecture: String
    let width: Int
    private(set) var tensors: [String: Tensor] = [:]
    var metadata: [(key: String, value: GGUFBuilder.Value)] = []
    private var generator = SeededGenerator(seed: 0xb10c)

    init(architecture: String, width: Int) {
        self.architecture = architecture
        self.width = width
    }

    mutating func vector(_ name: String, _ shape: [Int], _ range: ClosedRange<Float> = -0.5...0.5) {
        let count = shape.reduce(1, *)
        tensors[name] = Tensor(shape: shape, values: (0..<count).map { _ in .random(in: range, using: &generator) })
    }

    mutating func matrix(_ name: String, from inputs: Int, to outputs: Int, count: Int = 1) {
        let limit = 1.7 / Float(inputs).squareRoot()
        vector(name, count == 1 ? [inputs, outputs] : [inputs, outputs, count], -limit...limit)
    }

    mutating func key(_ name: String, _ value: Int) { metadata.append((name, .uint32(UInt32(value)))) }

    func file() -> GGUFBuilder {
        var builder = GGUFBuilder()
        let common: [(String, Int)] = [
            ("context_length", 256), ("embedding_length", width), ("block_count", 1), ("feed_forward_length", 24),
            ("attention.head_count", 1),
        ]
        builder.metadata = [("general.architecture", .string(architecture))]
        // A test may give one of these itself.
        let own = Set(metadata.map(\.key))
        builder.metadata += common.filter { !own.contains($0.0) }.map {
            ("\(architecture).\($0.0)", .uint32(UInt32($0.1)))
        }
        for epsilon in ["layer_norm_epsilon", "layer_norm_rms_epsilon"] {
            builder.metadata.append(("\(architecture).attention.\(epsilon)", .float32(Float(Self.epsilon))))
        }
        builder.metadata += metadata.map { ("\(architecture).\($0.key)", $0.value) }
        builder.tensors = tensors.sorted { $0.key < $1.key }.map {
            GGUFBuilder.Tensor("blk.0." + $0.key, shape: $0.value.shape, $0.value.values)
        }
        return builder
    }

    static let epsilon = 1e-5

    // MARK: Arithmetic

    func values(_ name: String) -> [Double] { tensors[name]!.values.map { Double($0) } }

    /// `W·x + b`, with matrix `index` of those in a tensor.
    func linear(_ name: String, _ x: [Double], _ index: Int = 0) -> [Double] {
        let weight = tensors[name + ".weight"]!
        let (columns, rows) = (weight.shape[0], weight.shape.count > 1 ? weight.shape[1] : 1)
        let bias = tensors[name + ".bias"]?.values
        return (0..<rows).map { row in
            (0..<columns).reduce(Double(bias?[row] ?? 0)) {
                $0 + Double(weight.values[(index * rows + row) * columns + $1]) * x[$1]
            }
        }
    }

    static func sigmoid(_ x: Double) -> Double { 1 / (1 + exp(-x)) }
    static func silu(_ x: Double) -> Double { x * sigmoid(x) }
    static func softplus(_ x: Double) -> Double { log1p(exp(x)) }

    static func rms(_ x: [Double], _ weight: [Double]) -> [Double] {
        let scale = 1 / (x.reduce(0) { $0 + $1 * $1 } / Double(x.count) + epsilon).squareRoot()
        return zip(x, weight).map { $0 * scale * $1 }
    }

    static func unit(_ x: [Double]) -> [Double] {
        let length = (x.reduce(0) { $0 + $1 * $1 } + epsilon).squareRoot()
        return x.map { $0 / length }
    }

    /// RWKV's norm of each head.
    func headNorm(_ name: String, _ x: [Double], _ headWidth: Int) -> [Double] {
        let (weight, bias) = (values(name + ".weight"), values(name + ".bias"))
        return x.indices.map { index in
            let head = index / headWidth * headWidth
            let part = x[head..<head + headWidth]
            let mean = part.reduce(0, +) / Double(headWidth)
            let variance = part.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(headWidth)
            return (x[index] - mean) / (variance + 64e-5).squareRoot() * weight[index] + bias[index]
        }
    }

    /// A causal convolution of token `t` with those before it.
    func convolve(_ name: String, _ rows: [[Double]], _ t: Int, bias: String? = nil) -> [Double] {
        let kernel = tensors[name]!
        let taps = kernel.shape[0]
        let bias = bias.map { values($0) }
        return rows[0].indices.map { channel in
            (0..<taps).reduce(bias?[channel] ?? 0) { sum, tap in
                let source = t - taps + 1 + tap
                return source < 0 ? sum : sum + Double(kernel.values[channel * taps + tap]) * rows[source][channel]
            }
        }
    }

    /// `x` and the token before it, with a share of that.
    static func shift(_ rows: [[Double]], _ t: Int, _ share: [Double]) -> [Double] {
        rows[t].indices.map { rows[t][$0] + ((t == 0 ? 0 : rows[t - 1][$0]) - rows[t][$0]) * share[$0] }
    }
}

/// A head's state `[keys][values]`.
struct NaiveHeadState {
    private(set) var rows: [[Double]]

    init(_ keys: Int, _ values: Int) { rows = Array(repeating: Array(repeating: 0, count: values), count: keys) }

    func read(_ key: [Double]) -> [Double] {
        rows[0].indices.map { column in rows.indices.reduce(0) { $0 + rows[$1][column] * key[$1] } }
    }

    mutating func decay(_ factors: [Double]) {
        for index in rows.indices { rows[index] = rows[index].map { $0 * factors[index] } }
    }

    mutating func add(_ key: [Double], _ value: [Double]) {
        for index in rows.indices { for column in value.indices { rows[index][column] += key[index] * value[column] } }
    }
}

extension [Double] {
    /// Part `index` of those that are `width` long.
    func part(_ index: Int, _ width: Int) -> [Double] { Array(self[index * width..<(index + 1) * width]) }
}
