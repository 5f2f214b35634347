import KernelFormats

/// A quantization scheme by llama.cpp's names: a base format, and other formats for the most sensitive matrices.
package struct Mixture: Sendable {
    /// Such as `Q4_K_M`.
    package let name: String
    /// llama.cpp's number, stored in files as `general.file_type`.
    let fileType: Int
    /// Format of matrices without a rule.
    let base: TensorType

    package static var names: [String] { all.map(\.name) }

    private static let all: [Mixture] = [
        .init("F32", .F32), .init("F16", .F16), .init("BF16", .BF16),
        .init("Q4_0", .Q4_0), .init("Q4_1", .Q4_1), .init("Q5_0", .Q5_0), .init("Q5_1", .Q5_1),
        .init("Q8_0", .Q8_0), .init("Q2_K", .Q2_K), .init("Q2_K_S", .Q2_K), .init("Q3_K_S", .Q3_K),
        .init("Q3_K_M", .Q3_K), .init("Q3_K_L", .Q3_K), .init("Q4_K_S", .Q4_K), .init("Q4_K_M", .Q4_K),
        .init("Q5_K_S", .Q5_K), .init("Q5_K_M", .Q5_K), .init("Q6_K", .Q6_K), .init("IQ4_NL", .IQ4_NL),
        .init("IQ4_XS", .IQ4_XS), .init("MXFP4_MOE", .MXFP4),
    ]

    private init(_ name: String, _ base: TensorType) {
        self.name = name
        fileType = FileType.number(named: name) ?? 0
        self.base = base
    }

    /// The scheme of this name, ignoring case; as in llama.cpp, `Q3_K`, `Q4_K` and `Q5_K` mean their M variant, and
    /// `MXFP4` means `MXFP4_MOE`.
    package init?(named name: String) {
        let aliases = ["Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M", "MXFP4": "MXFP4_MOE"]
        let wanted = aliases[name.uppercased()] ?? name.uppercased()
        guard let mixture = Self.all.first(where: { $0.name == wanted }) else { return nil }
        self = mixture
    }

    /// The format of a tensor that may be quantized, by llama.cpp's rules (`llama_tensor_get_type_impl`).
    func type(of tensor: TensorRole, in model: ModelShape, hasImportance: Bool) -> TensorType {
        if tensor.kind == .output || (model.isTied && tensor.kind == .embedding) {
            if base == .MXFP4 || base == .Q8_0 || model.architecture == "falcon" { return .Q8_0 }
            return tensor.columns % base.blockValues == 0 ? .Q6_K : .Q8_0
        }
        if base == .MXFP4 { return tensor.isExperts ? .MXFP4 : .Q8_0 }
        switch tensor.kind {
        case .value, .combined, .latentValue: return valueType(tensor, model)
        case .key: return model.experts == 8 ? .Q8_0 : base
        case .down: return downType(tensor, model, hasImportance)
        case .attentionOutput: return attentionOutputType(model)
        default: return base
        }
    }

    private func valueType(_ tensor: TensorRole, _ model: ModelShape) -> TensorType {
        let isGrouped = model.queriesPerKey >= 4
        var type = base
        switch name {
        case "Q2_K": type = isGrouped ? .Q4_K : .Q3_K
        case "Q2_K_S" where isGrouped: type = .Q4_K
        case "Q3_K_M": type = tensor.index < 2 ? .Q5_K : .Q4_K
        case "Q3_K_L": type = .Q5_K
        case "IQ4_NL" where isGrouped, "IQ4_XS" where isGrouped: type = .Q5_K
        case "Q4_K_M" where takesMoreBits(tensor.index, of: model.valueTensors): type = .Q6_K
        case "Q5_K_M" where takesMoreBits(tensor.index, of: model.valueTensors): type = .Q6_K
        case "Q4_K_S" where tensor.index < 4: type = .Q5_K
        default: break
        }
        // In models of 80 layers with grouped queries, these matrices are a small part of the whole.
        if model.is70B, type == .Q3_K || type == .Q4_K { type = .Q5_K }
        return model.experts == 8 ? .Q8_0 : type
    }

    private func downType(_ tensor: TensorRole, _ model: ModelShape, _ hasImportance: Bool) -> TensorType {
        let (index, layers) = (tensor.index, model.layers)
        let isFalcon = model.architecture == "falcon"
        let isFirstEighth = index < layers / 8
        let takesMore = takesMoreBits(index, of: layers)
        switch name {
        case "Q2_K": return .Q3_K
        case "Q2_K_S" where isFirstEighth: return .Q4_K
        case "Q3_K_M":
            if index < layers / 16 { return .Q5_K }
            return !isFalcon || takesMore ? .Q4_K : .Q3_K
        case "Q3_K_L": return isFalcon ? .Q4_K : .Q5_K
        case "Q4_K_M":
            if isFalcon { return index < layers / 16 ? .Q6_K : takesMore ? .Q5_K : .Q4_K }
            return takesMore ? .Q6_K : base
        case "Q5_K_M" where takesMore: return .Q6_K
        case "IQ4_NL" where isFirstEighth && !hasImportance, "IQ4_XS" where isFirstEighth && !hasImportance:
            return .Q5_K
        case "Q4_K_S" where isFirstEighth && !isFalcon: return .Q5_K
        case "Q4_0" where isFirstEighth && hasImportance: return .Q4_1
        case "Q5_0" where isFirstEighth && hasImportance: return .Q5_1
        default: return base
        }
    }

    private func attentionOutputType(_ model: ModelShape) -> TensorType {
        if model.architecture == "falcon" { return name == "Q3_K_L" ? .Q4_K : base }
        if model.experts == 8 {
            let raised = ["Q2_K", "Q3_K_S", "Q3_K_M", "Q4_K_S", "Q4_K_M", "IQ4_NL", "IQ4_XS"]
            return raised.contains(name) ? .Q5_K : base
        }
        return ["Q2_K": .Q3_K, "Q3_K_M": .Q4_K, "Q3_K_L": .Q5_K][name] ?? base
    }

    /// Whether the layer gets more bits: the first and the last eighth of the layers, and every third one between.
    private func takesMoreBits(_ index: Int, of layers: Int) -> Bool {
        index < layers / 8 || index >= 7 * layers / 8 || (index - layers / 8) % 3 == 2
    }
}

