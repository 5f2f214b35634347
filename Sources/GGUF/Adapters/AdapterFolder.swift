import JSON
import Foundation
import KernelFormats

/// A folder with a LoRA adapter as PEFT saves it (`adapter_config.json`, `adapter_model.safetensors`), converted to the
/// GGUF file that llama.cpp's converter would write for a model.
///
/// PEFT scales each module's update by alpha / rank, or alpha / √rank, where name patterns may override ranks and
/// alphas. Here B is multiplied by that factor, and the file has no alpha.
struct AdapterFolder {
    private let path: String
    private let config: JSON
    private let base: AdaptableModel
    private let family: CheckpointFamily
    private let weights: SafetensorsFile
    private let matches: LoRAAdapter.PatternMatch

    init(
        path: String, base: AdaptableModel, matches: @escaping LoRAAdapter.PatternMatch
    ) throws(ModelFileError) {
        self.path = path
        self.base = base
        self.matches = matches
        guard let config = try SafetensorsFolder.json("adapter_config.json", in: path) else {
            throw ModelFileError(
                .unreadable, "This folder is not an adapter: 'adapter_config.json' is missing.", path: path)
        }
        self.config = config
        func refuse(_ key: String, _ expected: String) -> ModelFileError {
            let found =
                config[key].map { $0.string.map { "'\($0)'" } ?? $0.bool.map { "\($0)" } ?? $0.kind } ?? "missing"
            return ModelFileError(
                .unsupported, "'\(key)' must be \(expected), but is \(found).", path: path + "/adapter_config.json")
        }
        guard config["peft_type"]?.string == "LORA" else { throw refuse("peft_type", "'LORA'") }
        for key in ["use_dora", "fan_in_fan_out"] where config[key]?.bool == true { throw refuse(key, "false") }
        guard config["r"]?.int.map({ $0 > 0 }) == true else { throw refuse("r", "a number from 1 on") }
        guard config["lora_alpha"]?.double != nil else { throw refuse("lora_alpha", "a number") }
        guard let family = CheckpointFamily.byArchitecture[base.architecture] else {
            throw ModelFileError(
                .unsupported,
                "Adapter folders are supported for \(CheckpointFamily.byArchitecture.keys.sorted().joined(separator: ", ")); "
                    + "this model is '\(base.architecture)'.", path: path)
        }
        self.family = family
        weights = try SafetensorsFile(path: path + "/adapter_model.safetensors")
    }

    func file() throws(ModelFileError) -> GGUFFile {
        var draft = GGUFDraft()
        draft["general.architecture"] = .string(base.architecture)
        draft["general.type"] = .string("adapter")
        draft["general.name"] = .string(path.split(separator: "/").last.map(String.init) ?? "adapter")
        draft["adapter.type"] = .string("lora")
        if let tokens = config["alora_invocation_tokens"]?.array {
            draft["adapter.alora.invocation_tokens"] = .int32s(tokens.compactMap(\.int))
        }
        var tensors: [TensorView] = []
        for tensor in weights.tensors { tensors.append(try recipe(tensor).view(path: path)) }
        let header = try GGUFPart(MappedFile(path: path, contents: draft.header([])))
        return GGUFFile(
            path: path, metadata: header.metadata, tensors: tensors, ranges: [weights.file.range].compactMap { $0 })
    }

    private func recipe(_ tensor: SafetensorsTensor) throws(ModelFileError) -> TensorRecipe {
        let markers = ["lora_embedding_A", "lora_embedding_B", "lora_A", "lora_B"]
        guard let marker = markers.first(where: { tensor.name.contains("." + $0) }),
            let end = tensor.name.range(of: "." + marker)
        else {
            throw unsupported(tensor, "adapters of other weights than matrices are not supported")
        }
        var module = String(tensor.name[..<end.lowerBound])
        if module.hasPrefix("base_model.model.") { module.removeFirst("base_model.model.".count) }
        guard let part = CheckpointTensor(tensor, named: module + ".weight"), part.expert == nil,
            !part.module.hasPrefix("linear_attn."),
            let name = (part.layer == nil ? family.others : family.layer)[part.module]
        else { throw unsupported(tensor, "it is not known in models of '\(base.architecture)'") }
        guard tensor.shape.count == 2 else { throw unsupported(tensor, "two dimensions are expected") }
        let isB = marker.hasSuffix("B")
        let target = (part.layer.map { "blk.\($0)." } ?? "") + name + ".weight" + (isB ? ".lora_b" : ".lora_a")
        var recipe = TensorRecipe(
            name: target, type: .F32, shape: tensor.shape.reversed(), sources: [tensor])
        guard tensor.type.tensorType != nil else {
            throw unsupported(tensor, "weights in F32, F16 and BF16 can be read, not in \(tensor.type.rawValue)")
        }
        if isB {
            let factor = try factor(module, rank: tensor.shape[1])
            recipe.change = { $0 * factor }
            if family.permutesHeads, name == "attn_q" || name == "attn_k" {
                let heads = name == "attn_q" ? base.heads : base.kvHeads
                guard heads > 0, tensor.shape[0] % (2 * heads) == 0 else {
                    throw unsupported(tensor, "\(heads) heads of even width are expected")
                }
                recipe.order = CheckpointConversion.pairs(rows: tensor.shape[0], length: tensor.shape[1], heads: heads)
            }
        } else if marker == "lora_embedding_A" {
            // A has a column for each token, the file a row.
            let (rank, tokens) = (tensor.shape[0], tensor.shape[1])
            recipe.shape = [rank, tokens]
            recipe.order = .values { $0 % rank * tokens + $0 / rank }
        }
        return recipe
    }

    /// Scale of a module's update.
    private func factor(_ module: String, rank: Int) throws(ModelFileError) -> Float {
        let declared = try value("rank_pattern", of: module)?.int ?? config["r"]?.int ?? 0
        guard declared == rank else {
            throw ModelFileError(
                .badTensor,
                "The update of '\(module)' has rank \(rank), but 'adapter_config.json' declares \(declared).",
                path: path)
        }
        let alpha = try value("alpha_pattern", of: module)?.double ?? config["lora_alpha"]?.double ?? 0
        return Float(alpha / (config["use_rslora"]?.bool == true ? Double(rank).squareRoot() : Double(rank)))
    }

    /// The value of the first pattern in a table that matches a module.
    private func value(_ key: String, of module: String) throws(ModelFileError) -> JSON? {
        for (name, value) in config[key]?.object?.members ?? [] {
            do {
                if try matches(name, module) { return value }
            } catch {
                throw ModelFileError(
                    .unsupported, "'\(key)' has a pattern that cannot be used: \(error)",
                    path: path + "/adapter_config.json")
            }
        }
        return nil
    }

    private func unsupported(_ tensor: SafetensorsTensor, _ why: String) -> ModelFileError {
        ModelFileError(
            .unsupported, "Tensor '\(tensor.name)' of shape \(tensor.shape): \(why).", path: tensor.file.path)
    }
}
