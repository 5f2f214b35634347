import Constraint
import KernelFormats
import Tokenizer

extension Engine {
    /// One request while it runs: its tokens, what the model remembers of them, and the way back to the caller.
    final class Sequence {
        private(set) var state: SequenceState {
            didSet { (state.encoding, state.images) = (encoding, images) }
        }
        /// Of an encoder-decoder: what its encoder reads. Pages say nothing without it, and are not shared.
        private let encoding: SequenceEncoding?
        let adapters: AdapterSelection
        private let images: SequenceImages?
        private let memory: StateMemory
        let continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        /// The prompt, and what was sampled after it.
        private(set) var tokens: [Int32]

        /// Tokens that may follow `tokens`: the next step computes them too, and only those stay that are then sampled.
        private var drafted: [Int32] = []
        private let draft: (@Sendable ([Int32]) -> [Int32])?
        /// Finds guesses; `nil` where none are wanted, and before the first is looked for.
        private var lookup: PromptLookup?
        private let expected: [Int32]
        private let mayDraft: Bool
        /// What was found last. Its first tokens are drafted, as many as pay.
        private var guess: PromptLookup.Guess?
        private var draftLength = DraftLength()
        private var draftedTokens = 0
        private var acceptedTokens = 0
        private var samplingSeconds = 0.0

        /// The engine's nodes of the pages that `state` began with or shares.
        private var path: [PrefixCache.Node] = []
        /// Lengths, in whole pages of the prompt, at which others may want to begin.
        private var checkpointLengths: Set<Int> = []
        /// The node of the answer that has a checkpoint. A later page of the answer takes it over.
        private weak var answerCheckpoint: PrefixCache.Node?
        /// Tokens of the prompt that were there when it began.
        private var cachedTokens: Int?
        /// Whether the text must be the same every time, whatever was asked before.
        private let isRepeatable: Bool
        private let cacheSalt: String?

        private let tokenizer: TextTokenizer?
        private let promptCount: Int
        private let maximumTokens: Int
        private var sampler: Sampler
        private var constraint: ConstraintFollower?
        private var decoder: StreamingDecoder?
        private var stopFilter: StopFilter
        /// Tokens whose text is still held back.
        private var unsent: [Int32] = []
        private var unsentLogprobs: [TokenLogprob] = []
        private let topLogprobs: Int?
        private let stopTokens: Set<Int32>
        private let reportsProgress: Bool
        private let started = ContinuousClock.now
        private var firstToken: ContinuousClock.Instant?

        init(
            _ request: Request, _ network: any Network, _ memory: StateMemory, _ tokenizer: TextTokenizer?,
            _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        ) {
            self.memory = memory
            encoding = request.encoding.map { SequenceEncoding($0) }
            adapters = request.adapters
            images = request.images
            state = network.makeState(in: memory, encoding: encoding, images: images)
            draft = request.draft
            mayDraft = request.options.drafts
            expected = request.options.expectedTokens
            cacheSalt = request.options.cacheSalt
            isRepeatable = request.options.seed != nil || request.chain.temperature == 0
            self.continuation = continuation
            self.tokenizer = tokenizer
            tokens = request.tokens
            promptCount = request.tokens.count
            maximumTokens = request.maximumTokens
            sampler = Sampler(
                chain: request.chain, options: request.options, prompt: request.tokens.filter { $0 >= 0 },
                tokenizer: tokenizer)
            decoder = tokenizer.map {
                StreamingDecoder(
                    $0, continuesText: request.options.continuesText, showing: request.options.shownTokens)
            }
            if let tokenizer, request.options.constraint != nil || request.options.thoughtLimit != nil {
                constraint = ConstraintFollower(
                    request.options.constraint, limit: request.options.thoughtLimit, tokenizer)
            }
            stopFilter = StopFilter(request.options.stop)
            topLogprobs = request.options.topLogprobs
            stopTokens = request.options.stopTokens
            reportsProgress = request.options.reportsProgress
        }

        /// Whether no token was sampled yet.
        var isPrefilling: Bool { firstToken == nil }

        /// Tokens of whole pages that both prompts begin with.
        func sharedPrompt(with other: Sequence) -> Int {
            guard adapters == other.adapters, cacheSalt == other.cacheSalt else { return 0 }
            let most = min(promptCount, other.promptCount) - 1
            let count = (0..<most).first { tokens[$0] != other.tokens[$0] } ?? most
            return count / pageTokens * pageTokens
        }

        /// How far before the end of a prompt others find a checkpoint, in pages. A conversation's next turn repeats all of
        /// the prompt but perhaps the last few tokens, where a template asks for the answer; what diverges earlier computes
        /// at most eight times as much again.
        private static let checkpointDistances = [0, 2, 16, 128]

