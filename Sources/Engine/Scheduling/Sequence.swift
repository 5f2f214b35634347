import Networks
import Compute
import Constraint
import KernelFormats
import Platform
import Tokenizer

extension ModelThread {
    /// A running request: its tokens, its state in the model, and the stream to its caller.
    final class Sequence {
        private(set) var state: SequenceState {
            didSet { (state.encoding, state.images) = (encoding, images) }
        }
        /// Input of the encoder in an encoder-decoder. Pages depend on it, so they are not shared.
        private let encoding: SequenceEncoding?
        let adapters: AdapterSelection
        private let images: SequenceImages?
        private let memory: StateMemory
        let continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
        /// The prompt, then the sampled tokens.
        private(set) var tokens: [Int32]

        /// Tokens that may follow `tokens`: the next step computes them too; rejected ones are rolled back.
        private var drafted: [Int32] = []
        private let draft: (@Sendable ([Int32]) -> [Int32])?
        /// Finds drafts; `nil` if none are wanted, or before the first search.
        private var lookup: PromptLookup?
        private let expected: [Int32]
        private let mayDraft: Bool
        /// The current guess. Its first tokens are drafted, as many as pay.
        private var guess: PromptLookup.Guess?
        private var draftLength = DraftLength.ofMatches
        private let drafter: Drafter?
        /// The drafter's part; `nil` without a drafter, and for requests that it does not serve.
        private(set) var drafting: DraftProgress?
        /// The drafter's proposal with the kinds of its tokens. Its first tokens are drafted.
        private var proposal: (tokens: [Int32], kinds: [Int])?
        /// Pages of `path` that have the drafter's pages too.
        private var sharedDraftPages = 0
        private var draftedTokens = 0
        private var acceptedTokens = 0
        /// Processor seconds of sampling, masks and drafts: of the generation, and of the current step.
        private var samplingSeconds = 0.0
        private var stepSeconds = 0.0

        /// Nodes of the prefix cache whose pages `state` began with or shares.
        private var path: [PrefixCache.Node] = []
        /// Prompt lengths, in whole pages, at which to store checkpoints for later sequences.
        private var checkpointLengths: Set<Int> = []
        /// The node of the answer with a checkpoint, which moves on to later pages of the answer.
        private weak var answerCheckpoint: PrefixCache.Node?
        /// Tokens of the prompt found in the prefix cache.
        private var cachedTokens: Int?
        /// Whether the text must not depend on the contents of the prefix cache.
        private let isRepeatable: Bool
        private let cacheSalt: String?

        private let tokenizer: TextTokenizer?
        private let promptCount: Int
        private let maximumTokens: Int
        private var sampler: Sampler
        /// A side thread may be computing its mask, so the engine's thread reads it only while `side` is idle.
        private var constraint: ConstraintFollower?
        /// Whether a constraint limits the text, so that sampling may take long.
        let isConstrained: Bool
        /// Ends a constrained answer that only repeats itself; `nil` if the request limits its tokens.
        private var repetition: RepetitionDetector?
        private let constraintName: String?
        /// Work beside the engine's thread.
        let side: SideThreads.Queue
        /// Whether sampling beside the last step was not ready in time.
        var wasLate = false
        /// Processor seconds of sampling beside the last step.
        private(set) var secondsBeside = 0.0
        /// For all work for the constraint. Tokens add to it: over a large vocabulary one takes a few milliseconds without any
        /// constraint.
        private let allowance = TimeAllowance()
        private static let secondsPerToken = 0.01
        /// The logits for sampling beside the next steps.
        private var logits: [Float] = []
        private var decoder: StreamingDecoder?
        private var stopFilter: StopFilter
        /// Tokens of text that is held back.
        private var unsent: [Int32] = []
        private var unsentLogprobs: [TokenLogprob] = []
        private let topLogprobs: Int?
        private let listsSampled: Bool
        private let stopTokens: Set<Int32>
        private let reportsProgress: Bool
        private let started = ContinuousClock.now
        private var firstToken: ContinuousClock.Instant?

        init(
            _ request: Request, _ network: any Network, _ memory: StateMemory, _ tokenizer: TextTokenizer?,
            _ drafter: Drafter?, _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation,
            side: SideThreads.Queue
        ) {
            self.side = side
            constraintName = request.options.constraint?.name
            isConstrained = tokenizer != nil && request.options.constraint != nil
            self.memory = memory
            encoding = request.encoding.map { SequenceEncoding($0) }
            adapters = request.adapters
            images = request.images
            state = network.makeState(in: memory, encoding: encoding, images: images)
            // A drafter sees neither images nor an encoder's input.
            self.drafter = request.options.drafts && images == nil && encoding == nil ? drafter : nil
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
            if request.options.constraint != nil, request.options.maximumTokens == nil {
                repetition = RepetitionDetector()
            }
            stopFilter = StopFilter(request.options.stop)
            topLogprobs = request.options.topLogprobs
            listsSampled = request.options.listsSampled
            stopTokens = request.options.stopTokens
            reportsProgress = request.options.reportsProgress
        }

