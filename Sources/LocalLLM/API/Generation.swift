/// A piece of generated text, as it comes.
public struct GenerationPiece: Sendable, Equatable {
    /// Whole UTF-8 characters only; may be empty in the last piece. Text that could be the start of a stop string
    /// is held back until it is known not to be.
    public var text: String
    /// The tokens sampled since the last piece, the end-of-generation token included.
    public var tokens: [Int32]
    /// One for each of `tokens`; empty unless `SamplingOptions.topLogprobs` asks for them.
    public var logprobs: [TokenLogprob] = []
    /// Set in the last piece, and only there.
    public var finish: Finish?
    /// How far the prompt is; only where `SamplingOptions.reportsProgress` asks for it, in pieces without text.
    public var progress: PromptProgress?

    /// How a generation ended and what it cost.
    public struct Finish: Sendable, Equatable {
        public var reason: FinishReason
        public var usage: Usage
        /// The stop string that ended it; `nil` where a token did, or the limit.
        public var stopString: String?
    }
}

/// How much of a prompt has been computed.
public struct PromptProgress: Sendable, Equatable {
    public var total: Int
    /// Tokens that were remembered from earlier requests.
    public var cached: Int
    /// Tokens computed, the remembered ones included.
    public var processed: Int
    public var seconds: Double
}

/// Why generation ended.
public enum FinishReason: String, Sendable {
    /// The model said so (an end-of-generation token), or a stop string came.
    case stop
    /// `maximumTokens` or the end of the context was reached.
    case length
}

/// What a generation cost.
public struct Usage: Sendable, Equatable {
    public var promptTokens: Int
    /// Tokens of the prompt whose keys and values were remembered from an earlier request.
    public var cachedTokens: Int = 0
    public var completionTokens: Int
    /// Tokens that were guessed, and computed several a step to be checked.
    public var draftedTokens: Int = 0
    /// Those of them that were right, and are part of the answer.
    public var acceptedTokens: Int = 0
    /// Seconds from the start of the prompt to the first sampled token.
    public var secondsToFirstToken: Double
    /// Seconds from the first sampled token to the last.
    public var decodeSeconds: Double
    /// Processor seconds of one thread for sampling, constraint masks and drafts, between the steps.
    public var samplingSeconds: Double = 0
}

/// The text of one request, as it is generated.
///
/// Iterate it once. Cancelling the task that iterates, breaking out of the loop, dropping the generation, or calling
/// `cancel()` stops the model's work on this request within one step and frees what it held.
public struct Generation: AsyncSequence, Sendable {
    public typealias Element = GenerationPiece

    private let stream: AsyncThrowingStream<GenerationPiece, any Error>
    private let cancellation: @Sendable () -> Void

    init(_ stream: AsyncThrowingStream<GenerationPiece, any Error>, cancel: @escaping @Sendable () -> Void) {
        self.stream = stream
        self.cancellation = cancel
    }

    /// What `body` starts, or a generation that throws what `body` threw.
    static func catching(_ body: () throws(LocalModelError) -> Generation) -> Generation {
        do {
            return try body()
        } catch {
            return Generation(AsyncThrowingStream { $0.finish(throwing: error) }) {}
        }
    }

    /// What `body` starts when it is done.
    static func awaiting(_ body: @escaping @Sendable () async throws -> Generation) -> Generation {
        let (stream, continuation) = AsyncThrowingStream<GenerationPiece, any Error>.makeStream()
        let task = Task {
            do {
                for try await piece in try await body() { continuation.yield(piece) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return Generation(stream) { task.cancel() }
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(base: stream.makeAsyncIterator(), lifetime: Lifetime(end: cancellation))
    }

    /// Ends the generation; the stream then ends without a `finish`.
    public func cancel() { cancellation() }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<GenerationPiece, any Error>.Iterator
        fileprivate let lifetime: Lifetime

        public mutating func next() async throws -> GenerationPiece? { try await base.next() }
    }

    /// Cancels when the iterator goes: a loop was left early. After the end that does nothing.
    fileprivate final class Lifetime: Sendable {
        private let end: @Sendable () -> Void
        init(end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }
}
