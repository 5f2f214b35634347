import Compute
import Constraint
import Platform
import Tokenizer

/// The text of a sequence: sampling under the request's constraint, decoding, stop strings, and the stream to the caller.
///
/// Sampling may run on a side thread; nothing else uses the answer meanwhile.
final class SequenceAnswer {
    let continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
    /// Whether a constraint limits the text, so that sampling may take long.
    let isConstrained: Bool

    private let tokenizer: TextTokenizer?
    private var sampler: Sampler
    private var constraint: ConstraintFollower?
    private let constraintName: String?
    /// Ends a constrained answer that only repeats itself; `nil` if the request limits its tokens.
    private var repetition: RepetitionDetector?
    /// For all work for the constraint. Tokens add to it: over a large vocabulary one takes a few milliseconds without any
    /// constraint.
    private let allowance = TimeAllowance()
    private static let secondsPerToken = 0.01
    private var decoder: StreamingDecoder?
    private var stopFilter: StopFilter
    private let stopTokens: Set<Int32>
    /// Tokens of text that is held back.
    private var unsent: [Int32] = []
    private var unsentLogprobs: [TokenLogprob] = []
    private let topLogprobs: Int?
    private let listsSampled: Bool
    private let reportsProgress: Bool
    private let started = ContinuousClock.now
    private var firstToken: ContinuousClock.Instant?

    /// Why an answer ends, and the text of its last token.
    struct End {
        let reason: FinishReason
        var text = ""
    }

    init(
        _ request: ModelThread.Request, _ tokenizer: TextTokenizer?,
        _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
    ) {
        let options = request.options
        self.continuation = continuation
        self.tokenizer = tokenizer
        constraintName = options.constraint?.name
        isConstrained = tokenizer != nil && options.constraint != nil
        sampler = Sampler(
            chain: request.chain, options: options, prompt: request.tokens.filter { $0 >= 0 }, tokenizer: tokenizer)
        decoder = tokenizer.map {
            StreamingDecoder($0, continuesText: options.continuesText, showing: options.shownTokens)
        }
        if let tokenizer, options.constraint != nil || options.thoughtLimit != nil {
            constraint = ConstraintFollower(options.constraint, limit: options.thoughtLimit, tokenizer)
        }
        if options.constraint != nil, options.maximumTokens == nil { repetition = RepetitionDetector() }
        stopFilter = StopFilter(options.stop)
        topLogprobs = options.topLogprobs
        listsSampled = options.listsSampled
        stopTokens = options.stopTokens
        reportsProgress = options.reportsProgress
    }

    /// The logits that the next choice depends on; `nil`: all of them.
    var wanted: BestOutputs? {
        let reports = topLogprobs != nil && !listsSampled
        return constraint == nil && !reports ? sampler.wanted : nil
    }

    /// Samples the next token and sends its text, except that of the last token.
    ///
    /// - Parameter isLast: Whether the answer's length is reached with it.
    /// - Returns: The token, `nil` if the constrained text is complete and the vocabulary has no token that ends it; and why
    ///   the answer ends, if it does.
    func next(_ logits: UnsafeBufferPointer<Float>, isLast: Bool) throws(LocalModelError) -> (
        token: Int32?, end: End?
    ) {
        if firstToken == nil { firstToken = .now }
        guard let token = try sample(logits) else { return (nil, End(reason: .stop)) }
        if isConstrained { allowance.extend(by: Self.secondsPerToken) }
        unsent.append(token)
        if let topLogprobs {
            unsentLogprobs.append(
                listsSampled
                    ? sampler.logprob(of: token, top: topLogprobs)
                    : TokenLogprob(of: token, in: logits, top: topLogprobs))
        }
        if tokenizer?.endOfGeneration.contains(token) == true || stopTokens.contains(token) {
            return (token, End(reason: .stop))
        }
        let text = stopFilter.process(decoder?.decode(token) ?? "")
        if stopFilter.isStopped { return (token, End(reason: .stop, text: text)) }
        if isLast { return (token, End(reason: .length, text: text)) }
        // Text that the constraint forces does not end early, even if it is a repetition.
        if repetition?.accept(token) == true,
            try following({ follower throws(ConstraintError) in try follower?.leavesChoice() ?? true })
        {
            return (token, End(reason: .length, text: text))
        }
        if !text.isEmpty || decoder == nil { send(text) }
        return (token, nil)
    }

