import Foundation
import KernelFormats
import Platform

extension MemoryEstimate {
    init(
        _ file: GGUFFile, _ configuration: LocalModel.Configuration, available: Int = SystemMemory.available()
    ) throws {
        self = try MemoryNeeds(file, configuration).estimate(available: available)
    }
}

/// The memory that a model needs, apart from its context.
package struct MemoryNeeds: Sendable {
    /// Bytes of the weights, without a mixture's experts.
    private let others: Int
    /// Bytes of all experts.
    private let experts: Int
    /// The experts, if they stay on disk until they are used.
    private let onDisk: (least: Int, configured: Int?)?
    /// Least bytes of experts in memory, if they can be read from disk; `nil`: they cannot.
    private let leastExperts: Int?
    private let scratch: Int
    private let vocabulary: Int
    private let shape: StateShape
    /// Of the network that drafts tokens.
    private let draftShape: StateShape?
    private let trainedContext: Int
    private let configuredContext: Int?

    package init(_ file: GGUFFile, _ configuration: LocalModel.Configuration) throws {
        let formats = try configuration.kernels().packedFormats
        let network = try Registry.network(for: file, context: configuration.contextSize)
        network.stateShape.format = configuration.cacheFormat
        let encoder = try configuration.imageEncoder.map { try GGUFFile(path: $0.path).byteCount } ?? 0
        func bytes(_ tensor: TensorView) -> Int {
            guard let layout = WeightPacker.layout(tensor, formats) else { return tensor.byteCount }
            // Count the larger of both layouts: an embedding table may not be packed at all.
            let columns = tensor.shape[0]
            let rows = tensor.count / columns
            let rest = rows % PackedLayout.rows
            // The rest is read from the file; computed weights stay in memory as a whole for it.
            let unpacked = tensor.file.isFile || rest == 0 ? rest * tensor.rowBytes : tensor.byteCount
            return max(tensor.byteCount, layout.bytes(rows: rows - rest, columns: columns) + unpacked)
        }
        let stacked = file.tensors.filter(ExpertCache.isExperts)
        experts = stacked.reduce(0) { $0 + bytes($1) }
        var beside = encoder + network.bytesBesideFile
        var draftScratch = 0
        if let url = configuration.draftModel {
            let draft = try GGUFFile(path: url.path)
            let draftNetwork = try draft.draftNetwork(for: file, configuration)
            beside += draft.tensors.reduce(0) { $0 + bytes($1) }
            draftScratch = Self.scratch(
                draft, rows: StateShape.stepRows, vocabularySize: draftNetwork.vocabularySize)
            draftShape = draftNetwork.stateShape
        } else {
            network.predictor?.stateShape.format = configuration.cacheFormat
            draftShape = network.predictor?.stateShape
        }
        others = file.tensors.reduce(beside) { $0 + bytes($1) } - experts
        let cache = ExpertCache(formats: formats)
        for tensor in stacked where tensor.shape.count == 3 { _ = cache.add(tensor, count: tensor.shape[2]) }
        leastExperts = !stacked.isEmpty && stacked.allSatisfy(\.file.isFile) ? cache.leastBytes : nil
        if configuration.expertsOnDisk {
            guard let leastExperts else {
                throw LocalModelError.invalidOption(
                    stacked.isEmpty
                        ? "expertsOnDisk: the model is not a mixture of experts"
                        : "expertsOnDisk: the experts must be in the file as they are used; bench convert writes such a file"
                )
            }
            onDisk = (leastExperts, configuration.expertBytes)
        } else {
            onDisk = nil
        }
        // An encoder computes a whole input in one step.
        let rows = network.kind == .encoder ? configuration.contextSize ?? network.trainedContext : 0
        scratch =
            draftScratch
            + Self.scratch(file, rows: max(rows, StateShape.stepRows), vocabularySize: network.vocabularySize)
        vocabulary = Self.vocabulary(file.metadata)
        shape = network.stateShape
        trainedContext = network.trainedContext
        configuredContext = configuration.contextSize
    }

    /// - Parameter available: Bytes that can be allocated.
    package func estimate(available: Int) -> MemoryEstimate {
        let kept = expertBytes(available: available)
        let weights = others + kept
        let room = max(0, available - weights - scratch - vocabulary)
        let least = min(MemoryEstimate.leastContext, trainedContext)
        let contextSize =
            configuredContext ?? min(trainedContext, max(least, shape.tokens(in: room / 2, limit: trainedContext)))
        var estimate = MemoryEstimate(
            weights: weights, cache: cacheBytes(contextSize), scratch: scratch, vocabulary: vocabulary,
            contextSize: contextSize, available: available, expertsOnDisk: experts - kept)
        if onDisk == nil, let leastExperts {
            estimate.totalWithExpertsOnDisk =
                others + leastExperts + cacheBytes(configuredContext ?? least) + scratch + vocabulary
        }
        return estimate
    }

    /// Bytes of the states of a sequence.
    private func cacheBytes(_ tokens: Int) -> Int {
        shape.bytes(tokens: tokens) + (draftShape?.bytes(tokens: tokens) ?? 0)
    }

    /// Bytes of experts in memory. With experts on disk, three quarters of what the other weights and two full contexts
    /// leave; the rest is for the contexts of further requests, and for the system to keep pages of the file.
    func expertBytes(available: Int) -> Int {
        guard let onDisk else { return experts }
        let room = max(0, available - others - scratch - vocabulary)
        let contexts = configuredContext.map { 2 * min(shape.bytes(tokens: $0), 1 << 58) } ?? 0
        return min(experts, max(onDisk.least, onDisk.configured ?? max(0, room - contexts) / 4 * 3))
    }

    /// Bytes of scratch: the outputs of one layer's matrices for all rows of a step, the widest input twice (as floats,
    /// and quantized), and the logits of some answers.
    private static func scratch(_ file: GGUFFile, rows: Int, vocabularySize: Int) -> Int {
        let matrices = file.tensors.filter { tensor in
            ["blk.0.", "enc.blk.0."].contains { tensor.name.utf8.starts(with: $0.utf8) } && tensor.shape.count > 1
        }
        let outputs = matrices.reduce(0) { $0 + $1.shape[1] }
        let widest = matrices.reduce(0) { max($0, $1.shape[0]) }
        return 4 * (rows * (outputs + 2 * widest) + 16 * vocabularySize)
    }

    /// Bytes of the tokenizer's tables: about 200 per token and 100 per merge, measured with 32 to 152 thousand tokens.
    private static func vocabulary(_ metadata: GGUFMetadata) -> Int {
        let tokens = metadata["tokenizer.ggml.tokens"]?.array?.count ?? 0
        let merges = metadata["tokenizer.ggml.merges"]?.array?.count ?? 0
        return 200 * tokens + 100 * merges
    }
}
