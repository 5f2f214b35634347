import Dialects

/// Turns the engine's pieces into the deltas of one choice.
package struct ChoiceReader: Sendable {
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
    private var choiceGuard: ChoiceGuard?
    /// Tokens whose text the guardrail holds back.
    private var heldTokens: [ListedToken] = []
    /// Whether every delta has the token counts and times so far.
    var reportsUsage = false
    private var isEmpty = false
    private let omitsReasoning: Bool
    private let began = ContinuousClock.now
    private var firstToken: ContinuousClock.Instant?
    private var tokenCount = 0
    private var progress: PromptProgress?

    /// A prompt's text, and its tokens if the client asked for probabilities.
    package struct Echo: Sendable {
        var content: String
        var tokens: [ListedToken] = []

        package init(content: String, tokens: [ListedToken] = []) { (self.content, self.tokens) = (content, tokens) }
    }

    /// - Parameters:
    ///   - prompt: `nil`: all text is content.
    ///   - list: Lists the tokens with their log probabilities.
    ///   - guardrail: Holds back text until it has passed it.
    package init(
        choice: Int, countsPrompt: Bool, echo: Echo? = nil, prompt: ConversationPrompt? = nil,
        tools: ToolOffer = .init(),
        list: TokenList? = nil, omitsReasoning: Bool = false, guardrail: (any Guardrail)? = nil
    ) {
        self.choice = choice
        self.countsPrompt = countsPrompt
        self.echo = echo
        self.omitsReasoning = omitsReasoning
        parser = prompt?.parser
        begun = prompt?.begun ?? []
        begunBytes = prompt?.beginning.utf8.count ?? 0
        calls = CallReader(tools)
        self.list = list
        choiceGuard = guardrail.map { ChoiceGuard($0) }
    }

    /// Makes the choice empty: what is generated for the prompt to be computed is dropped.
    mutating func dropsText() {
        isEmpty = true
        parser = nil
        begun = []
    }

    /// - Throws: If the guardrail refuses the generated text.
    package mutating func read(_ piece: GenerationPiece) throws(GuardrailViolation) -> ChoiceDelta {
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
        if let finish = piece.finish {
            delta.finish = .init(
                reason: finish.reason, usage: finish.usage, reasoningTokens: reasoningTokens,
                countsPrompt: countsPrompt,
                hasCalls: calls.count > 0, stopString: finish.stopString)
        }
        try hold(&delta)
        if let echo {
            delta.content = echo.content + delta.content
            delta.tokens = echo.tokens + delta.tokens
        }
        echo = nil
        if reportsUsage { delta.usage = usage(after: piece) }
        return delta
    }

    /// Replaces a delta's text by the text that the guardrail has passed.
    private mutating func hold(_ delta: inout ChoiceDelta) throws(GuardrailViolation) {
        guard choiceGuard != nil else { return }
        let content = delta.content
        try choiceGuard?.pass(&delta)
        heldTokens += delta.tokens
        delta.tokens = delta.content.utf8.count >= content.utf8.count ? heldTokens : []
        if !delta.tokens.isEmpty { heldTokens = [] }
    }

    /// The engine's measurements at the end; before that, measured here.
    private mutating func usage(after piece: GenerationPiece) -> Usage {
        let now = ContinuousClock.now
        let first = firstToken ?? now
        firstToken = first
        tokenCount += piece.tokens.count
        return piece.finish?.usage
            ?? Usage(
                promptTokens: progress?.total ?? 0, cachedTokens: progress?.cached ?? 0, completionTokens: tokenCount,
                secondsToFirstToken: (first - began) / .seconds(1), decodeSeconds: (now - first) / .seconds(1))
    }

    /// The whole choice if no token is to be generated.
    func wholeEcho(promptTokens: Int) -> ChoiceDelta {
        let usage = Usage(promptTokens: promptTokens, completionTokens: 0, secondsToFirstToken: 0, decodeSeconds: 0)
        var whole = ChoiceDelta(
            choice: choice, finish: .init(reason: .length, usage: usage, countsPrompt: countsPrompt))
        whole.content = echo?.content ?? ""
        whole.tokens = echo?.tokens ?? []
        return whole
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