    private func sample(_ logits: UnsafeBufferPointer<Float>) throws(LocalModelError) -> Int32? {
        guard constraint != nil else { return sampler.next(logits) }
        let token = try following { follower throws(ConstraintError) in
            try sampler.next(logits, under: &follower!)
        }
        if let token { return token }
        let isComplete = try following { follower throws(ConstraintError) in try follower!.isComplete() }
        guard isComplete else { throw constraintFailed("no token of the vocabulary continues the text") }
        return nil
    }

    /// Seconds to the first token, and since then.
    var seconds: (toFirstToken: Double, since: Double) {
        ((firstToken! - started) / .seconds(1), (.now - firstToken!) / .seconds(1))
    }

    /// Sends the last text and why the answer ends.
    func finish(_ end: End, _ usage: Usage) {
        var text = end.text
        if !stopFilter.isStopped {
            text += stopFilter.process(decoder?.finish() ?? "")
            text += stopFilter.finish()
        }
        // Text flushed at the end may still have completed a stop string.
        let reason = stopFilter.isStopped ? .stop : end.reason
        send(text, finish: .init(reason: reason, usage: usage, stopString: stopFilter.stop))
    }

    private func send(_ text: String, finish: GenerationPiece.Finish? = nil) {
        // Handed over, not shared: the reader's thread gets the only reference.
        continuation.yield(
            GenerationPiece(
                text: text, tokens: exchange(&unsent, with: []), logprobs: exchange(&unsentLogprobs, with: []),
                finish: finish))
    }

    /// Sends how far the prompt has been computed, if requested.
    func reportProgress(_ lengths: SequenceLengths, cached: Int) {
        guard reportsProgress, firstToken == nil else { return }
        var piece = GenerationPiece(text: "", tokens: [])
        piece.progress = PromptProgress(
            total: lengths.prompt, cached: cached, processed: min(lengths.computed, lengths.prompt),
            seconds: (.now - started) / .seconds(1))
        continuation.yield(piece)
    }

    // MARK: The constraint

    /// Tokens that the constraint forces to follow.
    func forcedTokens() throws(LocalModelError) -> [Int32] {
        try following { follower throws(ConstraintError) in try follower?.forcedTokens() ?? [] }
    }

    /// Whether the next choice is likely to need a mask that is not computed yet.
    var wantsMask: Bool { isConstrained && constraint?.wantsMask == true }

    func prepareMask() { allowance.run { constraint?.prepareMask() } }

    /// Samples within the time that the answer may take for its constraint.
    ///
    /// - Parameter sample: Returns whether the answer has ended.
    /// - Throws: `constraintFailed` if the time is over, unless the answer has ended.
    func limitingTime(_ sample: () throws(LocalModelError) -> Bool) throws(LocalModelError) -> Bool {
        try allowance.run { () throws(LocalModelError) in
            let isDone = try sample()
            guard !isDone, allowance.isOver else { return isDone }
            throw constraintFailed(allowance.error.description)
        }
    }

    /// Ends work for the constraint soon: nobody wants the answer any more.
    func abandon() { allowance.cancel() }

    private func following<Result>(
        _ body: (inout ConstraintFollower?) throws(ConstraintError) -> Result
    ) throws(LocalModelError) -> Result {
        do { return try body(&constraint) } catch { throw constraintFailed(error.description) }
    }

    private func constraintFailed(_ reason: String) -> LocalModelError {
        .constraintFailed("\(constraintName ?? "constraint"): \(reason)")
    }
}
