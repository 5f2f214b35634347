import Dialects
import LocalLLM
import Wire

/// An increment of one choice. The sum of all deltas is the whole choice.
struct ChoiceDelta: Sendable, Equatable {
    struct Finish: Sendable, Equatable {
        var reason: FinishReason
        var usage: TokenUsage
        /// Whether the choice has tool calls.
        var hasCalls = false
        /// The stop string that ended the choice, if any.
        var stopString: String?
    }

    var choice: Int
    var reasoning = ""
    var content = ""
    var calls: [CallDelta] = []
    /// Empty unless the client asked for probabilities.
    var tokens: [ListedToken] = []
    /// Set in the last delta only.
    var finish: Finish?
    /// `nil` unless requested. A sum has the last one.
    var timings: Timings?
    /// `nil` unless requested. A delta with progress has no other content.
    var progress: PromptProgress?
    /// Ids of the sampled tokens.
    var ids: [Int32] = []

    static func += (whole: inout Self, delta: Self) {
        whole.reasoning += delta.reasoning
        whole.content += delta.content
        for call in delta.calls { whole.calls += call }
        whole.tokens += delta.tokens
        whole.finish = delta.finish
        whole.timings = delta.timings ?? whole.timings
        whole.ids += delta.ids
    }
}

/// Turns the engine's pieces into the deltas of one choice.
struct ChoiceReader: Sendable {
    let choice: Int
    /// Whether this choice reports the prompt's tokens: true for the first choice of a prompt.
    let countsPrompt: Bool
    /// The prompt, if the client requested it before the generated text.
    private var echo: Echo?
    /// `nil` if all text is content.
    private var parser: AnswerParser?
    /// `nil` unless the client asked for probabilities.
    private var list: TokenList?
    private var reasoningTokens = 0
    private var calls: CallReader
    /// The parsed forced beginning until it is sent, and its length in bytes.
    private var begun: [AnswerDelta]
    private let begunBytes: Int
    private var contentGuard: AnswerGuard?
    private var reasoningGuard: AnswerGuard?
    /// Tokens whose text the guardrail holds back.
    private var heldTokens: [ListedToken] = []
    private let wantsTimings: Bool
    /// Whether the choice is empty: the engine generates one token for the prompt to be computed, which is dropped.
    private let isEmpty: Bool
    private let omitsReasoning: Bool
    private let began = ContinuousClock.now
    private var firstToken: ContinuousClock.Instant?
    private var tokenCount = 0
    private var progress: PromptProgress?

    /// A prompt's text, and its tokens if the client asked for probabilities.
    struct Echo: Sendable {
        var content: String
        var tokens: [ListedToken] = []
    }

    init(
        choice: Int, countsPrompt: Bool, echo: Echo? = nil, prompt: ChatPrompt? = nil, tools: OfferedTools? = nil,
        list: TokenList? = nil, wantsTimings: Bool = false, isEmpty: Bool = false,
        omitsReasoning: Bool = false, guardrail: (any Guardrail)? = nil
    ) {
        self.choice = choice
        self.countsPrompt = countsPrompt
        self.echo = echo
        self.isEmpty = isEmpty
        self.omitsReasoning = omitsReasoning
        parser = isEmpty ? nil : prompt?.parser
        begun = isEmpty ? [] : prompt?.begun ?? []
        begunBytes = prompt?.begunBytes ?? 0
        calls = CallReader(tools)
        self.list = list
        self.wantsTimings = wantsTimings
        contentGuard = guardrail.map { AnswerGuard($0) }
        reasoningGuard = guardrail.map { AnswerGuard($0) }
    }

