/// A piece of generated text, as it is streamed.
public struct GenerationPiece: Sendable, Equatable {
    /// Whole UTF-8 characters only; may be empty in the last piece. Text that could be the start of a stop string is
    /// held back until it is decided.
    public var text: String
    /// The tokens sampled since the last piece, the end-of-generation token included.
    public var tokens: [Int32]
    /// One entry per token of `tokens`; empty unless `SamplingOptions.topLogprobs` is set.
    public var logprobs: [TokenLogprob] = []
    /// Set only in the last piece.
    public var finish: Finish?
    /// Prefill progress; only if `SamplingOptions.reportsProgress` is set, in pieces without text.
    public var progress: PromptProgress?

    package init(
        text: String, tokens: [Int32], logprobs: [TokenLogprob] = [], finish: Finish? = nil,
        progress: PromptProgress? = nil
    ) {
        self.text = text
        self.tokens = tokens
        self.logprobs = logprobs
        self.finish = finish
        self.progress = progress
    }

    /// How a generation ended, and its token counts and times.
    public struct Finish: Sendable, Equatable {
        public var reason: FinishReason
        public var usage: Usage
        /// The stop string that ended it; `nil` if a token or the limit did.
        public var stopString: String?

        package init(reason: FinishReason, usage: Usage, stopString: String? = nil) {
            (self.reason, self.usage, self.stopString) = (reason, usage, stopString)
        }

    }
}

/// Prefill progress.
public struct PromptProgress: Sendable, Equatable {
    /// Tokens of the prompt.
    public var total: Int
    /// Tokens found in the prefix cache.
    public var cached: Int
    /// Tokens computed so far, cached ones included.
    public var processed: Int
    /// Seconds since the request reached the engine, queueing included.
    public var seconds: Double
}

/// Why generation ended.
public enum FinishReason: String, Sendable {
    /// The model generated an end-of-generation token, or a stop string was found.
    case stop
    /// `maximumTokens` or the end of the context was reached.
    case length
}

/// Token counts and times of a generation.
public struct Usage: Sendable, Equatable {
    /// Tokens of the prompt, cached ones included.
    public var promptTokens: Int
    /// Tokens of the prompt found in the prefix cache.
    public var cachedTokens: Int = 0
    /// Generated tokens.
    public var completionTokens: Int
    /// Tokens drafted and verified in a step.
    public var draftedTokens: Int = 0
    /// Drafted tokens that were accepted.
    public var acceptedTokens: Int = 0
    /// Seconds from the request reaching the engine, queueing included, to the first sampled token.
    public var secondsToFirstToken: Double
    /// Seconds from the first sampled token to the last.
    public var decodeSeconds: Double
    /// Processor seconds of sampling, constraint masks and drafts.
    public var samplingSeconds: Double = 0

    package init(
        promptTokens: Int, cachedTokens: Int = 0, completionTokens: Int, draftedTokens: Int = 0,
        acceptedTokens: Int = 0, secondsToFirstToken: Double, decodeSeconds: Double, samplingSeconds: Double = 0
    ) {
        self.promptTokens = promptTokens
        self.cachedTokens = cachedTokens
        self.completionTokens = completionTokens
        self.draftedTokens = draftedTokens
        self.acceptedTokens = acceptedTokens
        self.secondsToFirstToken = secondsToFirstToken
        self.decodeSeconds = decodeSeconds
        self.samplingSeconds = samplingSeconds
    }

}

/// The streamed text of one request.
///
/// Iterate it once. Cancelling the iterating task, leaving the loop, releasing the generation, or calling `cancel()`
/// stops the model's work on this request within one step and frees its memory.
public struct Generation: AsyncSequence, Sendable {
    public typealias Element = GenerationPiece

    private let stream: AsyncThrowingStream<GenerationPiece, any Error>
    private let cancellation: @Sendable () -> Void

    init(_ stream: AsyncThrowingStream<GenerationPiece, any Error>, cancel: @escaping @Sendable () -> Void) {
        self.stream = stream
        self.cancellation = cancel
    }

    /// The generation that `body` returns, or one that throws the error of `body`.
    package static func catching(_ body: () throws(LocalModelError) -> Generation) -> Generation {
        do {
            return try body()
        } catch {
            return Generation(AsyncThrowingStream { $0.finish(throwing: error) }) {}
        }
    }

    /// Streams the generation that `body` returns, once it returns it.
    package static func awaiting(_ body: @escaping @Sendable () async throws -> Generation) -> Generation {
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

    /// Stops the generation; the stream then ends without a `finish`.
    public func cancel() { cancellation() }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<GenerationPiece, any Error>.Iterator
        fileprivate let lifetime: Lifetime

        public mutating func next() async throws -> GenerationPiece? { try await base.next() }
    }

    /// Cancels when the iterator is released, which means that the loop was left early. No effect after the end.
    fileprivate final class Lifetime: Sendable {
        private let end: @Sendable () -> Void
        init(end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }
}
