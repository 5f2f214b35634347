import Foundation
import Synchronization

/// Loads a model on a thread of its own, so that it can report progress and be cancelled.
final class Loading: Sendable {
    private let url: URL
    private let configuration: LocalModel.Configuration
    private let progress: @Sendable (Double) -> Void
    private let isCancelled = Atomic<Bool>(false)

    init(url: URL, configuration: LocalModel.Configuration, progress: @escaping @Sendable (Double) -> Void) {
        self.url = url
        self.configuration = configuration
        self.progress = progress
    }

    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    func run() throws -> LocalModel {
        progress(0)
        var file = try GGUFFile(path: url.path)
        try checkCancellation()
        let format = try TextFormat(file)
        try checkCancellation()
        let estimate = try MemoryEstimate(file, configuration)
        guard estimate.fits else { throw LocalModelError.insufficientMemory(estimate) }
        let compute = Compute(
            kernels: try configuration.kernels(), threads: configuration.threads ?? ProcessorCount.usable())
        do {
            let reading = Reading(file, self)
            // Repacked weights cannot be dropped and read again as a file's pages can: only where there is room for them.
            let hasRoom = estimate.available > file.byteCount / 8 * 9
            if hasRoom {
                file.packer = WeightPacker(
                    pool: compute.pool, formats: compute.kernels.packedFormats, progress: reading.advance)
            }
            let network = try Registry.network(for: file, context: configuration.contextSize)
            network.stateShape.format = configuration.cacheFormat
            try checkCancellation()
            file.packer = nil
            let mappedBytes = reading.mappedBytes
            try reading.readOthers()
            return try LocalModel(
                file: file, network: network, compute: compute, format: format, configuration: configuration, url: url,
                kernels: "\(compute.kernels)" + (hasRoom ? "" : "; too little memory to repack the weights for them"),
                mappedBytes: mappedBytes)
        } catch {
            compute.pool.stop()
            throw error
        }
    }

    /// What of the file has been read.
    private final class Reading {
        private let loading: Loading
        private let tensors: [TensorView]
        private let total: Int
        private var done = 0
        private var packed: Set<String> = []

        init(_ file: GGUFFile, _ loading: Loading) {
            self.loading = loading
            tensors = file.tensors
            total = max(1, tensors.reduce(0) { $0 + $1.bytes.count })
        }

        /// Of the tensors that stay in the file.
        var mappedBytes: Int { tensors.reduce(0) { $0 + (packed.contains($1.name) ? 0 : $1.bytes.count) } }

        /// - Returns: Whether to go on.
        func advance(_ tensor: TensorView, by bytes: Int) -> Bool {
            if bytes > 0 { packed.insert(tensor.name) }
            done += bytes
            loading.progress(Double(done) / Double(total))
            return !loading.isCancelled.load(ordering: .relaxed)
        }

        /// Brings the weights that are not repacked into memory, so that the first answer does not wait for the disk page
        /// by page.
        func readOthers() throws {
            var checksum: UInt8 = 0
            for tensor in tensors where !packed.contains(tensor.name) {
                tensor.file.prefetch(tensor.range)
                for offset in stride(from: 0, to: tensor.bytes.count, by: Int(sysconf(Int32(_SC_PAGESIZE)))) {
                    checksum &+= tensor.bytes[offset]
                }
                guard advance(tensor, by: tensor.bytes.count) else { throw CancellationError() }
            }
            withExtendedLifetime(checksum) {}
        }
    }

    private func checkCancellation() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }
}
