public import Foundation

/// Writes small safetensors files for tests, valid or deliberately broken.
public struct SafetensorsBuilder: Sendable {
    public struct Tensor: Sendable {
        public var name: String
        public var type: String
        /// Row-major shape: the row length last.
        public var shape: [Int]
        public var data: [UInt8]
        /// Overrides the data offsets in the header.
        public var claimedOffsets: [Int]?

        public init(_ name: String, type: String, shape: [Int], data: [UInt8]) {
            (self.name, self.type, self.shape, self.data) = (name, type, shape, data)
        }

        /// An F32 tensor.
        public init(_ name: String, shape: [Int], _ values: [Float]) {
            self.init(name, type: "F32", shape: shape, data: values.flatMap { littleEndian($0.bitPattern) })
        }
    }

    public var tensors: [Tensor]
    /// Overrides the header's length.
    public var claimedLength: UInt64?
    /// Bytes after the last tensor.
    public var trailing: [UInt8] = []

    public init(_ tensors: [Tensor]) { self.tensors = tensors }

    public func bytes() -> [UInt8] {
        var entries: [String] = []
        var data: [UInt8] = []
        for tensor in tensors {
            let offsets = tensor.claimedOffsets ?? [data.count, data.count + tensor.data.count]
            entries.append(
                #""\#(tensor.name)":{"dtype":"\#(tensor.type)","shape":\#(tensor.shape),"data_offsets":\#(offsets)}"#)
            data += tensor.data
        }
        let header = Array("{\(entries.joined(separator: ","))}".utf8)
        return littleEndian(claimedLength ?? UInt64(header.count)) + header + data + trailing
    }

    /// Writes a folder with a configuration and weights into `directory`.
    public func write(
        config: String, in directory: TemporaryDirectory, as name: String, others: [String: String] = [:]
    ) throws -> URL {
        let folder = directory.url.appending(path: name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(config.utf8).write(to: folder.appending(path: "config.json"))
        try Data(bytes()).write(to: folder.appending(path: "model.safetensors"))
        for (file, text) in others { try Data(text.utf8).write(to: folder.appending(path: file)) }
        return folder
    }
}

private func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
}

extension TinyModel {
    /// Writes the model like Hugging Face's libraries: a folder without a tokenizer.
    ///
    /// - Parameter changes: Changes the tensors before they are written.
    public func writeFolder(
        in directory: TemporaryDirectory, as name: String = "folder", architecture className: String,
        config more: String = "", others: [String: String] = [:],
        changes: (inout [SafetensorsBuilder.Tensor]) -> Void = { _ in }
    ) throws -> URL {
        var tensors: [SafetensorsBuilder.Tensor] = []
        for (name, values) in weights().sorted(by: { $0.key < $1.key }) { tensors += folderTensors(name, values) }
        changes(&tensors)
        let config = """
            {"architectures": ["\(className)"], "hidden_size": \(width), "intermediate_size": \(feedForward),
             "num_hidden_layers": \(layers), "num_attention_heads": \(heads), "num_key_value_heads": \(kvHeads),
             "head_dim": \(headWidth), "max_position_embeddings": \(context), "rms_norm_eps": 1e-05,
             "vocab_size": \(Self.vocabularySize), "torch_dtype": "float32"\(more)}
            """
        return try SafetensorsBuilder(tensors).write(config: config, in: directory, as: name, others: others)
    }

    private func folderTensors(_ name: String, _ values: [Float]) -> [SafetensorsBuilder.Tensor] {
        let parts = name.split(separator: ".").map(String.init)
        let others = ["token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"]
        if let other = others[parts[0]] {
            let shape = values.count == width ? [width] : [values.count / width, width]
            return [.init("\(other).weight", shape: shape, values)]
        }
        let modules = [
            "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
            "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
            "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj",
            "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "ffn_gate_inp": "mlp.gate",
            "ffn_gate_exps": "gate_proj", "ffn_up_exps": "up_proj", "ffn_down_exps": "down_proj",
        ]
        let prefix = "model.layers.\(parts[1])."
        let module = modules[parts[2]] ?? parts[2]
        if parts[2].hasSuffix("_exps") {
            let (size, columns) = (values.count / experts, parts[2] == "ffn_down_exps" ? feedForward : width)
            return (0..<experts).map { expert in
                .init(
                    prefix + "mlp.experts.\(expert).\(module).weight", shape: [size / columns, columns],
                    Array(values[expert * size..<(expert + 1) * size]))
            }
        }
        guard parts[3] == "weight", !parts[2].contains("norm") else {
            return [.init(prefix + module + "." + parts[3], shape: [values.count], values)]
        }
        let columns = parts[2] == "ffn_down" ? feedForward : parts[2] == "attn_output" ? heads * headWidth : width
        let isTurned = architecture == "llama" && ["attn_q", "attn_k"].contains(parts[2])
        return [
            .init(
                prefix + module + ".weight", shape: [values.count / columns, columns],
                isTurned ? halves(values, columns: columns) : values)
        ]
    }

    /// Reorders the rows of each head from interleaved pairs to halves, which llama.cpp's converter reverses.
    private func halves(_ values: [Float], columns: Int) -> [Float] {
        (0..<values.count / columns).flatMap { row in
            let place = row % headWidth
            let source = row - place + place % (headWidth / 2) * 2 + place / (headWidth / 2)
            return values[source * columns..<(source + 1) * columns]
        }
    }
}
