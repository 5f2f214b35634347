import Foundation

/// The memory that a model needs, computed before it is loaded.
public struct MemoryEstimate: Sendable, Equatable {
    /// Smallest context in tokens to choose automatically, unless the model was trained with less.
    package static let leastContext = 2048

    /// Bytes of the weights, repacked or as in the file.
    public var weights: Int
    /// Bytes of the state of one request that fills the context: keys and values, recurrent states. At run time, states
    /// of all requests share half of the memory left after loading.
    public var cache: Int
    /// Bytes of scratch memory for a step.
    public var scratch: Int
    /// Bytes of the tokenizer's tables.
    public var vocabulary: Int
    /// Context size in tokens: the configured one, else the trained one or, if less, as many as half of the remaining
    /// memory holds.
    public var contextSize: Int
    /// Bytes available when the estimate was made.
    public var available: Int
    /// Bytes of experts that stay on disk until they are used; not among the weights.
    public var expertsOnDisk = 0
    /// Least bytes that the model needs with its experts on disk; `nil`: they are, or it has none.
    public var totalWithExpertsOnDisk: Int?

    package init(
        weights: Int, cache: Int, scratch: Int, vocabulary: Int, contextSize: Int, available: Int,
        expertsOnDisk: Int = 0, totalWithExpertsOnDisk: Int? = nil
    ) {
        self.weights = weights
        self.cache = cache
        self.scratch = scratch
        self.vocabulary = vocabulary
        self.contextSize = contextSize
        self.available = available
        self.expertsOnDisk = expertsOnDisk
        self.totalWithExpertsOnDisk = totalWithExpertsOnDisk
    }

    /// Bytes of all parts together.
    public var total: Int { weights + cache + scratch + vocabulary }
    /// Whether that many bytes are available.
    public var fits: Bool { total <= available }
}

extension MemoryEstimate: CustomStringConvertible {
    /// `5.2 GB: 4.8 GB of weights, …; 3.1 GB are available`
    public var description: String {
        """
        \(bytes(total)): \(bytes(weights)) of weights, \(bytes(cache)) for the keys and values of \(contextSize) tokens, \
        \(bytes(scratch)) to work in and \(bytes(vocabulary)) for the vocabulary; \(bytes(available)) are available
        """ + (expertsOnDisk > 0 ? ". \(bytes(expertsOnDisk)) of experts stay on disk" : "")
            + (fits ? "" : totalWithExpertsOnDisk.map { ". With --experts-on-disk, \(bytes($0)) are enough" } ?? "")
    }

    private func bytes(_ count: Int) -> String {
        count < 1_000_000_000
            ? String(format: "%.0f MB", Double(count) / 1e6) : String(format: "%.1f GB", Double(count) / 1e9)
    }
}
