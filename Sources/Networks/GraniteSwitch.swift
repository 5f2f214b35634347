import GGUF
import Compute

/// Granite Switch (IBM 2026): Granite with LoRA adapters in the model file. A control token switches an adapter on, for itself and
/// all later tokens; the control token's embedding is that of a substitute token.
///
/// The reference finds the adapter with an attention head that sees only control tokens: their mean number, rounded.
///
/// Reference implementation: llama.cpp's `granite-switch.cpp`.
final class SwitchedNetwork: Network {
    var stateShape: StateShape
    private let decoder: DecoderNetwork
    /// Index of the state behind the decoder's layers: the sum of the control tokens' numbers so far, and their count.
    private let switchLayer: Int
    private let adapterCount: Int
    private let adapterTensors: [AdapterTensors]
    private let path: String
    /// Adapter number n of the file at n − 1; number 0 means none. Read in the first step: estimates of memory come
    /// before it.
    private(set) lazy var adapters: [LoRAAdapter] = {
        var updates = Array(repeating: [String: LoRAAdapter.Update](), count: adapterCount)
        for tensors in adapterTensors {
            for (adapter, update) in tensors.updates().enumerated() { updates[adapter][tensors.matrix] = update }
        }
        return updates.enumerated().map {
            LoRAAdapter(path: path, name: "adapter \($0 + 1) of the file", updates: $1)
        }
    }()
    /// By control token: the adapter's number and the substitute token.
    private let switches: [Int32: (number: Int, token: Int32)]

    var vocabularySize: Int { decoder.vocabularySize }
    var trainedContext: Int { decoder.trainedContext }
    var bytesBesideFile: Int { adapterTensors.reduce(0) { $0 + $1.updateBytes } }

    init(_ model: DecoderBuilder) throws(ModelFileError) {
        decoder = DecoderNetwork(try model.parts())
        switchLayer = model.layerCount
        stateShape = StateShape(decoder.stateShape.layers + [.recurrent(floats: 2)])
        let (hyper, metadata) = (model.hyper, model.file.metadata)
        let count = try hyper.count("adapters.count")
        let tokens = try metadata.int32sIfPresent("\(hyper.architecture).adapters.token_ids_activate") ?? []
        let substitutes = try metadata.int32sIfPresent("\(hyper.architecture).adapters.token_ids_substitute") ?? []
        guard tokens.count == count else {
            throw hyper.invalid("adapters.token_ids_activate", "\(count) tokens, one for each adapter", found: tokens)
        }
        let vocabulary = Int32(clamping: decoder.vocabularySize)
        guard substitutes.count == count, substitutes.allSatisfy({ (0..<vocabulary).contains($0) }) else {
            throw hyper.invalid(
                "adapters.token_ids_substitute", "\(count) tokens of the vocabulary, one for each adapter",
                found: substitutes
            )
        }
        // With a smaller gain, other tokens would contribute to the mean.
        let gain = try hyper.double("adapters.router_gain") ?? 15
        guard gain >= 12 else { throw hyper.invalid("adapters.router_gain", "at least 12", found: gain) }
        var switches: [Int32: (number: Int, token: Int32)] = [:]
        for (index, token) in tokens.enumerated() { switches[token] = (index + 1, substitutes[index]) }
        self.switches = switches
        adapterCount = count
        path = model.file.path
        adapterTensors = try AdapterTensors.all(model, count: count)
    }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        var step = step
        var rows = Array(repeating: RangeSet<Int>(), count: adapterCount)
        for segment in step.segments {
            let state = segment.state
            for row in segment.rows {
                if let found = switches[step.tokens[row]] {
                    state[recurrentOf: switchLayer, 0] += Float(found.number)
                    state[recurrentOf: switchLayer, 1] += 1
                }
                let (sum, count) = (state[recurrentOf: switchLayer, 0], state[recurrentOf: switchLayer, 1])
                guard count > 0 else { continue }
                let number = Int((sum / count).rounded())
                if number > 0 { rows[number - 1].insert(contentsOf: row..<row + 1) }
            }
        }
        step.replaceTokens { switches[$0]?.token ?? $0 }
        for (adapter, rows) in zip(adapters, rows) where !rows.isEmpty {
            step.add(AdapterRows(adapter: adapter, scale: 1, rows: rows))
        }
        return decoder.forward(step, on: compute)
    }
}

