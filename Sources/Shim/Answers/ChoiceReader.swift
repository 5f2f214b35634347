import Dialects
import LocalLLM
import Wire

/// What is new of one choice; added up, the whole choice.
struct ChoiceDelta: Sendable, Equatable {
    struct Finish: Sendable, Equatable {
        var reason: FinishReason
        var usage: TokenUsage
        /// Whether there were calls.
        var hasCalls = false
        /// The stop string that ended it, if one did.
        var stop: String?
    }

    var choice: Int
    var reasoning = ""
    var content = ""
    var calls: [CallDelta] = []
    /// Empty unless the client asked for probabilities.
    var tokens: [ListedToken] = []
    /// Set in the last one, and only there.
    var finish: Finish?

    static func += (whole: inout Self, delta: Self) {
        whole.reasoning += delta.reasoning
        whole.content += delta.content
        for call in delta.calls { whole.calls += call }
        whole.tokens += delta.tokens
        whole.finish = delta.finish
    }
}

/// Makes the deltas of one choice from what the engine generates.
struct ChoiceReader: Sendable {
    let choice: Int
    /// Whether this is the first choice of its prompt, the one that the prompt's cost counts for.
    let countsPrompt: Bool
    /// Comes before anything generated: the prompt, where the client wants it back.
    private var echo: Echo?
    /// `nil` where all of the text is content.
    private var parser: AnswerParser?
    /// `nil` unless the client asked for probabilities.
    private var list: TokenList?
    private var reasoningTokens = 0
    private var calls: CallReader
    /// What the answer was made to begin with, until it is told; and its length in bytes.
    private var begun: [AnswerDelta]
    private let begunBytes: Int

    /// A prompt's text, and its tokens where the client asked for probabilities.
    struct Echo: Sendable {
        var content: String
        var tokens: [ListedToken] = []
    }

    init(
        choice: Int, countsPrompt: Bool, echo: Echo? = nil, prompt: ChatPrompt? = nil, tools: OfferedTools? = nil,
        list: TokenList? = nil
    ) {
        self.choice = choice
        self.countsPrompt = countsPrompt
        self.echo = echo
        parser = prompt?.parser
        begun = prompt?.begun ?? []
        begunBytes = prompt?.begunBytes ?? 0
        calls = CallReader(tools)
        self.list = list
    }

    mutating func read(_ piece: GenerationPiece) -> ChoiceDelta {
        var delta = ChoiceDelta(choice: choice)
        if let echo {
            delta.content = echo.content
            delta.tokens = echo.tokens
        }
        echo = nil
        var contentStart: Int? = 0
        if var parser {
            for part in begun + parser.read(piece.text) + (piece.finish == nil ? [] : parser.finish()) {
                switch part {
                case .reasoning(let text): delta.reasoning += text
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
            let usage = TokenUsage(finish.usage, reasoningTokens: reasoningTokens, countsPrompt: countsPrompt)
            delta.finish = .init(
                reason: finish.reason, usage: usage, hasCalls: calls.count > 0, stop: finish.stop)
        }
        return delta
    }

    /// The whole choice where nothing is to be generated.
    func wholeEcho(promptTokens: Int) -> ChoiceDelta {
        ChoiceDelta(
            choice: choice, content: echo?.content ?? "", tokens: echo?.tokens ?? [],
            finish: .init(reason: .length, usage: TokenUsage(promptTokens: countsPrompt ? promptTokens : 0)))
    }
}
