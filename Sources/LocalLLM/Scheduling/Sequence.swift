import Tokenizer

extension Engine {
    /// One request while it runs: its tokens, what the model remembers of them, and the way back to the caller.
    final class Sequence {
        let cache: KVCache
        let continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        /// The prompt, and what was sampled after it.
        private(set) var tokens: [Int32]

        private let tokenizer: TextTokenizer?
        private let promptCount: Int
        private let maximumTokens: Int
        private var sampler: Sampler
        private var decoder: StreamingDecoder?
        private var stopFilter: StopFilter
        /// Tokens whose text is still held back.
        private var unsent: [Int32] = []
        private var unsentLogprobs: [TokenLogprob] = []
        private let topLogprobs: Int?
        private let started = ContinuousClock.now
        private var firstToken: ContinuousClock.Instant?

        init(
            _ request: Request, cache: KVCache, _ tokenizer: TextTokenizer?,
            _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        ) {
            self.cache = cache
            self.continuation = continuation
            self.tokenizer = tokenizer
            tokens = request.tokens
            promptCount = request.tokens.count
            maximumTokens = request.maximumTokens
            sampler = Sampler(chain: request.chain, options: request.options, prompt: request.tokens)
            decoder = tokenizer.map { StreamingDecoder($0) }
            stopFilter = StopFilter(request.options.stop)
            topLogprobs = request.options.topLogprobs
        }

        /// Samples the next token and sends its text.
        ///
        /// - Returns: Whether the generation has ended.
        func accept(_ logits: UnsafeBufferPointer<Float>) -> Bool {
            let token = sampler.next(logits)
            if firstToken == nil { firstToken = .now }
            tokens.append(token)
            unsent.append(token)
            if let topLogprobs { unsentLogprobs.append(TokenLogprob(of: token, in: logits, top: topLogprobs)) }
            if tokenizer?.endOfGeneration.contains(token) == true { return finish(.stop) }
            let text = stopFilter.process(decoder?.decode(token) ?? "")
            if stopFilter.isStopped { return finish(.stop, text) }
            if tokens.count - promptCount >= maximumTokens { return finish(.length, text) }
            if !text.isEmpty || decoder == nil {
                send(text)
            }
            return false
        }

        private func finish(_ reason: FinishReason, _ text: String = "") -> Bool {
            var text = text
            if !stopFilter.isStopped {
                text += stopFilter.process(decoder?.finish() ?? "")
                text += stopFilter.finish()
            }
            let usage = Usage(
                promptTokens: promptCount, completionTokens: tokens.count - promptCount,
                secondsToFirstToken: (firstToken! - started) / .seconds(1),
                decodeSeconds: (.now - firstToken!) / .seconds(1))
            // Text flushed at the very end may still have completed a stop string.
            let reason = stopFilter.isStopped ? .stop : reason
            send(text, finish: .init(reason: reason, usage: usage))
            return true
        }

        private func send(_ text: String, finish: GenerationPiece.Finish? = nil) {
            continuation.yield(
                GenerationPiece(text: text, tokens: unsent, logprobs: unsentLogprobs, finish: finish))
            unsent.removeAll(keepingCapacity: true)
            unsentLogprobs.removeAll(keepingCapacity: true)
        }
    }
}