/// The tensors of all adapters' updates of one matrix. A fused matrix has tensors for each of its parts.
private struct AdapterTensors {
    /// Name of the matrix.
    let matrix: String
    let adapters: Int
    let inputs: Int
    /// Rank of each part's update.
    let rank: Int
    /// Numbers of outputs, and tensors `[inputs, rank, slots]` and `[rank, outputs, slots]`; the first slot is zero.
    let parts: [(outputs: Int, down: TensorView, up: TensorView)]

    private var ranks: Int { rank * parts.count }
    private var outputs: Int { parts.reduce(0) { $0 + $1.outputs } }

    /// Bytes of all updates.
    var updateBytes: Int { adapters * ranks * (inputs + outputs) * MemoryLayout<Float>.stride }

    static func all(_ model: DecoderBuilder, count: Int) throws(ModelFileError) -> [AdapterTensors] {
        let rank = try model.hyper.count("adapters.lora_rank")
        var all: [AdapterTensors] = []
        for index in 0..<model.layerCount {
            let layer = LayerBuilder(model, index)
            let (heads, kvHeads) = (model.headCounts[index], model.kvHeadCounts[index])
            let (width, hidden) = (model.width, model.feedForwardWidths[index])
            let (key, value) = try layer.headWidths()
            let matrices: [(name: String, from: Int, parts: [(name: String, to: Int)])] = [
                (
                    "attn_qkv", width,
                    [("attn_q", heads * key), ("attn_k", kvHeads * key), ("attn_v", kvHeads * value)]
                ),
                ("attn_output", heads * value, [("attn_output", width)]),
                ("ffn_gate", width, [("ffn_gate", hidden)]), ("ffn_up", width, [("ffn_up", hidden)]),
                ("ffn_down", hidden, [("ffn_down", width)]),
            ]
            for matrix in matrices {
                var parts: [(Int, TensorView, TensorView)] = []
                for (name, to) in matrix.parts {
                    parts.append(
                        (
                            to,
                            try layer.file.tensor(
                                layer.name + name + ".lora_a", shape: [matrix.from, rank, count + 1]),
                            try layer.file.tensor(layer.name + name + ".lora_b", shape: [rank, to, count + 1])
                        ))
                }
                all.append(
                    AdapterTensors(
                        matrix: layer.name + matrix.name + ".weight", adapters: count, inputs: matrix.from, rank: rank,
                        parts: parts))
            }
        }
        return all
    }

    /// Each adapter's update; its rank is `rank` per part.
    func updates() -> [LoRAAdapter.Update] {
        var a = Array(repeating: [Float](), count: adapters)
        var b = Array(repeating: [Float](repeating: 0, count: ranks * outputs), count: adapters)
        var first = 0
        for (index, part) in parts.enumerated() {
            let (down, up) = (part.down.floats(), part.up.floats())
            for adapter in 0..<adapters {
                a[adapter] += down[(adapter + 1) * rank * inputs..<(adapter + 2) * rank * inputs]
                let start = (adapter + 1) * rank * part.outputs
                for row in 0..<part.outputs {
                    for k in 0..<rank {
                        b[adapter][(first + row) * ranks + index * rank + k] = up[start + row * rank + k]
                    }
                }
            }
            first += part.outputs
        }
        return zip(a, b).map { LoRAAdapter.Update(rank: ranks, columns: inputs, rows: outputs, a: $0, b: $1) }
    }
}
