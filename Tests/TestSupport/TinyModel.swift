/// A Llama with random weights that a test can write in a millisecond: 2 layers of width 32, 260 tokens, context 128.
///
/// Its tokenizer is byte-level: tokens 0...255 are the bytes in the order of GPT-2's alphabet ("A" is 32), 256 is "hi",
/// 257 `<s>`, 258 `</s>`, 259 `<|sep|>`.
public enum TinyModel {
    public static let vocabularySize = 260

    /// Metadata alone, as files that hold only a vocabulary have it.
    public static func vocabulary(chatTemplate: String? = nil) -> GGUFBuilder {
        var builder = GGUFBuilder([
            "general.architecture": .string("llama"),
            "general.name": .string("Tiny"),
            "tokenizer.ggml.model": .string("gpt2"),
            "tokenizer.ggml.pre": .string("gpt-2"),
            "tokenizer.ggml.tokens": .strings(alphabet + ["hi", "<s>", "</s>", "<|sep|>"]),
            "tokenizer.ggml.token_type": .int32s(Array(repeating: 1, count: 257) + [3, 3, 3]),
            "tokenizer.ggml.merges": .strings(["h i"]),
            "tokenizer.ggml.bos_token_id": .uint32(257),
            "tokenizer.ggml.eos_token_id": .uint32(258),
            "tokenizer.ggml.add_bos_token": .bool(true),
        ])
        if let chatTemplate { builder.metadata.append(("tokenizer.chat_template", .string(chatTemplate))) }
        return builder
    }

    public static func model(chatTemplate: String? = nil, seed: UInt64 = 1) -> GGUFBuilder {
        var builder = vocabulary(chatTemplate: chatTemplate)
        let (width, hidden, layers, heads) = (32, 64, 2, 4)
        builder.metadata += [
            ("llama.context_length", .uint32(128)), ("llama.embedding_length", .uint32(UInt32(width))),
            ("llama.feed_forward_length", .uint32(UInt32(hidden))), ("llama.block_count", .uint32(UInt32(layers))),
            ("llama.attention.head_count", .uint32(UInt32(heads))),
            ("llama.attention.head_count_kv", .uint32(UInt32(heads / 2))),
            ("llama.attention.layer_norm_rms_epsilon", .float32(1e-5)),
        ]
        var random = SeededGenerator(seed: seed)
        func add(_ name: String, _ shape: [Int]) {
            let values = (0..<shape.reduce(1, *)).map { _ in Float.random(in: -0.3...0.3, using: &random) }
            builder.tensors.append(.init(name, shape: shape, values))
        }
        func addOnes(_ name: String) {
            builder.tensors.append(.init(name, shape: [width], Array(repeating: 1, count: width)))
        }
        add("token_embd.weight", [width, vocabularySize])
        for layer in 0..<layers {
            let name = "blk.\(layer)."
            addOnes(name + "attn_norm.weight")
            add(name + "attn_q.weight", [width, width])
            add(name + "attn_k.weight", [width, width / 2])
            add(name + "attn_v.weight", [width, width / 2])
            add(name + "attn_output.weight", [width, width])
            addOnes(name + "ffn_norm.weight")
            add(name + "ffn_gate.weight", [width, hidden])
            add(name + "ffn_up.weight", [width, hidden])
            add(name + "ffn_down.weight", [hidden, width])
        }
        addOnes("output_norm.weight")
        return builder
    }

    /// The characters that stand for bytes in GPT-2's vocabularies: those that print stand for themselves and come
    /// first, the others are numbered on from 256.
    private static let alphabet: [String] = {
        let printable = Array(33...126) + Array(161...172) + Array(174...255)
        let others = (0..<256 - printable.count).map { 256 + $0 }
        return (printable + others).compactMap { UnicodeScalar($0).map { String(Character($0)) } }
    }()
}
