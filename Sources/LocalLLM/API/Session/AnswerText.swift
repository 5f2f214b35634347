import Dialects
import Tokenizer

/// An answer from its tokens: text, thoughts and calls apart, and each as far as the guardrails let it pass.
struct AnswerText {
    private var decoder: StreamingDecoder
    private var parser: AnswerParser
    private let guardrails: SystemLanguageModel.Guardrails
    /// What the answer says so far.
    private(set) var message = AnswerMessage()
    var content: String { message.content }
    /// Bytes of `content` and of the thoughts that may be shown.
    private var (passed, passedThoughts) = (0, 0)

    /// What may be shown of the content and of the thoughts.
    var shownContent: String { String(decoding: message.content.utf8.prefix(passed), as: UTF8.self) }
    var shownThoughts: String { String(decoding: message.reasoning.utf8.prefix(passedThoughts), as: UTF8.self) }

    /// - Parameters:
    ///   - decoder: Shows the tokens that `parser` knows.
    ///   - parser: Tells thoughts from content.
    init(_ decoder: StreamingDecoder, _ parser: AnswerParser, _ guardrails: SystemLanguageModel.Guardrails) {
        self.decoder = decoder
        self.parser = parser
        self.guardrails = guardrails
    }

    /// - Returns: Whether more may be shown than before.
    /// - Throws: `GenerationError.guardrailViolation`
    mutating func add(_ tokens: [Int32]) throws -> Bool {
        try add(parser.read(tokens.map { decoder.decode($0) }.joined()), isLast: false)
    }

    /// No more tokens come.
    mutating func finish() throws -> Bool {
        try add(parser.read(decoder.finish()) + parser.finish(), isLast: true)
    }

    private mutating func add(_ deltas: [AnswerDelta], isLast: Bool) throws -> Bool {
        for delta in deltas { message.add(delta) }
        let before = (passed, passedThoughts)
        // Content ends the thoughts before it.
        passedThoughts = try guardrails.check(
            answer: message.reasoning, passed: passedThoughts, isWhole: isLast || !content.isEmpty)
        passed = try guardrails.check(answer: content, passed: passed, isWhole: isLast)
        return (passed, passedThoughts) != before
    }
}