/// The properties of a tensor that the rules use.
struct TensorRole {
    enum Kind { case embedding, output, query, key, value, combined, latentValue, attentionOutput, down, other }

    let kind: Kind
    let columns: Int
    /// Whether it has a matrix for each expert.
    let isExperts: Bool
    /// Index among the tensors with the same kind of rule, in the order of layers.
    var index = 0

    init(_ name: String, shape: [Int]) {
        let parts: [(String, Kind)] = [
            ("attn_qkv.weight", .combined), ("attn_kv_b.weight", .latentValue), ("attn_v.weight", .value),
            ("attn_k.weight", .key), ("attn_q.weight", .query), ("attn_output.weight", .attentionOutput),
            ("ffn_down", .down),
        ]
        kind =
            switch name {
            case "output.weight": .output
            case "token_embd.weight", "per_layer_token_embd.weight": .embedding
            default: parts.first { name.contains($0.0) }?.1 ?? .other
            }
        columns = shape[0]
        isExperts = shape.count > 2 && shape[2] > 1
    }

    var isValue: Bool { [.value, .combined, .latentValue].contains(kind) }
}

/// The properties of a model that the rules use.
struct ModelShape {
    let architecture: String
    let layers: Int
    let experts: Int
    let queriesPerKey: Int
    /// Whether the embedding table is also the output matrix.
    let isTied: Bool
    let valueTensors: Int

    init(_ file: GGUFFile) throws(ModelFileError) {
        let metadata = file.metadata
        architecture = try metadata.string("general.architecture")
        layers = try metadata.intIfPresent("\(architecture).block_count") ?? 0
        guard (0...1 << 24).contains(layers) else {
            throw ModelFileError(
                .badMetadata,
                "The metadata key '\(architecture).block_count' must be a number from 0 to 2^24, but is \(layers).",
                path: file.path)
        }
        experts = try metadata.intIfPresent("\(architecture).expert_count") ?? 0
        /// The value of a key, or its first layer's if it is an array.
        func first(_ key: String) throws(ModelFileError) -> Int? {
            guard let value = metadata[key] else { return nil }
            return value.type == .array ? try metadata.intsIfPresent(key)?.first : try metadata.intIfPresent(key)
        }
        let heads = try first("\(architecture).attention.head_count") ?? 1
        let kvHeads = try first("\(architecture).attention.head_count_kv") ?? heads
        queriesPerKey = kvHeads > 0 ? heads / kvHeads : 0
        isTied = !file.contains("output.weight")
        valueTensors = file.tensors.count { TensorRole($0.name, shape: $0.shape).isValue }
    }

    var is70B: Bool {
        layers == 80
            && (["qwen2", "deci", "olmo"].contains(architecture) || architecture == "llama" && queriesPerKey > 1)
    }
}