        /// Whether no token has been sampled yet.
        var isPrefilling: Bool { firstToken == nil }

        /// Tokens of the whole pages that both prompts begin with.
        func sharedPrompt(with other: Sequence) -> Int {
            guard adapters == other.adapters, cacheSalt == other.cacheSalt else { return 0 }
            let most = min(promptCount, other.promptCount) - 1
            let count = (0..<most).first { tokens[$0] != other.tokens[$0] } ?? most
            return count / pageTokens * pageTokens
        }

        /// Distances of checkpoints from the end of a prompt, in pages. A conversation's next turn repeats the prompt
        /// except for the last few tokens, where the template asks for the answer; a prompt that diverges earlier
        /// recomputes at most eight times the tokens after the divergence.
        private static let checkpointDistances = [0, 2, 16, 128]

        /// Maximum checkpoints at the ends of a prompt's images; a tile is an image of its own here.
        private static let imageCheckpoints = 4

        /// Begins with the longest cached prefix of the prompt.
        ///
        /// - Returns: Tokens of that prefix. It never includes the last token of the prompt, whose logits are needed.
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
                // The next prompt that gets here is likely to diverge here too.
                checkpointLengths.insert(path.count * pageTokens)
                // So is one that asks something else about the same images.
                for image in images?.images.suffix(Self.imageCheckpoints) ?? [] {
                    checkpointLengths.insert(image.tokens.upperBound / pageTokens * pageTokens)
                }
                path.removeLast(path.count - ((path.lastIndex { $0.checkpoint != nil } ?? -1) + 1))
            }
            state = SequenceState(
                state.shape, in: memory, beginning: path.map(\.pages), checkpoint: path.last?.checkpoint)
            if isPrefilling { cachedTokens = state.count }
            let pages = path.prefix { $0.draftPages != nil }.compactMap(\.draftPages)
            drafting = drafter?.makeProgress(beginning: pages, in: memory)
            sharedDraftPages = (drafting?.state.count ?? 0) / pageTokens
            return state.count
        }

        /// Discards everything but the tokens, when the sequence is preempted.
        func forget() {
            state = SequenceState(state.shape, in: memory)
            path = []
            drafted = []
            drafting = nil
        }

        /// Requests a checkpoint for another sequence at this length of the prompt, a multiple of the page size.
        func wantCheckpoint(at length: Int) { checkpointLengths.insert(length) }

        /// Where a prefill chunk of this range has to end. With recurrent layers it ends at a page border, which makes
        /// results independent of the chunks, and at checkpoint lengths, which cannot be stored afterwards.
        func pieceEnd(_ range: Range<Int>) -> Int {
            guard state.shape.recurrentFloats > 0 else { return images?.pieceEnd(range) ?? range.upperBound }
            let border = (range.upperBound + pageTokens - 1) / pageTokens * pageTokens
            return checkpointLengths.reduce(min(border, promptCount)) { $1 > range.lowerBound ? min($0, $1) : $0 }
        }

        /// The tokens of a range. If it includes drafted ones, stores a checkpoint before them, for roll-back.
        func enter(_ range: Range<Int>) -> ArraySlice<Int32> {
            guard range.upperBound > tokens.count else { return tokens[range] }
            state.checkpoint()
            return (tokens + drafted)[range]
        }

        /// Adds the pages that were filled since the last call to the prefix cache.
        func share(with prefixes: inout PrefixCache) {
            while encoding == nil, (path.count + 1) * pageTokens <= state.count {
                let index = path.count
                let range = index * pageTokens..<(index + 1) * pageTokens
                let node = prefixes.insert(
                    state.sharedPages(index), of: tokens[range],
                    after: path.last ?? prefixes.root(adapters, salt: cacheSalt),
                    isPrompt: range.upperBound <= promptCount)
                // Another sequence may have added this page first: keep one copy.
                state.replacePages(index, by: node.pages)
                path.append(node)
                addCheckpoint(to: node, at: range.upperBound)
            }
            shareDraftPages()
        }

        /// Adds the pages of the drafter's state to the prefix cache, without those of drafted tokens.
        private func shareDraftPages() {
            guard let drafting, !drafting.state.shape.needsCheckpoints else { return }
            while sharedDraftPages < path.count, (sharedDraftPages + 1) * pageTokens <= drafting.knownTokens {
                let node = path[sharedDraftPages]
                let pages = node.draftPages ?? drafting.state.sharedPages(sharedDraftPages)
                node.draftPages = pages
                drafting.state.replacePages(sharedDraftPages, by: pages)
                sharedDraftPages += 1
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

        /// Ends work on side threads soon: the generation has ended.
        func abandon() { allowance.cancel() }

        /// Begins to compute the mask of the next choice on a side thread, if that is likely to need it.
        func beginMask() {
            // Busy if the mask was begun for an earlier step, which was abandoned.
            guard isConstrained, !side.isBusy, constraint?.wantsMask == true else { return }
            let this = Unowned(sequence: self)
            side.add {
                let sequence = this.sequence
                let began = ThreadTime.seconds
                sequence.allowance.run { sequence.constraint?.prepareMask() }
                sequence.stepSeconds += ThreadTime.seconds - began
            }
        }

        /// Does what `sample` does on a side thread. Until it calls `report`, nothing else may use the sequence.
        ///
        /// - Parameter logits: Copied; `nil`: they are not finite, which is the `failure`.
        func sampleBeside(
            _ logits: Matrix?, _ failure: LocalModelError, room: DraftRoom?, cost: StepCost,
            report: @escaping @Sendable (Result<Outcome, LocalModelError>) -> Void
        ) {
            // After the mask that may be under way, which still uses the sequence.
            guard let logits else { return side.add { report(.failure(failure)) } }
            self.logits.removeAll(keepingCapacity: true)
            for row in 0..<logits.rows {
                self.logits.append(contentsOf: UnsafeBufferPointer(start: logits[row], count: logits.columns))
            }
            let (this, rows, columns) = (Unowned(sequence: self), logits.rows, logits.columns)
            side.add {
                let sequence = this.sequence
                let began = ThreadTime.seconds
                var copy = exchange(&sequence.logits, with: [])
                let outcome = copy.withUnsafeMutableBufferPointer { buffer in
                    let logits = Matrix(buffer.baseAddress!, rows: rows, columns: columns)
                    return Result { () throws(LocalModelError) in
                        try sequence.allowance.run { () throws(LocalModelError) in
                            let outcome = try sequence.sample(logits, room: room, cost: cost)
                            guard !outcome.isDone, sequence.allowance.isOver else { return outcome }
                            throw sequence.constraintFailed(sequence.allowance.error.description)
                        }
                    }
                }
                sequence.logits = copy
                sequence.secondsBeside = ThreadTime.seconds - began
                report(outcome)
            }
        }

        /// A reference for side threads, which must not be the last to release a sequence: its pages are counted by the
        /// engine's thread, which keeps the sequence while they work.
        private struct Unowned: @unchecked Sendable {
            unowned(unsafe) let sequence: Sequence
        }

        private func constraintFailed(_ reason: String) -> LocalModelError {
            .constraintFailed("\(constraintName ?? "constraint"): \(reason)")
        }

        /// What a sequence did with the logits of a step.
        struct Outcome {
            /// Whether the generation has ended.
            var isDone: Bool
            /// Number of tokens that were sampled.
            var sampled = 0
        }

        /// Samples tokens as long as they equal the drafted ones, and one more; sends their text; drafts tokens for the
        /// next step. Runs beside other sequences' sampling: touches nothing that they share.
        ///
        /// - Parameters:
        ///   - logits: Logits after the last token, and after each drafted one.
        ///   - room: Room for drafted tokens in the next step; `nil`: none.
        ///   - cost: Times of steps.
        /// - Throws: `constraintFailed`.
        func sample(_ logits: Matrix, room: DraftRoom?, cost: StepCost) throws(LocalModelError) -> Outcome {
            let (began, known) = (ThreadTime.seconds, tokens.count)
            defer { stepSeconds += ThreadTime.seconds - began }
            draftedTokens += logits.rows - 1
            var (guessHolds, proposalHolds) = (true, true)
            for row in 0..<logits.rows {
                let isDone = try append(UnsafeBufferPointer(start: logits[row], count: logits.columns))
                if let guess, guessHolds, row < guess.tokens.count {
                    guessHolds = tokens.last == guess.tokens[row]
                    draftLength.learn(kind: DraftLength.kind(match: guess.match + row), isRight: guessHolds)
                }
                if let proposal, proposalHolds, row < proposal.tokens.count {
                    proposalHolds = tokens.last == proposal.tokens[row]
                    drafting?.length.learn(kind: proposal.kinds[row], isRight: proposalHolds)
                }
                if isDone { return Outcome(isDone: true) }
                guard row < drafted.count, tokens.last == drafted[row] else { break }
                acceptedTokens += 1
            }
            try draftNext(room, cost)
            return Outcome(isDone: false, sampled: tokens.count - known)
        }

        /// Number of tokens drafted for the next step.
        var draftedCount: Int { drafted.count }

        /// Maximum tokens to draft: the step samples one more.
        var draftLimit: Int { max(0, maximumTokens - (tokens.count - promptCount) - 1) }

        /// Drafts the first `count` of the drafter's tokens; all of them teach it how often they are right.
        func propose(_ tokens: [Int32], kinds: [Int], count: Int) {
            proposal = (tokens, kinds)
            drafted = Array(tokens.prefix(count))
        }

        /// Rolls back the drafted tokens that were not sampled.
        func rollBackRejected() { state.rollBack(to: tokens.count - 1) }

        /// Processor seconds that sampling and the mask took in this step.
        func takeStepSeconds() -> Double {
            samplingSeconds += stepSeconds
            return exchange(&stepSeconds, with: 0)
        }

        /// Drafts tokens for the next step: tokens that the constraint forces, else the request's own drafts.
        private func draftNext(_ room: DraftRoom?, _ cost: StepCost) throws(LocalModelError) {
            let most = draftLimit
            (guess, proposal) = (nil, nil)
            drafted = try following { follower throws(ConstraintError) in try follower?.forcedTokens() ?? [] }
            if drafted.isEmpty { drafted = draft?(tokens) ?? [] }
            drafted = Array(drafted.prefix(most))
            if drafted.isEmpty, mayDraft, let room { lookUp(room, cost, most) }
            // Negative IDs are rows of images, which are never sampled.
            if let image = drafted.firstIndex(where: { $0 < 0 }) { drafted.removeSubrange(image...) }
        }

        private func following<Result>(
            _ body: (inout ConstraintFollower?) throws(ConstraintError) -> Result
        ) throws(LocalModelError) -> Result {
            do { return try body(&constraint) } catch { throw constraintFailed(error.description) }
        }

        private func lookUp(_ room: DraftRoom, _ cost: StepCost, _ most: Int) {
            if lookup == nil {
                lookup = PromptLookup(expected: expected, prompt: Array(tokens.prefix(promptCount)))
            }
            lookup!.append(tokens[(promptCount + lookup!.answerCount)...])
            guess = lookup!.guess(DraftLength.most + 1)
            guard let guess else { return }
            let count = draftLength.count(
                kinds: guess.tokens.indices.map { DraftLength.kind(match: guess.match + $0) }, room: room, cost: cost,
                recomputes: state.shape.recurrentFloats > 0)
            drafted = Array(guess.tokens.prefix(min(count, most)))
        }

        /// Sends the progress of prefill, if requested.
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
            if isConstrained { allowance.extend(by: Self.secondsPerToken) }
            unsent.append(token)
            if let topLogprobs {
                unsentLogprobs.append(
                    listsSampled
                        ? sampler.logprob(of: token, top: topLogprobs)
                        : TokenLogprob(of: token, in: logits, top: topLogprobs))
            }
            if tokenizer?.endOfGeneration.contains(token) == true || stopTokens.contains(token) { return finish(.stop) }
            let text = stopFilter.process(decoder?.decode(token) ?? "")
            if stopFilter.isStopped { return finish(.stop, text) }
            if tokens.count - promptCount >= maximumTokens { return finish(.length, text) }
            // Text that the constraint forces does not end early, even if it is a repetition.
            if repetition?.accept(token) == true,
                try following({ follower throws(ConstraintError) in try follower?.leavesChoice() ?? true })
            {
                return finish(.length, text)
            }
            if !text.isEmpty || decoder == nil {
                send(text)
            }
            return false
        }

        /// - Returns: `nil` if the constrained text is complete and the vocabulary has no token that ends it.
        private func nextToken(_ logits: UnsafeBufferPointer<Float>) throws(LocalModelError) -> Int32? {
            guard constraint != nil else { return sampler.next(logits) }
            let token = try following { follower throws(ConstraintError) in
                try sampler.next(logits, under: &follower!)
            }
            if let token { return token }
            let isComplete = try following { follower throws(ConstraintError) in try follower!.isComplete() }
            guard isComplete else {
                throw constraintFailed("no token of the vocabulary continues the text")
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
                decodeSeconds: (.now - firstToken!) / .seconds(1), samplingSeconds: samplingSeconds + stepSeconds)
            // Text flushed at the end may still have completed a stop string.
            let reason = stopFilter.isStopped ? .stop : reason
            send(text, finish: .init(reason: reason, usage: usage, stopString: stopFilter.stop))
            return true
        }

        private func send(_ text: String, finish: GenerationPiece.Finish? = nil) {
            // Handed over, not shared: the reader's thread gets the only reference.
            continuation.yield(
                GenerationPiece(
                    text: text, tokens: exchange(&unsent, with: []), logprobs: exchange(&unsentLogprobs, with: []),
                    finish: finish))
        }
    }
}