        /// Begins with what is remembered of the prompt.
        ///
        /// - Returns: How many tokens that are. The last of the prompt is not among them: its logits are wanted.
        func start(from prefixes: inout PrefixCache) -> Int {
            if encoding == nil {
                path = prefixes.longestPrefix(
                    of: tokens[..<(promptCount - 1)], after: prefixes.root(adapters, salt: cacheSalt),
                    promptOnly: isRepeatable)
            }
            if state.shape.needsCheckpoints {
                let end = (promptCount - 1) / pageTokens
                checkpointLengths.formUnion(Self.checkpointDistances.map { (end - $0) * pageTokens })
                checkpointLengths.insert(promptCount)
                // Whoever comes here next diverges from the others here too.
                checkpointLengths.insert(path.count * pageTokens)
                path.removeLast(path.count - ((path.lastIndex { $0.checkpoint != nil } ?? -1) + 1))
            }
            state = SequenceState(
                state.shape, in: memory, beginning: path.map(\.pages), checkpoint: path.last?.checkpoint)
            if isPrefilling { cachedTokens = state.count }
            return state.count
        }

        /// Forgets everything but its tokens.
        func forget() {
            state = SequenceState(state.shape, in: memory)
            path = []
            drafted = []
        }

        /// Another sequence wants to begin with so many tokens of the prompt, in whole pages.
        func wantCheckpoint(at length: Int) { checkpointLengths.insert(length) }

        /// Where a piece of the prompt ends that may take `range`. With recurrent layers it ends at a page's border, which
        /// makes results independent of the pieces, and where a checkpoint is wanted: later it could not be had.
        func pieceEnd(_ range: Range<Int>) -> Int {
            guard state.shape.recurrentFloats > 0 else { return images?.pieceEnd(range) ?? range.upperBound }
            let border = (range.upperBound + pageTokens - 1) / pageTokens * pageTokens
            return checkpointLengths.reduce(min(border, promptCount)) { $1 > range.lowerBound ? min($0, $1) : $0 }
        }

        /// The tokens of a range, which may reach into those drafted.
        func enter(_ range: Range<Int>) -> ArraySlice<Int32> {
            guard range.upperBound > tokens.count else { return tokens[range] }
            state.checkpoint()
            return (tokens + drafted)[range]
        }

        /// Lets others begin with the pages that were filled since the last call.
        func share(with prefixes: inout PrefixCache) {
            while encoding == nil, (path.count + 1) * pageTokens <= state.count {
                let index = path.count
                let range = index * pageTokens..<(index + 1) * pageTokens
                let node = prefixes.insert(
                    state.sharedPages(index), of: tokens[range],
                    after: path.last ?? prefixes.root(adapters, salt: cacheSalt),
                    isPrompt: range.upperBound <= promptCount)
                // Another sequence may have been faster: one copy is enough.
                state.replacePages(index, by: node.pages)
                path.append(node)
                addCheckpoint(to: node, at: range.upperBound)
            }
        }

        private func addCheckpoint(to node: PrefixCache.Node, at length: Int) {
            let isAnswer = length > promptCount
            guard state.shape.needsCheckpoints, isAnswer || checkpointLengths.contains(length),
                node.checkpoint == nil, let checkpoint = state.makeCheckpoint(at: length)
            else { return }
            node.checkpoint = checkpoint
            guard isAnswer else { return }
            answerCheckpoint?.checkpoint = nil
            answerCheckpoint = node
        }

        /// What a sequence did with a step's logits.
        struct Outcome {
            /// Whether the generation has ended.
            var isDone: Bool
            /// Tokens that were sampled.
            var sampled = 0
            /// Tokens that the next step computes besides the last one sampled.
            var drafted = 0
        }

        /// Samples tokens for as long as they are those drafted, and one more; sends their text; drafts for the next step.
        /// Changes nothing that sequences share: those of a step do this side by side. `keepSampled` comes after it.
        ///
        /// - Parameters:
        ///   - logits: After the last token, and after each drafted one.
        ///   - costOfRow: Of the seconds of a step with one row, what one more takes; `nil` where other sequences
        ///     need the rows.
        /// - Throws: `constraintFailed`.
        func sample(_ logits: Matrix, costOfRow: Double?) throws(LocalModelError) -> Outcome {
            let (began, known) = (ThreadTime.seconds, tokens.count)
            defer { samplingSeconds += ThreadTime.seconds - began }
            draftedTokens += logits.rows - 1
            for row in 0..<logits.rows {
                let isDone = try append(UnsafeBufferPointer(start: logits[row], count: logits.columns))
                if let guess, row < guess.tokens.count {
                    draftLength.learn(match: guess.match + row, isRight: tokens.last == guess.tokens[row])
                }
                if isDone { return Outcome(isDone: true) }
                guard row < drafted.count, tokens.last == drafted[row] else { break }
                acceptedTokens += 1
            }
            try draftNext(costOfRow)
            return Outcome(isDone: false, sampled: tokens.count - known, drafted: drafted.count)
        }

