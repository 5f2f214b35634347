import KernelFormats

/// A low-rank adapter (LoRA, Hu et al. 2021): for some of a model's matrices W two thin ones, so that a layer computes
/// `W·x + factor · B·(A·x)`. The model's own weights stay as they are.
final class LoRAAdapter: Sendable {
    /// What is added to a matrix, or to each of the matrices of a mixture's experts.
    struct Update: Sendable {
        let rank: Int
        /// Inputs and outputs of one matrix.
        let columns: Int
        let rows: Int
        /// `[matrices][rank][columns]`; of embeddings `[vocabulary][rank]`.
        let a: [Float]
        /// `[matrices][rank][rows]`: B transposed.
        let b: [Float]
        /// alpha / rank, or 1.
        let factor: Float
        /// Whether the rows of the matrix are looked up by token: `A` then has a column for each.
        let isOfEmbeddings: Bool
    }

    let path: String
    let name: String
    /// By the name of the tensor that is adapted.
    let updates: [String: Update]
    /// Tokens with which a prompt turns the adapter on (aLoRA); empty: it is always on.
    let invocation: [Int32]
    /// What it is for, and what belongs before texts for that, as Jina's adapters say.
    let task: String?
    let promptPrefix: String?

    /// - Parameters:
    ///   - base: Architecture of the model, and the shapes of its tensors.
    ///   - isOfEncoder: Of an encoder, only its layers, its embeddings of tokens and those of sentences can be adapted.
    /// - Throws: `ModelFileError` for what is no adapter, or none of this model.
    init(path: String, base: AdaptableModel, isOfEncoder: Bool) throws(ModelFileError) {
        let file =
            SafetensorsFolder.isFolder(path)
            ? try AdapterFolder(path: path, base: base).file() : try GGUFFile(path: path)
        let metadata = file.metadata
        for (key, expected) in [("general.type", "adapter"), ("adapter.type", "lora")] {
            let found = try metadata.stringIfPresent(key)
            guard found == expected else {
                throw ModelFileError(
                    .unsupported,
                    "This is no LoRA adapter: '\(key)' must be '\(expected)', but is \(found.map { "'\($0)'" } ?? "missing").",
                    path: path)
            }
        }
        let architecture = try metadata.string("general.architecture")
        guard architecture == base.architecture else {
            throw ModelFileError(
                .badMetadata,
                "The adapter is of a model of the architecture '\(architecture)', but the model is '\(base.architecture)'.",
                path: path)
        }
        let alpha = try metadata.doubleIfPresent("adapter.lora.alpha") ?? 0
        guard alpha.isFinite else {
            throw ModelFileError(
                .badMetadata, "The metadata key 'adapter.lora.alpha' is \(alpha), which is no number.", path: path)
        }
        invocation = try metadata.int32sIfPresent("adapter.alora.invocation_tokens") ?? []
        task = try metadata.stringIfPresent("adapter.lora.task_name")
        promptPrefix = try metadata.stringIfPresent("adapter.lora.prompt_prefix")
        var updates: [String: Update] = [:]
        for tensor in file.tensors {
            let parts = tensor.name.split(separator: ".")
            guard !isOfEncoder || ["blk", "token_embd", "token_types"].contains(parts.first) else {
                throw ModelFileError(
                    .unsupported,
                    "Tensor '\(tensor.name)': only the layers of an encoder (blk.…), token_embd and token_types can be adapted.",
                    path: path)
            }
            switch parts.last {
            case "lora_a":
                let name = String(tensor.name.dropLast(7))
                updates[name] = try Update(file, name, tensor, alpha: Float(alpha), base)
            case "lora_b":
                let name = String(tensor.name.dropLast(7))
                guard file.contains(name + ".lora_a") else {
                    throw ModelFileError(.missingTensor, "Tensor '\(name).lora_a' is missing.", path: path)
                }
            default:
                throw ModelFileError(
                    .unsupported,
                    "Tensor '\(tensor.name)' ends neither in '.lora_a' nor in '.lora_b'; adapters of other weights than "
                        + "matrices are not supported.", path: path)
            }
        }
        guard !updates.isEmpty else { throw ModelFileError(.missingTensor, "The adapter has no tensors.", path: path) }
        self.path = path
        self.updates = updates
        name = try metadata.stringIfPresent("general.name") ?? path
    }

    var bytes: Int { updates.values.reduce(0) { $0 + 4 * ($1.a.count + $1.b.count) } }
}

/// What an adapter must fit to.
struct AdaptableModel: Sendable {
    let architecture: String
    /// By name, in GGUF's order.
    let shapes: [String: [Int]]
    /// Of queries, and of keys and values; 0 where they differ by layer.
    let heads: Int
    let kvHeads: Int

    init(_ file: GGUFFile) throws(ModelFileError) {
        architecture = try file.metadata.string("general.architecture")
        heads = file.metadata["\(architecture).attention.head_count"]?.int ?? 0
        kvHeads = file.metadata["\(architecture).attention.head_count_kv"]?.int ?? heads
        shapes = Dictionary(file.tensors.map { ($0.name, $0.shape) }) { first, _ in first }
    }
}

extension LoRAAdapter.Update {
    fileprivate init(
        _ file: GGUFFile, _ name: String, _ a: TensorView, alpha: Float, _ base: AdaptableModel
    ) throws(ModelFileError) {
        func failure(_ message: String) -> ModelFileError { ModelFileError(.badTensor, message, path: file.path) }
        guard let b = file.tensorIfPresent(name + ".lora_b") else {
            throw ModelFileError(.missingTensor, "Tensor '\(name).lora_b' is missing.", path: file.path)
        }
        guard let shape = base.shapes[name], shape.count >= 2 else {
            throw failure("The adapter changes '\(name)', but the model has no matrix of this name.")
        }
        let matrices = shape.dropFirst(2).reduce(1, *)
        isOfEmbeddings = name == "token_embd.weight"
        let rank = isOfEmbeddings ? a.shape[0] : a.shape.dropFirst().first ?? 1
        let (inputs, outputs) = isOfEmbeddings ? (shape[1], shape[0]) : (shape[0], shape[1])
        let expectedA = (isOfEmbeddings ? [rank, inputs] : [inputs, rank]) + (matrices > 1 ? [matrices] : [])
        let expectedB = [rank, outputs] + (matrices > 1 ? [matrices] : [])
        for (tensor, expected) in [(a, expectedA), (b, expectedB)] where tensor.shape.padded(3) != expected.padded(3) {
            throw failure(
                "Tensor '\(tensor.name)' must have the shape \(expected) for the model's \(shape), but has \(tensor.shape)."
            )
        }
        (columns, rows, self.rank) = (inputs, outputs, rank)
        factor = alpha == 0 ? 1 : alpha / Float(rank)
        self.a = a.floats()
        let values = b.floats()
        var transposed = [Float](repeating: 0, count: values.count)
        for matrix in 0..<matrices {
            let start = matrix * rank * outputs
            for row in 0..<outputs {
                for index in 0..<rank { transposed[start + index * outputs + row] = values[start + row * rank + index] }
            }
        }
        self.b = transposed
        guard self.a.allSatisfy(\.isFinite), values.allSatisfy(\.isFinite) else {
            throw failure("The adapter of '\(name)' has a value that is infinite or not a number.")
        }
    }
}

extension [Int] {
    /// With ones at the end, up to a number of dimensions.
    fileprivate func padded(_ count: Int) -> [Int] {
        self + Array(repeating: 1, count: Swift.max(0, count - self.count))
    }
}
