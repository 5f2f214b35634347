import Networks
import Compute
import KernelFormats
import Platform
import Tokenizer

extension ModelThread {
    /// A running request: its tokens, what the model has computed of them, drafts of the next ones, and the answer.
    final class Sequence {
        /// The prompt, then the sampled tokens.
        private(set) var tokens: [Int32]
        let progress: SequenceProgress
        let drafts: SequenceDrafts
        let answer: SequenceAnswer
        /// Work beside the engine's thread.
        let side: SideQueue
        /// The slot that the sequence's text belongs to; `nil`: none.
        let slot: Int?
        /// Whether sampling beside the last step was not ready in time.
        var wasLate = false
        /// Processor seconds of sampling beside the last step.
        private(set) var secondsBeside = 0.0

        private let memory: StateMemory
        private let promptCount: Int
        private let maximumTokens: Int
        /// Processor seconds of sampling, masks and drafts: of the generation, and of the current step.
        private var samplingSeconds = 0.0
        private var stepSeconds = 0.0
        /// The logits for sampling beside the next steps.
        private var logits: [Float] = []

        init(
            _ request: Request, _ network: any Network, _ memory: StateMemory, _ tokenizer: TextTokenizer?,
            _ drafter: Drafter?, _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation,
            side: SideQueue
        ) {
            tokens = request.tokens
            promptCount = request.tokens.count
            maximumTokens = request.maximumTokens
            progress = SequenceProgress(request, network, memory)
            drafts = SequenceDrafts(request, drafter)
            answer = SequenceAnswer(request, tokenizer, continuation)
            self.memory = memory
            self.side = side
            slot = request.encoding == nil && request.options.cacheSalt == nil ? request.slot : nil
        }

        var text: Slots.Text {
            Slots.Text(tokens: tokens, promptTokens: promptCount, adapters: progress.adapters)
        }

        var lengths: SequenceLengths {
            SequenceLengths(
                prompt: promptCount, known: tokens.count, computed: progress.state.count, drafted: drafts.tokens.count)
        }

        /// Whether no token has been sampled yet.
        var isPrefilling: Bool { tokens.count == promptCount }

        /// Maximum tokens to draft: the step samples one more.
        var draftLimit: Int { max(0, maximumTokens - (tokens.count - promptCount) - 1) }

        /// Tokens of the whole pages that both prompts begin with.
        func sharedPrompt(with other: Sequence) -> Int {
            guard progress.canShare(with: other.progress) else { return 0 }
            let most = min(promptCount, other.promptCount) - 1
            let count = (0..<most).first { tokens[$0] != other.tokens[$0] } ?? most
            return count / pageTokens * pageTokens
        }

        /// Begins with the longest cached prefix of the prompt.
        func start(from prefixes: inout PrefixCache) {
            progress.start(tokens[..<promptCount], from: &prefixes)
            drafts.start(from: progress.path, in: memory)
        }

        /// Discards everything but the tokens, when the sequence is preempted.
        func forget() {
            progress.forget()
            drafts.forget()
        }

        /// The tokens of a range. If it includes drafted ones, stores a checkpoint before them, for roll-back.
        func enter(_ range: Range<Int>) -> ArraySlice<Int32> {
            guard range.upperBound > tokens.count else { return tokens[range] }
            progress.state.checkpoint()
            return (tokens + drafts.tokens)[range]
        }

        /// Rolls back the drafted tokens that were not sampled.
        func rollBackRejected() { progress.state.rollBack(to: tokens.count - 1) }

        /// Adds the pages that were filled since the last call to the prefix cache.
        ///
        /// - Returns: Whether there were any.
        func share(with prefixes: inout PrefixCache) -> Bool {
            let isLonger = progress.share(tokens, with: &prefixes)
            drafts.share(with: progress.path)
            return isLonger
        }

        /// Samples tokens as long as they equal the drafted ones, and one more; sends their text; drafts tokens for the
        /// next step. Runs beside other sequences' sampling: touches nothing that they share.
        ///
        /// - Parameters:
        ///   - logits: Logits after the last token, and after each drafted one.
        ///   - room: Room for drafted tokens in the next step; `nil`: none.
        ///   - cost: Times of steps.
        /// - Returns: Whether the answer has ended.
        /// - Throws: `constraintFailed`.
        func sample(_ logits: Matrix, room: DraftRoom?, cost: StepCost) throws(LocalModelError) -> Bool {
            let (began, known) = (ThreadTime.seconds, tokens.count)
            defer { stepSeconds += ThreadTime.seconds - began }
            var end: SequenceAnswer.End?
            for row in 0..<logits.rows {
                let next = try answer.next(
                    UnsafeBufferPointer(start: logits[row], count: logits.columns),
                    isLast: tokens.count + 1 - promptCount >= maximumTokens)
                if let token = next.token { tokens.append(token) }
                end = next.end
                guard end == nil, row < drafts.tokens.count, next.token == drafts.tokens[row] else { break }
            }
            drafts.learn(tokens[known...], rows: logits.rows)
            if let end {
                answer.finish(end, usage(stepSeconds: stepSeconds + ThreadTime.seconds - began))
                return true
            }
            drafts.prepare(
                after: tokens, forced: try answer.forcedTokens(), most: draftLimit, room: room, cost: cost,
                recomputes: progress.state.shape.recurrentFloats > 0)
            return false
        }

        private func usage(stepSeconds: Double) -> Usage {
            let seconds = answer.seconds
            return Usage(
                promptTokens: progress.encoding?.input.count ?? promptCount, cachedTokens: progress.cachedTokens ?? 0,
                completionTokens: tokens.count - promptCount, draftedTokens: drafts.counts.drafted,
                acceptedTokens: drafts.counts.accepted, secondsToFirstToken: seconds.toFirstToken,
                decodeSeconds: seconds.since, samplingSeconds: samplingSeconds + stepSeconds)
        }

        /// Processor seconds that sampling and the mask took in this step.
        func takeStepSeconds() -> Double {
            samplingSeconds += stepSeconds
            return exchange(&stepSeconds, with: 0)
        }

        // MARK: Beside the engine's thread

        /// Begins to compute the mask of the next choice on a side thread, if that is likely to need it.
        func beginMask() {
            // Busy if the mask was begun for an earlier step, which was abandoned.
            guard !side.isBusy, answer.wantsMask else { return }
            let this = Unowned(sequence: self)
            side.add {
                let sequence = this.sequence
                let began = ThreadTime.seconds
                sequence.answer.prepareMask()
                sequence.stepSeconds += ThreadTime.seconds - began
            }
        }

        /// Does what `sample` does on a side thread. Until it calls `report`, nothing else may use the sequence.
        ///
        /// - Parameter logits: Copied; `nil`: they are not finite, which is the `failure`.
        func sampleBeside(
            _ logits: Matrix?, _ failure: LocalModelError, room: DraftRoom?, cost: StepCost,
            report: @escaping @Sendable (Result<Bool, LocalModelError>) -> Void
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
                        try sequence.answer.limitingTime { () throws(LocalModelError) in
                            try sequence.sample(logits, room: room, cost: cost)
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
    }
}