    /// - Throws: `APIError` if the guardrail refuses the generated text.
    mutating func read(_ piece: GenerationPiece) throws(APIError) -> ChoiceDelta {
        let piece = isEmpty ? piece.withoutTokens : piece
        var delta = ChoiceDelta(choice: choice)
        if let progress = piece.progress {
            self.progress = progress
            delta.progress = progress
            return delta
        }
        delta.ids = piece.tokens
        var contentStart: Int? = 0
        if var parser {
            for part in begun + parser.read(piece.text) + (piece.finish == nil ? [] : parser.finish()) {
                switch part {
                case .reasoning(let text): if !omitsReasoning { delta.reasoning += text }
                case .content(let text): delta.content += text
                case .call, .arguments, .callEnd:
                    if let call = calls.read(part) { delta.calls.append(call) }
                }
            }
            begun = []
            contentStart = parser.contentStart.map { $0 - begunBytes }
            if parser.isReasoning { reasoningTokens += piece.tokens.count }
            self.parser = parser
        } else {
            delta.content += piece.text
        }
        delta.tokens += list?.read(piece, contentStart: contentStart) ?? []
        try hold(&delta, isLast: piece.finish != nil)
        if let echo {
            delta.content = echo.content + delta.content
            delta.tokens = echo.tokens + delta.tokens
        }
        echo = nil
        if let finish = piece.finish {
            let usage = TokenUsage(finish.usage, reasoningTokens: reasoningTokens, countsPrompt: countsPrompt)
            delta.finish = .init(
                reason: finish.reason, usage: usage, hasCalls: calls.count > 0, stopString: finish.stopString)
        }
        if wantsTimings { delta.timings = timings(piece) }
        return delta
    }

    /// Replaces a delta's text by the text that the guardrail has passed.
    private mutating func hold(_ delta: inout ChoiceDelta, isLast: Bool) throws(APIError) {
        guard contentGuard != nil else { return }
        let content = delta.content
        do {
            delta.reasoning = try reasoningGuard?.pass(delta.reasoning, isLast: isLast) ?? ""
            delta.content = try contentGuard?.pass(content, isLast: isLast) ?? ""
        } catch {
            throw .contentFiltered(error.message)
        }
        heldTokens += delta.tokens
        delta.tokens = delta.content.utf8.count >= content.utf8.count ? heldTokens : []
        if !delta.tokens.isEmpty { heldTokens = [] }
    }

    /// The engine's measurements at the end; before that, measured here.
    private mutating func timings(_ piece: GenerationPiece) -> Timings {
        let now = ContinuousClock.now
        let first = firstToken ?? now
        firstToken = first
        tokenCount += piece.tokens.count
        guard let usage = piece.finish?.usage else {
            return Timings(
                promptTokens: progress?.total ?? 0, cachedTokens: progress?.cached ?? 0,
                promptSeconds: (first - began) / .seconds(1), tokens: tokenCount, seconds: (now - first) / .seconds(1))
        }
        return Timings(
            promptTokens: usage.promptTokens, cachedTokens: usage.cachedTokens,
            promptSeconds: usage.secondsToFirstToken, tokens: usage.completionTokens, seconds: usage.decodeSeconds,
            drafted: usage.draftedTokens, accepted: usage.acceptedTokens)
    }

    /// The whole choice if no token is to be generated.
    func wholeEcho(promptTokens: Int) -> ChoiceDelta {
        ChoiceDelta(
            choice: choice, content: echo?.content ?? "", tokens: echo?.tokens ?? [],
            finish: .init(reason: .length, usage: TokenUsage(promptTokens: countsPrompt ? promptTokens : 0)))
    }
}

extension GenerationPiece {
    /// The piece of an answer that has reached its limit of 0 tokens.
    fileprivate var withoutTokens: Self {
        var piece = self
        (piece.text, piece.tokens, piece.logprobs) = ("", [], [])
        piece.finish?.reason = .length
        piece.finish?.stopString = nil
        piece.finish?.usage.completionTokens = 0
        return piece
    }
}

extension PromptProgressFields {
    init(_ progress: PromptProgress) {
        self.init(
            total: progress.total, cache: progress.cached, processed: progress.processed,
            timeMS: Int(progress.seconds * 1000))
    }
}
