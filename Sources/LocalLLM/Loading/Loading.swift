import Foundation
import KernelFormats
import KernelsPortable
import Platform
import Synchronization

/// A model's network with its weights in memory.
struct LoadedNetwork {
    let file: GGUFFile
    let network: any Network
    let imageReader: ImageReader?
    let drafter: Drafter?
    /// The file of the draft model.
    let draftFile: GGUFFile?
    let compute: Compute
    /// The kernels in use, as one line for a log.
    let kernels: String
    /// Bytes of the weights that stay in the memory-mapped file.
    let mappedBytes: Int
    /// Whether the weights were repacked for the kernels.
    let isPacked: Bool
}

/// Reads a model's weights; reports progress and can be cancelled.
final class Loading: Sendable {
    private let configuration: LocalModel.Configuration
    private let progress: @Sendable (Double) -> Void
    private let isCancelled = Atomic<Bool>(false)

    init(_ configuration: LocalModel.Configuration, progress: @escaping @Sendable (Double) -> Void) {
        self.configuration = configuration
        self.progress = progress
    }

    /// Refuses an architecture without reference data, unless `allowsUnchecked`.
    private func checkArchitecture(of file: GGUFFile) throws(ModelFileError) {
        if !configuration.allowsUnchecked { try Registry.refuseUnchecked(file) }
    }

    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// - Throws: `ModelFileError`, `LocalModelError`, `CancellationError`.
    func run(_ file: GGUFFile) throws -> LoadedNetwork {
        progress(0)
        try checkCancellation()
        try checkArchitecture(of: file)
        let needs = try MemoryNeeds(file, configuration)
        let estimate = needs.estimate(available: SystemMemory.available())
        guard estimate.fits else { throw LocalModelError.insufficientMemory(estimate) }
        let compute = Compute(
            kernels: try configuration.kernels(), threads: configuration.threads ?? ProcessorCount.usable())
        do {
            let experts = configuration.expertsOnDisk ? ExpertCache(formats: compute.kernels.packedFormats) : nil
            let reading = Reading(file, self, skipping: experts == nil ? { _ in false } : ExpertCache.isExperts)
            // Repacked weights cannot be dropped and read again as a file's pages can: repack only if there is room.
            let hasRoom = experts != nil || estimate.available > file.byteCount / 8 * 9
            let packer =
                hasRoom
                ? WeightPacker(
                    pool: compute.pool, kernels: compute.kernels, experts: experts,
                    progress: reading.advance, refuse: reading.refuse) : nil
            let network = try Registry.network(for: file, packer: packer, context: configuration.contextSize)
            network.stateShape.format = configuration.cacheFormat
            var imageReader: ImageReader?
            if let encoder = configuration.imageEncoder {
                imageReader = try self.imageReader(encoder, network, hasRoom ? compute : nil)
            }
            var (drafter, draftFile): (Drafter?, GGUFFile?)
            if let url = configuration.draftModel {
                let draft = try GGUFFile(path: url.path)
                try checkArchitecture(of: draft)
                draftFile = draft
                drafter = try self.drafter(draft, for: file, network, hasRoom ? compute : nil)
            } else if let predictor = network.predictor {
                predictor.stateShape.format = configuration.cacheFormat
                drafter = Drafter(
                    predictor, vocabularySize: network.vocabularySize, statesWidth: predictor.width)
            }
            try checkCancellation()
            let mappedBytes = reading.mappedBytes
            try reading.readOthers(on: compute.pool)
            var kernels = "\(compute.kernels)" + (hasRoom ? "" : "; too little memory to repack the weights for them")
            if let experts {
                let bytes = needs.expertBytes(available: estimate.available)
                guard experts.fill(bytes: bytes, on: compute.pool, progress: reading.advanceExperts) else {
                    throw LocalModelError.insufficientMemory(estimate)
                }
                try checkCancellation()
                if experts.count > 0 {
                    kernels += "; \(experts.capacity) of \(experts.count) experts in memory, the others on disk"
                }
            }
            try file.checkIntact()
            return LoadedNetwork(
                file: file, network: network, imageReader: imageReader, drafter: drafter, draftFile: draftFile,
                compute: compute, kernels: kernels, mappedBytes: mappedBytes, isPacked: hasRoom)
        } catch {
            compute.pool.stop()
            throw error
        }
    }

    /// - Parameter compute: Repacks the weights; `nil`: they stay as in the file.
    private func imageReader(_ url: URL, _ network: any Network, _ compute: Compute?) throws -> ImageReader {
        let file = try GGUFFile(path: url.path)
        guard let width = network.imageWidth else {
            throw ModelFileError(
                .unsupported, "The model does not support an image encoder.", path: url.path)
        }
        let imageReader = try withPacker(compute) { try ImageReader(file, width: width, packer: $0) }
        // Such tokens are computed in one step, but recurrent layers end a step at every page border.
        guard imageReader.encoder.family.sight == .causal || network.stateShape.recurrentFloats == 0 else {
            throw ModelFileError(
                .unsupported,
                "The image encoder belongs to another model: its tokens attend to each other, which recurrent layers cannot compute.",
                path: url.path)
        }
        return imageReader
    }

