import KernelsPortable
import Tokenizer

extension Engine {
    /// One request while it runs: its tokens, what the model remembers of them, and the way back to the caller.
    final class Sequence {
        private(set) var state: SequenceState
        private let network: any Network
        let continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        /// The prompt, and what was sampled after it.
        private(set) var tokens: [Int32]

        /// Pages of `state` that the engine shares, and the last of them.
        private var sharedPages = 0
        private var lastShared: PrefixCache.Node
        /// Tokens of the prompt that were there when it began.
        private var cachedTokens: Int?
        /// Whether the text must be the same every time, whatever was asked before.
        private let isRepeatable: Bool

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
            _ request: Request, _ network: any Network, _ root: PrefixCache.Node, _ tokenizer: TextTokenizer?,
            _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        ) {
            self.network = network
            state = network.makeState()
            lastShared = root
            isRepeatable = request.options.seed != nil || request.chain.temperature == 0
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

        /// Whether no token was sampled yet.
        var isPrefilling: Bool { firstToken == nil }

        /// Tokens of whole pages that both prompts begin with.
        func sharedPrompt(with other: Sequence) -> Int {
            let most = min(promptCount, other.promptCount) - 1
            let count = (0..<most).first { tokens[$0] != other.tokens[$0] } ?? most
            return count / pageTokens * pageTokens
        }

        /// Begins with what is remembered of the prompt.
        ///
        /// - Returns: How many tokens that are. The last of the prompt is not among them: its logits are wanted.
        func start(from prefixes: inout PrefixCache) -> Int {
            if network.stateShape.needsCheckpoints { return 0 }
            let path = prefixes.longestPrefix(of: tokens[..<(promptCount - 1)], promptOnly: isRepeatable)
            state = SequenceState(network.stateShape, beginning: path.map(\.pages))
            sharedPages = path.count
            lastShared = path.last ?? prefixes.root
            if isPrefilling { cachedTokens = state.count }
            return state.count
        }

        /// Forgets everything but its tokens.
        func forget(_ root: PrefixCache.Node) {
            state = network.makeState()
            sharedPages = 0
            lastShared = root
        }

        /// Lets others begin with the pages that were filled since the last call.
        func share(with prefixes: inout PrefixCache) {
            if network.stateShape.needsCheckpoints { return }
            while (sharedPages + 1) * pageTokens <= state.count {
                let range = sharedPages * pageTokens..<(sharedPages + 1) * pageTokens
                lastShared = prefixes.insert(
                    state.sharedPages(sharedPages), of: tokens[range], after: lastShared,
                    isPrompt: range.upperBound <= promptCount)
                // Another sequence may have been faster: one copy is enough.
                state.replacePages(sharedPages, by: lastShared.pages)
                sharedPages += 1
            }
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
                promptTokens: promptCount, cachedTokens: cachedTokens ?? 0,
                completionTokens: tokens.count - promptCount,
                secondsToFirstToken: (firstToken! - started) / .seconds(1),
                decodeSeconds: (.now - firstToken!) / .seconds(1))
            // Text flushed at the very end may still have completed a stop string.
            let reason = stopFilter.isStopped ? .stop : reason
            send(text, finish: .init(reason: reason, usage: usage))
            return true
        }

        private func send(_ text: String, finish: GenerationPiece.Finish? = nil) {
            // Handed over, not shared: the reader's thread has the only reference to what it reads.
            continuation.yield(
                GenerationPiece(
                    text: text, tokens: exchange(&unsent, with: []), logprobs: exchange(&unsentLogprobs, with: []),
                    finish: finish))
        }
    }
}
