public import Foundation

/// A small encoder with random weights, for GGUF files and reference computations. The defaults are BERT's.
public struct TinyEncoder: Sendable {
    public enum Positions: Sendable { case learned, rotaryHalves, rotaryAdjacent, alibi, relative }
    public enum Gating: Sendable { case none, separate, fused }

    public var architecture = "bert"
    public var positions = Positions.learned
    public var isPreNorm = false
    public var isRMS = false
    public var gating = Gating.none
    /// Whether queries, keys and values are one tensor.
    public var isFused = false
    public var hasBias = true
    public var hasTokenTypes = true
    /// Whether queries and keys of all heads are normalized together and a second norm follows attention (Jina v2 for
    /// code).
    public var hasExtraNorms = false
    public var width = 48
    public var feedForward = 80
    public var layers = 3
    /// Decoder layers of an encoder-decoder, `t5`.
    public var decoderLayers = 0
    public var heads = 3
    public var kvHeads = 3
    public var headWidth = 16
    public var context = 64
    /// Attention window of layers with `index % 3 != 0`, half on either side; 0: no window.
    public var window = 0
    /// Rotary base of the layers without window; the others have 10,000.
    public var rotaryBase: Float = 10_000
    /// Experts of the odd layers; 0: all layers are dense.
    public var experts = 0
    public static let usedExperts = 2
    /// Outputs of the classifier; 0: no classifier.
    public var labels = 0
    /// GGUF's number of the pooling type.
    public var pooling = 1
    public var extra: [(key: String, value: GGUFBuilder.Value)] = []

    public static let buckets = 8
    /// `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]`, then the letters a to z, first at the start of a word, then inside.
    public static let vocabulary =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + letters.map { "▁" + $0 } + letters
    private static let letters = "abcdefghijklmnopqrstuvwxyz".map { String($0) }

    public init() {}

    private var prefix: String { architecture.hasPrefix("t5") ? "enc." : "" }
    public func layerName(_ layer: Int) -> String { "\(prefix)blk.\(layer)." }
    public var attentionOutput: String { architecture.hasPrefix("t5") ? "attn_o" : "attn_output" }
    public var outputNorm: String {
        architecture.hasPrefix("t5") || architecture == "neo-bert" ? "enc.output_norm" : "output_norm"
    }

    public func tensors() -> [GGUFBuilder.Tensor] {
        var generator = SeededGenerator(seed: 0xE1C0)
        var result: [GGUFBuilder.Tensor] = []
        func random(_ count: Int, scale: Float, around mean: Float = 0) -> [Float] {
            (0..<count).map { _ in mean + scale * Float.random(in: -1...1, using: &generator) }
        }
        func linear(_ name: String, _ inputs: Int, _ outputs: Int, bias: Bool) {
            let scale = 1.7 / Float(inputs).squareRoot()
            result.append(
                .init(name + ".weight", shape: [inputs, outputs], random(inputs * outputs, scale: scale)))
            if bias { result.append(.init(name + ".bias", shape: [outputs], random(outputs, scale: 0.3))) }
        }
        func norm(_ name: String, _ count: Int) {
            result.append(.init(name + ".weight", shape: [count], random(count, scale: 0.2, around: 1)))
            if hasBias, !isRMS { result.append(.init(name + ".bias", shape: [count], random(count, scale: 0.2))) }
        }
        func table(_ name: String, _ rows: Int, columns: Int) {
            result.append(.init(name, shape: [columns, rows], random(rows * columns, scale: 1)))
        }
        table("token_embd.weight", Self.vocabulary.count, columns: width)
        if hasTokenTypes { table("token_types.weight", 2, columns: width) }
        if positions == .learned { table("position_embd.weight", context, columns: width) }
        if !isPreNorm || architecture == "modern-bert" { norm("token_embd_norm", width) }
        for layer in 0..<layers {
            let name = layerName(layer)
            let (queries, keys) = (heads * headWidth, kvHeads * headWidth)
            if isFused {
                linear(name + "attn_qkv", width, queries + 2 * keys, bias: hasBias)
            } else {
                linear(name + "attn_q", width, queries, bias: hasBias)
                linear(name + "attn_k", width, keys, bias: hasBias)
                linear(name + "attn_v", width, keys, bias: hasBias)
            }
            if hasExtraNorms {
                norm(name + "attn_q_norm", queries)
                norm(name + "attn_k_norm", keys)
                norm(name + "attn_norm_2", width)
            }
            linear(name + attentionOutput, queries, width, bias: hasBias)
            if positions == .relative, layer == 0 { table(name + "attn_rel_b.weight", Self.buckets, columns: heads) }
            norm(name + (isPreNorm ? "attn_norm" : "attn_output_norm"), width)
            norm(name + (isPreNorm ? "ffn_norm" : "layer_output_norm"), width)
            if experts > 0, layer % 2 == 1 {
                linear(name + "ffn_gate_inp", width, experts, bias: false)
                for (part, inputs, outputs) in [("up", width, feedForward), ("down", feedForward, width)] {
                    result.append(
                        .init(
                            name + "ffn_\(part)_exps.weight", shape: [inputs, outputs, experts],
                            random(inputs * outputs * experts, scale: 1.7 / Float(inputs).squareRoot())))
                }
                continue
            }
            if gating == .separate { linear(name + "ffn_gate", width, feedForward, bias: false) }
            linear(name + "ffn_up", width, gating == .fused ? 2 * feedForward : feedForward, bias: hasBias)
            linear(name + "ffn_down", feedForward, width, bias: hasBias)
        }
        if isPreNorm { norm(outputNorm, width) }
        for layer in 0..<decoderLayers {
            let name = "dec.blk.\(layer)."
            let (queries, keys) = (heads * headWidth, kvHeads * headWidth)
            for kind in ["attn", "cross_attn"] {
                norm(name + kind + "_norm", width)
                linear(name + kind + "_q", width, queries, bias: false)
                linear(name + kind + "_k", width, keys, bias: false)
                linear(name + kind + "_v", width, keys, bias: false)
                linear(name + kind + "_o", queries, width, bias: false)
            }
            if layer == 0 { table(name + "attn_rel_b.weight", Self.buckets, columns: heads) }
            norm(name + "ffn_norm", width)
            if gating == .separate { linear(name + "ffn_gate", width, feedForward, bias: false) }
            linear(name + "ffn_up", width, feedForward, bias: false)
            linear(name + "ffn_down", feedForward, width, bias: false)
        }
        if decoderLayers > 0 { norm("dec.output_norm", width) }
        if labels > 0 {
            linear("cls", width, width, bias: true)
            linear("cls.output", width, labels, bias: true)
        }
        return result
    }

