public import Foundation

/// A small model of the Llama family with random weights, for GGUF files and reference computations.
public struct TinyModel: Sendable {
    public var architecture = "llama"
    public var width = 64
    public var feedForward = 96
    public var layers = 2
    public var heads = 4
    public var kvHeads = 2
    public var headWidth = 16
    public var context = 128
    public var slidingWindow = 0
    /// Whether queries, keys and values have biases.
    public var hasBias = false
    /// Whether norms are LayerNorms, the other matrices have biases, and MLPs are a GELU without a gate.
    public var isStarCoder = false
    /// Whether norms have no weights and attention has an output gate.
    public var isHierarchical = false
    /// Whether queries and keys are normalized per head.
    public var hasHeadNorm = false
    /// Whether queries and keys of all heads are normalized together.
    public var hasAllHeadsNorm = false
    /// Experts per layer; 0: a dense model.
    public var experts = 0
    public var usedExperts = 0
    /// Width of the shared expert; 0: none.
    public var sharedFeedForward = 0
    /// Whether matrices are Q4_0, with values that it represents exactly.
    public var isQuantized = false
    public var isTied = false
    public var extra: [(key: String, value: GGUFBuilder.Value)] = []
    public var template: String? = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}a:"

    /// Vocabulary: `<unk>`, `<s>`, `</s>` and one token per byte.
    public static let vocabularySize = 259
    public static let endOfSequence: Int32 = 2
    public static func token(_ byte: UInt8) -> Int32 { Int32(byte) + 3 }

    public init() {}

    /// The values of each tensor, row-major.
    public func weights() -> [String: [Float]] {
        var generator = SeededGenerator(seed: 0x7117)
        func random(_ count: Int, scale: Float, around mean: Float = 0) -> [Float] {
            (0..<count).map { _ in mean + scale * Float.random(in: -1...1, using: &generator) }
        }
        func matrix(_ rows: Int, _ columns: Int) -> [Float] {
            let values = random(rows * columns, scale: 1.7 / Float(columns).squareRoot())
            return isQuantized ? values.map { Self.code($0) * Self.quantum } : values
        }
        var result = ["token_embd.weight": random(Self.vocabularySize * width, scale: 1)]
        result["output_norm.weight"] = random(width, scale: 0.2, around: 1)
        if !isTied { result["output.weight"] = matrix(Self.vocabularySize, width) }
        for layer in 0..<layers {
            let name = "blk.\(layer)."
            result[name + "attn_norm.weight"] = random(width, scale: 0.2, around: 1)
            result[name + "ffn_norm.weight"] = random(width, scale: 0.2, around: 1)
            result[name + "attn_q.weight"] = matrix(heads * headWidth, width)
            result[name + "attn_k.weight"] = matrix(kvHeads * headWidth, width)
            result[name + "attn_v.weight"] = matrix(kvHeads * headWidth, width)
            result[name + "attn_output.weight"] = matrix(width, heads * headWidth)
            if experts == 0 {
                result[name + "ffn_gate.weight"] = matrix(feedForward, width)
                result[name + "ffn_up.weight"] = matrix(feedForward, width)
                result[name + "ffn_down.weight"] = matrix(width, feedForward)
            } else {
                // Large weights, so that the router's choices are unambiguous.
                result[name + "ffn_gate_inp.weight"] = random(experts * width, scale: 1)
                result[name + "ffn_gate_exps.weight"] = matrix(experts * feedForward, width)
                result[name + "ffn_up_exps.weight"] = matrix(experts * feedForward, width)
                result[name + "ffn_down_exps.weight"] = matrix(experts * width, feedForward)
            }
            if sharedFeedForward > 0 {
                result[name + "ffn_gate_inp_shexp.weight"] = random(width, scale: 0.5)
                result[name + "ffn_gate_shexp.weight"] = matrix(sharedFeedForward, width)
                result[name + "ffn_up_shexp.weight"] = matrix(sharedFeedForward, width)
                result[name + "ffn_down_shexp.weight"] = matrix(width, sharedFeedForward)
            }
            if hasBias {
                result[name + "attn_q.bias"] = random(heads * headWidth, scale: 0.5)
                result[name + "attn_k.bias"] = random(kvHeads * headWidth, scale: 0.5)
                result[name + "attn_v.bias"] = random(kvHeads * headWidth, scale: 0.5)
            }
            if isStarCoder {
                result[name + "ffn_gate.weight"] = nil
                for (part, count) in [
                    ("attn_norm", width), ("ffn_norm", width), ("attn_output", width), ("ffn_up", feedForward),
                    ("ffn_down", width),
                ] { result[name + part + ".bias"] = random(count, scale: 0.3) }
            }
            if isHierarchical {
                for part in ["attn_norm", "ffn_norm"] { result[name + part + ".weight"] = nil }
                result[name + "attn_gate.weight"] = matrix(heads * headWidth, width)
            }
            if hasHeadNorm {
                result[name + "attn_q_norm.weight"] = random(headWidth, scale: 0.2, around: 1)
                result[name + "attn_k_norm.weight"] = random(headWidth, scale: 0.2, around: 1)
            }
            if hasAllHeadsNorm {
                result[name + "attn_q_norm.weight"] = random(heads * headWidth, scale: 0.2, around: 1)
                result[name + "attn_k_norm.weight"] = random(kvHeads * headWidth, scale: 0.2, around: 1)
            }
        }
        if isStarCoder { result["output_norm.bias"] = random(width, scale: 0.3) }
        if isHierarchical { result["output_norm.weight"] = nil }
        return result
    }

    public func builder() -> GGUFBuilder {
        var builder = GGUFBuilder()
        let bytes = (0..<256).map { String(format: "<0x%02X>", $0) }
        builder.metadata = [
            ("general.architecture", .string(architecture)), ("general.name", .string("tiny")),
            ("\(architecture).context_length", .uint32(UInt32(context))),
            ("\(architecture).embedding_length", .uint32(UInt32(width))),
            ("\(architecture).feed_forward_length", .uint32(UInt32(feedForward))),
            ("\(architecture).block_count", .uint32(UInt32(layers))),
            ("\(architecture).attention.head_count", .uint32(UInt32(heads))),
            ("\(architecture).attention.head_count_kv", .uint32(UInt32(kvHeads))),
            ("\(architecture).attention.key_length", .uint32(UInt32(headWidth))),
            ("\(architecture).attention.value_length", .uint32(UInt32(headWidth))),
            ("\(architecture).attention.layer_norm\(isStarCoder ? "" : "_rms")_epsilon", .float32(1e-5)),
            ("\(architecture).attention.sliding_window", .uint32(UInt32(slidingWindow))),
            ("tokenizer.ggml.model", .string("llama")),
            ("tokenizer.ggml.tokens", .strings(["<unk>", "<s>", "</s>"] + bytes)),
            ("tokenizer.ggml.scores", .floats(Array(repeating: 0, count: Self.vocabularySize))),
            ("tokenizer.ggml.token_type", .int32s([2, 3, 3] + Array(repeating: 6, count: 256))),
            ("tokenizer.ggml.bos_token_id", .uint32(1)), ("tokenizer.ggml.eos_token_id", .uint32(2)),
            ("tokenizer.ggml.add_space_prefix", .bool(false)),
        ]
        if experts > 0 {
            builder.metadata += [
                ("\(architecture).expert_count", .uint32(UInt32(experts))),
                ("\(architecture).expert_used_count", .uint32(UInt32(usedExperts))),
                ("\(architecture).expert_feed_forward_length", .uint32(UInt32(feedForward))),
                ("\(architecture).expert_shared_feed_forward_length", .uint32(UInt32(sharedFeedForward))),
            ]
        }
        if let template { builder.metadata.append(("tokenizer.chat_template", .string(template))) }
        builder.metadata += extra
        builder.tensors = weights().sorted { $0.key < $1.key }.map(tensor)
        return builder
    }

    private func tensor(_ name: String, _ values: [Float]) -> GGUFBuilder.Tensor {
        let shape = shape(of: name, count: values.count)
        // As in published files, vectors and routers are never quantized.
        guard isQuantized, shape.count > 1, !name.contains("gate_inp"), !name.hasPrefix("token_embd") else {
            return .init(name, shape: shape, values)
        }
        return .init(name, type: 2, shape: shape.map { UInt64($0) }, data: Self.q4_0(values))
    }

    /// Scale of the quantized values, which are -8...7 times it.
    private static let quantum: Float = 1 / 32
    private static func code(_ value: Float) -> Float { min(7, max(-8, (value / quantum).rounded())) }

    /// Encodes Q4_0 blocks of 32 values: the scale as a half, then codes plus 8, values 0..<16 in the low nibbles,
    /// 16..<32 in the high ones.
    private static func q4_0(_ values: [Float]) -> [UInt8] {
        let codes = values.map { UInt8(code($0) + 8) }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: codes.count, by: 32) {
            bytes += [0x00, 0x28]
            for index in start..<start + 16 { bytes.append(codes[index] | codes[index + 16] << 4) }
        }
        return bytes
    }

    /// Shape of a tensor by its name, row length first.
    private func shape(of name: String, count: Int) -> [Int] {
        guard name.hasSuffix(".weight"), !name.contains("norm") else { return [count] }
        let columns =
            name.contains("down_shexp")
            ? sharedFeedForward
            : name.contains("ffn_down") ? feedForward : name.contains("attn_output") ? heads * headWidth : width
        if name.contains("_exps") { return [columns, count / columns / experts, experts] }
        return name.contains("inp_shexp") ? [columns] : [columns, count / columns]
    }

    /// Writes the file into `directory`.
    public func write(in directory: TemporaryDirectory, as name: String = "tiny.gguf") throws -> URL {
        URL(filePath: try directory.write(builder().bytes(), as: name))
    }

    /// Writes a random LoRA adapter of the output matrix with the name "shout".
    public func writeAdapter(in directory: TemporaryDirectory) throws -> URL {
        var generator = SeededGenerator(seed: 1)
        func random(_ count: Int) -> [Float] { (0..<count).map { _ in Float.random(in: -1...1, using: &generator) } }
        let rank = 4
        var builder = GGUFBuilder([
            "general.architecture": .string(architecture), "general.type": .string("adapter"),
            "general.name": .string("shout"), "adapter.type": .string("lora"),
            "adapter.lora.alpha": .float32(Float(rank)),
        ])
        builder.tensors = [
            .init("output.weight.lora_a", shape: [width, rank], random(rank * width)),
            .init("output.weight.lora_b", shape: [rank, Self.vocabularySize], random(rank * Self.vocabularySize)),
        ]
        return URL(filePath: try directory.write(builder.bytes(), as: "adapter.gguf"))
    }
}