    /// - Parameter compute: Repacks the weights; `nil`: they stay as in the file.
    private func drafter(
        _ draft: GGUFFile, for file: GGUFFile, _ network: any Network, _ compute: Compute?
    ) throws -> Drafter {
        guard network.kind == .decoder else {
            throw LocalModelError.invalidOption("draftModel: expected a decoder to draft for, found an \(network.kind)")
        }
        let draftNetwork = try withPacker(compute) {
            try draft.draftNetwork(for: file, packer: $0, configuration)
        }
        return Drafter(draftNetwork, vocabularySize: network.vocabularySize, statesWidth: nil)
    }

    /// Repacks the weights of a file beside the model's own.
    private func withPacker<Value>(_ compute: Compute?, _ read: (WeightPacker?) throws -> Value) throws -> Value {
        var refused: TensorView?
        let packer = compute.map { compute in
            WeightPacker(
                pool: compute.pool, kernels: compute.kernels,
                progress: { [self] _, _ in !isCancelled.load(ordering: .relaxed) },
                refuse: { refused = refused ?? $0 })
        }
        let value = try read(packer)
        if let refused { throw refused.nonFinite() }
        return value
    }

    /// Tracks which tensors have been read, and the progress.
    private final class Reading {
        private let loading: Loading
        private let tensors: [TensorView]
        private let total: Int
        /// Whether experts are read after these tensors.
        private let isPartial: Bool
        private var done = 0
        private var packed: Set<String> = []
        /// The first tensor found with a scale that is not finite.
        private var refused: TensorView?

        /// - Parameter skips: Whether a tensor stays on disk.
        init(_ file: GGUFFile, _ loading: Loading, skipping skips: (TensorView) -> Bool) {
            self.loading = loading
            tensors = file.tensors.filter { !skips($0) }
            total = max(1, tensors.reduce(0) { $0 + $1.byteCount })
            isPartial = tensors.count < file.tensors.count
        }

        /// Reports the progress of filling the experts' memory, which takes the second half.
        func advanceExperts(_ share: Double) -> Bool {
            loading.progress(0.5 + share / 2)
            return !loading.isCancelled.load(ordering: .relaxed)
        }

        /// Bytes of the tensors that stay in the file.
        var mappedBytes: Int { tensors.reduce(0) { $0 + (packed.contains($1.name) ? 0 : $1.byteCount) } }

        /// - Returns: Whether to continue.
        func advance(_ tensor: TensorView, by bytes: Int) -> Bool {
            if bytes > 0 { packed.insert(tensor.name) }
            done += bytes
            loading.progress(Double(done) / Double(total) * (isPartial ? 0.5 : 1))
            return !loading.isCancelled.load(ordering: .relaxed)
        }

        func refuse(_ tensor: TensorView) { refused = refused ?? tensor }

        /// Reads the weights that are not repacked into memory, so that the first answer does not fault them in page by
        /// page.
        ///
        /// - Throws: `badTensor` if a scale, of these or of the repacked weights, is infinite or NaN.
        func readOthers(on pool: ThreadPool) throws {
            if let refused { throw refused.nonFinite() }
            for tensor in tensors where !packed.contains(tensor.name) {
                tensor.file.prefetch(tensor.range)
                let blockBytes = tensor.type.blockBytes
                let blocks = tensor.byteCount / blockBytes
                let run = max(1, (1 << 16) / blockBytes)
                let isFinite = Atomic(true)
                let bytes = tensor.bytes
                pool.forEach((blocks + run - 1) / run) { piece, _ in
                    let (start, count) = (piece * run, min(run, blocks - piece * run))
                    let base = bytes.baseAddress! + start * blockBytes
                    if firstNonFiniteBlock(tensor.type, base, count: count) != nil {
                        isFinite.store(false, ordering: .relaxed)
                    }
                }
                guard isFinite.load(ordering: .relaxed) else { throw tensor.nonFinite() }
                guard advance(tensor, by: tensor.byteCount) else { throw CancellationError() }
            }
        }
    }

    private func checkCancellation() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }
}

extension TensorView {
    /// The error with the place of the first infinite or NaN scale. The tensor must have one.
    fileprivate func nonFinite() -> ModelFileError {
        let blocks = bytes.count / type.blockBytes
        let block = firstNonFiniteBlock(type, bytes.baseAddress!, count: blocks) ?? 0
        let found =
            type.blockValues == 1
            ? "value \(block) is infinite or not a number"
            : "the scale of block \(block) of \(blocks) is infinite or not a number"
        return ModelFileError(
            .badTensor, "Tensor '\(name)' (\(type.name)): \(found). The file is damaged or was quantized wrongly.",
            path: file.path, byteOffset: range.lowerBound + block * type.blockBytes)
    }
}