    public func builder() -> GGUFBuilder {
        func number(_ key: String, _ value: Int) -> (key: String, value: GGUFBuilder.Value) {
            ("\(architecture).\(key)", .uint32(UInt32(value)))
        }
        var builder = GGUFBuilder(["general.architecture": .string(architecture), "general.name": .string("tiny")])
        builder.metadata += [
            number("context_length", context), number("embedding_length", width), number("block_count", layers),
            number("feed_forward_length", feedForward), number("attention.head_count", heads),
            number("attention.head_count_kv", kvHeads), number("attention.key_length", headWidth),
            number("attention.value_length", headWidth), number("pooling_type", pooling),
            number("attention.relative_buckets_count", Self.buckets),
            ("\(architecture).attention.causal", .bool(false)),
            ("\(architecture).attention.layer_norm_\(isRMS ? "rms_" : "")epsilon", .float32(1e-6)),
            ("tokenizer.ggml.model", .string("bert")),
            ("tokenizer.ggml.tokens", .strings(Self.vocabulary)),
            ("tokenizer.ggml.token_type", .int32s([3, 3, 3, 3] + Array(repeating: 1, count: 52))),
            ("tokenizer.ggml.bos_token_id", .uint32(2)), ("tokenizer.ggml.seperator_token_id", .uint32(3)),
            ("tokenizer.ggml.unknown_token_id", .uint32(1)),
        ]
        if window > 0 { builder.metadata.append(number("attention.sliding_window", window)) }
        if positions == .rotaryHalves || positions == .rotaryAdjacent {
            builder.metadata.append(("\(architecture).rope.freq_base", .float32(rotaryBase)))
        }
        if decoderLayers > 0 {
            builder.metadata += [number("decoder_block_count", decoderLayers), number("decoder_start_token_id", 3)]
        }
        if experts > 0 {
            builder.metadata += [
                number("expert_count", experts), number("expert_used_count", Self.usedExperts),
                number("moe_every_n_layers", 2),
            ]
        }
        builder.metadata.removeAll { old in extra.contains { $0.key == old.key } }
        builder.metadata += extra
        builder.tensors = tensors()
        return builder
    }

    /// Writes the file into `directory`.
    public func write(in directory: TemporaryDirectory, as name: String = "encoder.gguf") throws -> URL {
        URL(filePath: try directory.write(builder().bytes(), as: name))
    }
}