        /// Makes the state forget drafted tokens that were not sampled.
        func keepSampled() { state.rollBack(to: tokens.count - 1) }

        /// Drafts tokens for the next step: those that the constraint leaves no choice about, else the request's own.
        ///
        private func draftNext(_ costOfRow: Double?) throws(LocalModelError) {
            let room = max(0, maximumTokens - (tokens.count - promptCount) - 1)
            guess = nil
            drafted = try following { follower throws(ConstraintError) in try follower?.forcedTokens() ?? [] }
            if drafted.isEmpty { drafted = draft?(tokens) ?? [] }
            drafted = Array(drafted.prefix(room))
            if drafted.isEmpty, mayDraft, let costOfRow { lookUp(costOfRow, room) }
            // What followed in the prompt may be a picture, which nobody samples.
            if let picture = drafted.firstIndex(where: { $0 < 0 }) { drafted.removeSubrange(picture...) }
        }

        private func following<Result>(
            _ body: (inout ConstraintFollower?) throws(ConstraintError) -> Result
        ) throws(LocalModelError) -> Result {
            do { return try body(&constraint) } catch { throw .constraintFailed(error.description) }
        }

        private func lookUp(_ costOfRow: Double, _ room: Int) {
            if lookup == nil {
                lookup = PromptLookup(expected: expected, prompt: Array(tokens.prefix(promptCount)))
            }
            lookup!.append(tokens[(promptCount + lookup!.answerCount)...])
            guess = lookup!.guess(DraftLength.most + 1)
            guard let guess else { return }
            let count = draftLength.count(match: guess.match, of: guess.tokens.count, costOfRow: costOfRow)
            drafted = Array(guess.tokens.prefix(min(count, room)))
        }

        /// Tells how far the prompt is, where that was asked for.
        func reportProgress() {
            guard reportsProgress, isPrefilling else { return }
            var piece = GenerationPiece(text: "", tokens: [])
            piece.progress = PromptProgress(
                total: promptCount, cached: cachedTokens ?? 0, processed: min(state.count, promptCount),
                seconds: (.now - started) / .seconds(1))
            continuation.yield(piece)
        }

        /// Samples the next token and sends its text.
        ///
        /// - Returns: Whether the generation has ended.
        private func append(_ logits: UnsafeBufferPointer<Float>) throws(LocalModelError) -> Bool {
            if firstToken == nil { firstToken = .now }
            guard let token = try nextToken(logits) else { return finish(.stop) }
            tokens.append(token)
            unsent.append(token)
            if let topLogprobs { unsentLogprobs.append(TokenLogprob(of: token, in: logits, top: topLogprobs)) }
            if tokenizer?.endOfGeneration.contains(token) == true || stopTokens.contains(token) { return finish(.stop) }
            let text = stopFilter.process(decoder?.decode(token) ?? "")
            if stopFilter.isStopped { return finish(.stop, text) }
            if tokens.count - promptCount >= maximumTokens { return finish(.length, text) }
            if !text.isEmpty || decoder == nil {
                send(text)
            }
            return false
        }

        /// - Returns: `nil` where the text is complete, nothing may follow, and no token of the vocabulary says so.
        private func nextToken(_ logits: UnsafeBufferPointer<Float>) throws(LocalModelError) -> Int32? {
            guard constraint != nil else { return sampler.next(logits) }
            let token = try following { follower throws(ConstraintError) in
                try sampler.next(logits, under: &follower!)
            }
            if let token { return token }
            let isComplete = try following { follower throws(ConstraintError) in try follower!.isComplete() }
            guard isComplete else {
                throw .constraintFailed("No token of the vocabulary continues the text as its constraint wants it.")
            }
            return nil
        }

        private func finish(_ reason: FinishReason, _ text: String = "") -> Bool {
            var text = text
            if !stopFilter.isStopped {
                text += stopFilter.process(decoder?.finish() ?? "")
                text += stopFilter.finish()
            }
            let usage = Usage(
                promptTokens: encoding?.input.count ?? promptCount, cachedTokens: cachedTokens ?? 0,
                completionTokens: tokens.count - promptCount, draftedTokens: draftedTokens,
                acceptedTokens: acceptedTokens,
                secondsToFirstToken: (firstToken! - started) / .seconds(1),
                decodeSeconds: (.now - firstToken!) / .seconds(1), samplingSeconds: samplingSeconds)
            // Text flushed at the very end may still have completed a stop string.
            let reason = stopFilter.isStopped ? .stop : reason
            send(text, finish: .init(reason: reason, usage: usage, stopString: stopFilter.stop))
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
