import Constraint
import KernelFormats
import KernelsPortable

/// The format of each tensor of a quantized model.
struct QuantizationPlan {
    /// In the order of the file.
    let types: [TensorType]
    /// Names of tensors whose rows are not a multiple of their format's block, and which got another format.
    let fallbacks: [String]

    init(unchanged file: GGUFFile) {
        types = file.tensors.map(\.type)
        fallbacks = []
    }

    /// - Throws: `badTensor` if no format fits a row.
    init(
        _ file: GGUFFile, _ mixture: Mixture, overrides: [TypeOverride], hasImportance: Bool
    ) throws(ModelFileError) {
        let model = try ModelShape(file)
        var types = file.tensors.map(\.type)
        var fallbacks: [String] = []
        var (values, downs) = (0, 0)
        for (index, tensor) in file.tensors.enumerated().sorted(by: { Self.order($0.element, $1.element) }) {
            guard Self.mayBeQuantized(tensor) else { continue }
            var type = mixture.base
            if mixture.base.isQuantized {
                if let chosen = try Self.chosen(for: tensor, overrides) {
                    type = chosen
                } else {
                    var role = TensorRole(tensor.name, shape: tensor.shape)
                    if role.isValue { (role.index, values) = (values, values + 1) }
                    if role.kind == .down {
                        // In some files, experts are not in the order of layers.
                        role.index = model.experts > 1 ? tensor.layer ?? downs : downs
                        downs += 1
                    }
                    type = mixture.type(of: role, in: model, hasImportance: hasImportance)
                }
                let fitting = type.fitting(columns: tensor.shape[0])
                if fitting != type { fallbacks.append(tensor.name) }
                type = fitting
            }
            types[index] = type
        }
        self.types = types
        self.fallbacks = fallbacks
    }

    /// The format of the first override that matches.
    private static func chosen(
        for tensor: TensorView, _ overrides: [TypeOverride]
    ) throws(ModelFileError) -> TensorType? {
        for override in overrides where try override.matches(tensor) { return override.type }
        return nil
    }

    /// Order by layer, then by name: the order in which the rules count tensors.
    private static func order(_ a: TensorView, _ b: TensorView) -> Bool {
        (a.layer ?? -1, a.name) < (b.layer ?? -1, b.name)
    }

    /// Whether a tensor may be quantized: matrices except small, sensitive ones (llama.cpp's
    /// `tensor_allows_quantization`).
    private static func mayBeQuantized(_ tensor: TensorView) -> Bool {
        let name = tensor.name
        guard tensor.shape.dropFirst().contains(where: { $0 > 1 }), name.utf8.suffix(6).elementsEqual("weight".utf8)
        else { return false }
        switch tensor.type {
        case .I8, .I16, .I32, .I64, .F64: return false
        default: break
        }
        return !kept.contains { name.contains($0) } && !["position_embd.weight", "token_types.weight"].contains(name)
    }

    /// Substrings of the names of tensors that are never quantized.
    private static let kept = [
        "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel", "per_layer_model_proj",
        "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight", "indexer.q_proj.weight",
        "time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight",
        "time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight",
        "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight", "time_mix_decay_w1.weight",
        "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight", "attn_rel_b.weight", ".position_embd", ".rel_pos",
        ".patch_embd", ".patch_merger",
    ]
}

/// A format for tensors whose names match a pattern.
package struct TypeOverride: Sendable {
    /// Names of the formats that can be written.
    package static var formats: [String] { TensorType.quantizable.map(\.name) }

    let type: TensorType
    private let pattern: NamePattern

    /// - Parameter text: `PATTERN=TYPE`, where the pattern is a regular expression that may match anywhere in the name.
    /// - Returns: `nil` if the type cannot be written, or the pattern is invalid.
    package init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2,
            let type = TensorType.quantizable.first(where: { $0.name == parts[1].uppercased() }),
            let pattern = try? NamePattern(String(parts[0]))
        else { return nil }
        (self.type, self.pattern) = (type, pattern)
    }

    func matches(_ tensor: TensorView) throws(ModelFileError) -> Bool {
        do { return try pattern.isFound(in: tensor.name) } catch {
            throw ModelFileError(.unsupported, "Tensor '\(tensor.name)': \(error).", path: tensor.file.path)
        }
    }
}

extension TensorType {
    /// This format if rows of this many values are a multiple of its block, else the one that llama.cpp uses instead.
    func fitting(columns: Int) -> TensorType {
        if columns % blockValues == 0 { return self }
        let smaller: TensorType =
            switch self {
            case .IQ4_XS: .IQ4_NL
            case .Q2_K, .Q3_K: .Q4_0
            case .Q4_K: .Q5_0
            case .Q5_K: .Q5_1
            case .Q6_K: .Q8_0
            default: .F16
            }
        return columns % smaller.blockValues == 0 ? smaller : .F16
    }
}

extension TensorView {
    /// The layer index in a name like `blk.7.attn_q.weight`.
    var layer: Int? {
        let parts = name.split(separator: ".", maxSplits: 2)
        return parts.count == 3 && parts[0] == "blk" ? Int(parts[1]) : nil
    }
}
