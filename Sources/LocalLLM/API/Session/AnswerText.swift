import Dialects
import Tokenizer

/// Parses an answer's tokens into text, reasoning and calls, each limited to what the guardrails have passed.
struct AnswerText {
    private var decoder: StreamingDecoder
    private var parser: AnswerParser
    private let guardrails: SystemLanguageModel.Guardrails
    /// The answer so far.
    private(set) var message = AnswerMessage()
    var content: String { message.content }
    /// UTF-8 bytes of `content` and of the reasoning that may be shown.
    private var (passed, passedThoughts) = (0, 0)

    /// The part of the content that may be shown.
    var shownContent: String { String(decoding: message.content.utf8.prefix(passed), as: UTF8.self) }
    var shownThoughts: String { String(decoding: message.reasoning.utf8.prefix(passedThoughts), as: UTF8.self) }

    /// - Parameters:
    ///   - decoder: Decodes the marker tokens that `parser` knows into text.
    ///   - parser: Separates reasoning from content.
    init(_ decoder: StreamingDecoder, _ parser: AnswerParser, _ guardrails: SystemLanguageModel.Guardrails) {
        self.decoder = decoder
        self.parser = parser
        self.guardrails = guardrails
    }

    /// - Returns: Whether more may be shown than before.
    /// - Throws: `GenerationError.guardrailViolation`.
    mutating func add(_ tokens: [Int32]) throws -> Bool {
        try add(parser.read(tokens.map { decoder.decode($0) }.joined()), isLast: false)
    }

    /// Ends the answer: no more tokens follow.
    mutating func finish() throws -> Bool {
        try add(parser.read(decoder.finish()) + parser.finish(), isLast: true)
    }

    private mutating func add(_ deltas: [AnswerDelta], isLast: Bool) throws -> Bool {
        for delta in deltas { message.add(delta) }
        let before = (passed, passedThoughts)
        // Reasoning is complete when content begins.
        passedThoughts = try guardrails.check(
            answer: message.reasoning, passed: passedThoughts, isWhole: isLast || !content.isEmpty)
        passed = try guardrails.check(answer: content, passed: passed, isWhole: isLast)
        return (passed, passedThoughts) != before
    }
}
