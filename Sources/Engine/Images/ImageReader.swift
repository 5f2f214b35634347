package import Networks
package import GGUF
package import Compute
package import Foundation
import Synchronization

/// A model's vision encoder, with a cache of recent images.
package final class ImageReader: Sendable {
    package let encoder: VisionEncoder
    private let memory = ImageMemory()
    /// Number of images encoded so far; images found in the cache do not count.
    private let encoded = Atomic<Int>(0)
    private let turns = TurnQueue()
    /// Decodes the files of all models: at most two at a time, one per client, since the pixels of a file take up to a
    /// hundred times its bytes.
    private static let decoders = FairExecutor(name: "images", niceness: 10, threads: 2, returnsMemory: true)

    /// Maximum rows per batch of the encoder, but at least one piece: enough for products to run at full speed, and a
    /// bound on memory.
    private static let rowBudget = 4096

    /// - Parameters:
    ///   - file: An `mmproj` file.
    ///   - width: Width of the language model's embeddings.
    ///   - packer: Repacks the encoder's weights; `nil`: they stay as in the file.
    package init(_ file: GGUFFile, width: Int, packer: WeightPacker?) throws(ModelFileError) {
        encoder = try VisionBuilder(file, packer: packer).encoder()
        guard encoder.outputWidth == width else {
            throw ModelFileError(
                .unsupported,
                "The image encoder belongs to another model: its vectors have \(encoder.outputWidth) values, the model's embeddings \(width).",
                path: file.path)
        }
    }

    package var encodedImages: Int { encoded.load(ordering: .relaxed) }

    /// The tokens of an image, from the cache or computed.
    ///
    /// Computed between the steps of running requests, one layer at a time; clients take turns at the encoder.
    ///
    /// - Throws: `CancellationError` between two layers, `LocalModelError.shutDown`.
    package func read(_ image: RGBImage, on thread: ModelThread) async throws -> ModelImage {
        try await read(.init(pieces: encoder.preprocessing.pieces(of: image)), on: thread)
    }

    /// The tokens of images' files, which are read as part of one prompt.
    ///
    /// - Parameters:
    ///   - salt: Images are found in the cache only if they were read with the same salt.
    ///   - contextSize: Maximum tokens of all images together.
    /// - Throws: As `read` of an image; `ImageFileError`; `LocalModelError.contextSizeExceeded` before the first image is
    ///   encoded that does not fit.
    package func read(_ files: [Data], salt: String?, contextSize: Int, on thread: ModelThread) async throws
        -> [ModelImage]
    {
        var (images, tokens) = ([ModelImage](), 0)
        for file in files {
            let pieces = try await decode(file)
            tokens += pieces.all.reduce(0) { $0 + encoder.tokenCount(of: $1.size) }
            guard tokens < contextSize else {
                throw LocalModelError.contextSizeExceeded(contextSize: contextSize, tokenCount: tokens)
            }
            images.append(try await read(.init(pieces: pieces, salt: salt), on: thread))
        }
        return images
    }

    @inline(never)  // docs/workarounds.md
    private func decode(_ file: Data) async throws -> TiledImage {
        try await withTaskExecutorPreference(Self.decoders.executor(for: FairShare.client ?? "")) {
            // The client may have disconnected while its image was queued, or does so while it is decoded.
            try Task.checkCancellation()
            do {
                return encoder.preprocessing.pieces(of: try RGBImage(file: Array(file)))
            } catch {
                try Task.checkCancellation()
                throw error
            }
        }
    }

    private func read(_ image: ImageMemory.Key, on thread: ModelThread) async throws -> ModelImage {
        if let known = memory[image] { return known }
        return try await turns.run {
            if let known = memory[image] { return known }
            // The client may have disconnected while its image was queued.
            try Task.checkCancellation()
            let rows = try await encode(image.pieces, on: thread)
            encoded.add(1, ordering: .relaxed)
            return memory.remember(
                image, rows: rows, markers: encoder.family.markers.pieces(around: image.pieces), of: self)
        }
    }

    /// Computes the vectors of each piece, bypassing the cache.
    package func encode(_ pieces: TiledImage, on thread: ModelThread) async throws -> [MediaRows] {
        var rows: [MediaRows] = []
        for batch in batches(pieces.all) {
            let pass = encoder.pass(over: batch)
            while try await thread.perform({ _, compute in pass.advance(on: compute) }) {
                try Task.checkCancellation()
            }
            rows += pass.results
        }
        return rows
    }

    /// Splits the pieces into batches.
    private func batches(_ pieces: [RGBImage]) -> [[RGBImage]] {
        var (batches, count) = ([[RGBImage]](), Int.max)
        for piece in pieces {
            let rows = encoder.rowCount(of: piece.size)
            if count > Self.rowBudget - rows {
                batches.append([])
                count = 0
            }
            batches[batches.count - 1].append(piece)
            count += rows
        }
        return batches
    }
}

/// A fair lock: admits one task at a time; clients take turns.
final class TurnQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiting = FairQueue<CheckedContinuation<Void, Never>>()
    }
    private let state = Mutex(State())

    @inline(never)  // docs/workarounds.md
    func run<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(continuation, of: FairShare.client ?? "") }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
        defer {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                let next = state.waiting.next()
                state.isTaken = next != nil
                return next?.element
            }
            next?.resume()
        }
        return try await body()
    }
}
