import Foundation
import Synchronization

/// Loads a model on a thread of its own, so that it can report progress and be cancelled.
final class Loading: Sendable {
    private let url: URL
    private let configuration: LanguageModel.Configuration
    private let progress: @Sendable (Double) -> Void
    private let isCancelled = Atomic<Bool>(false)

    init(url: URL, configuration: LanguageModel.Configuration, progress: @escaping @Sendable (Double) -> Void) {
        self.url = url
        self.configuration = configuration
        self.progress = progress
    }

    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    func run() throws -> LanguageModel {
        progress(0)
        let file = try GGUFFile(path: url.path)
        try checkCancellation()
        let format = try TextFormat(file)
        try checkCancellation()
        let network = try Registry.network(for: file)
        try readAhead(file)
        progress(1)
        return try LanguageModel(file: file, network: network, format: format, configuration: configuration, url: url)
    }

    /// Brings the weights into memory, so that the first answer does not wait for the disk page by page.
    private func readAhead(_ file: GGUFFile) throws {
        let total = file.tensors.reduce(0) { $0 + $1.bytes.count }
        var done = 0
        var checksum: UInt8 = 0
        for tensor in file.tensors {
            tensor.file.prefetch(tensor.range)
            for offset in stride(from: 0, to: tensor.bytes.count, by: Int(sysconf(Int32(_SC_PAGESIZE)))) {
                checksum &+= tensor.bytes[offset]
            }
            try checkCancellation()
            done += tensor.bytes.count
            progress(Double(done) / Double(max(1, total)))
        }
        withExtendedLifetime(checksum) {}
    }

    private func checkCancellation() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }
}
