import Foundation

/// What a model will take of memory, known before it is loaded.
public struct MemoryEstimate: Sendable, Equatable {
    /// A model that cannot remember so many tokens, or all that it was trained for, is of no use in a conversation.
    static let leastContext = 2048

    /// Bytes of the weights, repacked or as they are in the file.
    public var weights: Int
    /// Bytes of the state of one request as long as the context: keys and values, recurrent states. The model shares half of what memory is left
    /// among more of them.
    public var cache: Int
    /// Bytes that a step works in.
    public var scratch: Int
    /// Bytes of the tokenizer's tables.
    public var vocabulary: Int
    /// Tokens: as configured; else what the model was trained for, or as many as half of what memory is left holds.
    public var contextSize: Int
    /// Bytes that could be had when the estimate was made.
    public var available: Int

    public var total: Int { weights + cache + scratch + vocabulary }
    public var fits: Bool { total <= available }
}

extension MemoryEstimate: CustomStringConvertible {
    /// `5.2 GB: 4.8 GB of weights, …; 3.1 GB are available`
    public var description: String {
        """
        \(bytes(total)): \(bytes(weights)) of weights, \(bytes(cache)) for the keys and values of \(contextSize) tokens, \
        \(bytes(scratch)) to work in and \(bytes(vocabulary)) for the vocabulary; \(bytes(available)) are available
        """
    }

    private func bytes(_ count: Int) -> String {
        count < 1_000_000_000
            ? String(format: "%.0f MB", Double(count) / 1e6) : String(format: "%.1f GB", Double(count) / 1e9)
    }
}
