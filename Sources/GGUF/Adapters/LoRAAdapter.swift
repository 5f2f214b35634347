import KernelFormats

/// A low-rank adapter (LoRA, Hu et al. 2021): adds two thin matrices to some of a model's matrices W, so that a layer
/// computes `W·x + factor · B·(A·x)`. The model's own weights are not changed.
package final class LoRAAdapter: Sendable {
    /// The update of a matrix, or of each of the experts' matrices.
    package struct Update: Sendable {
        package let rank: Int
        /// Number of inputs, and below of outputs, of one matrix.
        package let columns: Int
        package let rows: Int
        /// `[matrices][rank][columns]`; for embeddings `[vocabulary][rank]`.
        package let a: [Float]
        /// B in groups of outputs, `[matrices][groups][rank][LowRankProduct.groupOutputs]`; the last group of a matrix is
        /// filled up with zeros.
        package private(set) var b: [Float]
        /// alpha / rank, or 1.
        package let factor: Float
        /// Whether the matrix is an embedding table: `A` then has a column for each token.
        package let isOfEmbeddings: Bool

        /// - Parameter b: `[matrices][rows][rank]`.
        package init(
            rank: Int, columns: Int, rows: Int, a: [Float], b: [Float], factor: Float = 1, isOfEmbeddings: Bool = false
        ) {
            (self.rank, self.columns, self.rows, self.a) = (rank, columns, rows, a)
            (self.factor, self.isOfEmbeddings) = (factor, isOfEmbeddings)
            let matrices = b.count / (rows * rank)
            self.b = []
            var grouped = [Float](repeating: 0, count: indexOfB(matrix: matrices))
            for matrix in 0..<matrices {
                for row in 0..<rows {
                    for k in 0..<rank {
                        grouped[indexOfB(matrix: matrix, row: row, k)] = b[(matrix * rows + row) * rank + k]
                    }
                }
            }
            self.b = grouped
        }

        /// Index in `b`.
        package func indexOfB(matrix: Int = 0, row: Int = 0, _ k: Int = 0) -> Int {
            let size = LowRankProduct.groupOutputs
            let group = matrix * ((rows + size - 1) / size) + row / size
            return (group * rank + k) * size + row % size
        }
    }

    package let path: String
    package let name: String
    /// By the name of the adapted tensor.
    package let updates: [String: Update]
    /// Tokens in a prompt that activate the adapter (aLoRA); empty: it is always active.
    package let invocation: [Int32]
    /// The adapter's task, and the prefix of texts for that task, as declared by Jina's adapters.
    package let task: String?
    package let promptPrefix: String?

    /// Whether a pattern of PEFT's configuration, which is untrusted, matches the name of a module.
    package typealias PatternMatch = (_ pattern: String, _ module: String) throws -> Bool

    /// - Parameters:
    ///   - base: Architecture of the model, and the shapes of its tensors.
    ///   - isOfEncoder: Whether the model is an encoder, of which only layers, token and token type embeddings can be
    ///     adapted.
    ///   - matches: Whose updates a pattern of ranks or alphas is for, in an adapter that is a folder.
    /// - Throws: `ModelFileError` for a file that is not an adapter, or not one for this model.
    package init(
        path: String, base: AdaptableModel, isOfEncoder: Bool, matches: @escaping PatternMatch
    ) throws(ModelFileError) {
        let file =
            SafetensorsFolder.isFolder(path)
            ? try AdapterFolder(path: path, base: base, matches: matches).file() : try GGUFFile(path: path)
        let metadata = file.metadata
        for (key, expected) in [("general.type", "adapter"), ("adapter.type", "lora")] {
            let found = try metadata.stringIfPresent(key)
            guard found == expected else {
                throw ModelFileError(
                    .unsupported,
                    "This is not a LoRA adapter: '\(key)' must be '\(expected)', but is \(found.map { "'\($0)'" } ?? "missing").",
                    path: path)
            }
        }
        let architecture = try metadata.string("general.architecture")
        guard architecture == base.architecture else {
            throw ModelFileError(
                .badMetadata,
                "The adapter was trained for the architecture '\(architecture)', but the model's is '\(base.architecture)'.",
                path: path)
        }
        let alpha = try metadata.doubleIfPresent("adapter.lora.alpha") ?? 0
        guard alpha.isFinite else {
            throw ModelFileError(
                .badMetadata, "The metadata key 'adapter.lora.alpha' is \(alpha), which is not a number.", path: path)
        }
        invocation = try metadata.int32sIfPresent("adapter.alora.invocation_tokens") ?? []
        // Every prompt is searched for them.
        guard invocation.count <= 1024 else {
            throw ModelFileError(
                .badMetadata,
                "'adapter.alora.invocation_tokens' has \(invocation.count) tokens; at most 1024 are supported.",
                path: path)
        }
        task = try metadata.displayTextIfPresent("adapter.lora.task_name")
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
        name = try metadata.displayTextIfPresent("general.name") ?? path
    }

    /// An adapter stored in the model file.
    package init(path: String, name: String, updates: [String: Update]) {
        (self.path, self.name, self.updates) = (path, name, updates)
        (invocation, task, promptPrefix) = ([], nil, nil)
    }

    var bytes: Int { updates.values.reduce(0) { $0 + 4 * ($1.a.count + $1.b.count) } }
}

/// The properties of a model that an adapter must match.
package struct AdaptableModel: Sendable {
    let architecture: String
    /// Shapes by tensor name, dimensions in GGUF's order.
    let shapes: [String: [Int]]
    /// Number of query heads, and of KV heads; 0 if it differs between layers.
    let heads: Int
    let kvHeads: Int

    package init(_ file: GGUFFile) throws(ModelFileError) {
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
        let isOfEmbeddings = name == "token_embd.weight"
        let rank = isOfEmbeddings ? a.shape[0] : a.shape.dropFirst().first ?? 1
        let (inputs, outputs) = isOfEmbeddings ? (shape[1], shape[0]) : (shape[0], shape[1])
        let expectedA = (isOfEmbeddings ? [rank, inputs] : [inputs, rank]) + (matrices > 1 ? [matrices] : [])
        let expectedB = [rank, outputs] + (matrices > 1 ? [matrices] : [])
        for (tensor, expected) in [(a, expectedA), (b, expectedB)] where tensor.shape.padded(3) != expected.padded(3) {
            throw failure(
                "Tensor '\(tensor.name)' must have the shape \(expected) for the model's \(shape), but has \(tensor.shape)."
            )
        }
        let (down, up) = (a.floats(), b.floats())
        guard down.allSatisfy(\.isFinite), up.allSatisfy(\.isFinite) else {
            throw failure("The adapter of '\(name)' has a value that is infinite or not a number.")
        }
        self.init(
            rank: rank, columns: inputs, rows: outputs, a: down, b: up, factor: alpha == 0 ? 1 : alpha / Float(rank),
            isOfEmbeddings: isOfEmbeddings)
    }
}

extension [Int] {
    /// The shape extended with ones to `count` dimensions.
    fileprivate func padded(_ count: Int) -> [Int] {
        self + Array(repeating: 1, count: Swift.max(0, count - self.count))
    }
}
