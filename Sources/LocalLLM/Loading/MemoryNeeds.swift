import Foundation
import KernelFormats
import KernelsPortable
import Platform

extension MemoryEstimate {
    init(
        _ file: GGUFFile, _ configuration: LocalModel.Configuration, available: Int = SystemMemory.available()
    ) throws {
        self = try MemoryNeeds(file, configuration).estimate(available: available)
    }
}

/// The memory that a model needs, apart from its context.
struct MemoryNeeds: Sendable {
    private let weights: Int
    private let scratch: Int
    private let vocabulary: Int
    private let shape: StateShape
    private let trainedContext: Int
    private let configuredContext: Int?

    init(_ file: GGUFFile, _ configuration: LocalModel.Configuration) throws {
        let formats = try configuration.kernels().packedFormats
        let network = try Registry.network(for: file, context: configuration.contextSize)
        network.stateShape.format = configuration.cacheFormat
        let encoder = try configuration.imageEncoder.map { try GGUFFile(path: $0.path).byteCount } ?? 0
        weights = file.tensors.reduce(encoder) { sum, tensor in
            guard let layout = WeightPacker.layout(tensor, formats) else { return sum + tensor.byteCount }
            // Count the larger of both layouts: an embedding table may not be packed at all.
            let columns = tensor.shape[0]
            return sum + max(tensor.byteCount, layout.bytes(rows: tensor.count / columns, columns: columns))
        }
        // An encoder computes a whole input in one step.
        let rows = network.kind == .encoder ? configuration.contextSize ?? network.trainedContext : 0
        scratch = Self.scratch(file, rows: max(rows, StateShape.stepRows), vocabularySize: network.vocabularySize)
        vocabulary = Self.vocabulary(file.metadata)
        shape = network.stateShape
        trainedContext = network.trainedContext
        configuredContext = configuration.contextSize
    }

    /// - Parameter available: Bytes that can be allocated.
    func estimate(available: Int) -> MemoryEstimate {
        let room = max(0, available - weights - scratch - vocabulary)
        let least = min(MemoryEstimate.leastContext, trainedContext)
        let contextSize =
            configuredContext ?? min(trainedContext, max(least, shape.tokens(in: room / 2, limit: trainedContext)))
        return MemoryEstimate(
            weights: weights, cache: shape.bytes(tokens: contextSize), scratch: scratch, vocabulary: vocabulary,
            contextSize: contextSize, available: available)
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
