import Dialects
import Tokenizer

/// An answer's text from its tokens: without the model's thoughts and calls, and as far as the guardrails let it pass.
struct AnswerText {
    private var decoder: StreamingDecoder
    private var parser: AnswerParser
    private let guardrails: SystemLanguageModel.Guardrails
    /// What the answer says so far.
    private(set) var message = AnswerMessage()
    var content: String { message.content }
    /// Bytes of `content` that may be shown.
    private var passed = 0

    /// - Parameters:
    ///   - decoder: Shows the tokens that `parser` knows.
    ///   - parser: Tells thoughts from content.
    init(_ decoder: StreamingDecoder, _ parser: AnswerParser, _ guardrails: SystemLanguageModel.Guardrails) {
        self.decoder = decoder
        self.parser = parser
        self.guardrails = guardrails
    }

    /// - Returns: What may be shown now, from the beginning; `nil` if that is no more than before.
    /// - Throws: `GenerationError.guardrailViolation`
    mutating func add(_ tokens: [Int32]) throws -> String? {
        try add(parser.read(tokens.map { decoder.decode($0) }.joined()), isLast: false)
    }

    /// No more tokens come.
    mutating func finish() throws -> String? {
        try add(parser.read(decoder.finish()) + parser.finish(), isLast: true)
    }

    private mutating func add(_ deltas: [AnswerDelta], isLast: Bool) throws -> String? {
        for delta in deltas { message.add(delta) }
        let before = passed
        passed = try guardrails.check(answer: content, passed: passed, isWhole: isLast)
        return passed == before ? nil : String(decoding: content.utf8.prefix(passed), as: UTF8.self)
    }
}
