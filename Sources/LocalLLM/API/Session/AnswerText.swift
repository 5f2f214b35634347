import Tokenizer

/// An answer's text from its tokens: without the model's thoughts, and as far as the guardrails let it pass.
struct AnswerText {
    private var decoder: StreamingDecoder
    private var reasoning: ReasoningSplitter?
    private let guardrails: SystemLanguageModel.Guardrails
    private(set) var content = ""
    /// Bytes of `content` that may be shown.
    private var passed = 0

    /// - Parameter reasoning: `nil` for a model that does not mark its thoughts.
    init(
        _ tokenizer: TextTokenizer, _ reasoning: ReasoningSplitter?, _ guardrails: SystemLanguageModel.Guardrails
    ) {
        decoder = StreamingDecoder(tokenizer)
        self.reasoning = reasoning
        self.guardrails = guardrails
    }

    /// - Returns: What may be shown now, from the beginning; `nil` if that is no more than before.
    /// - Throws: `GenerationError.guardrailViolation`
    mutating func add(_ tokens: [Int32]) throws -> String? {
        try add(tokens.map { decoder.decode($0) }.joined(), isLast: false)
    }

    /// No more tokens come.
    mutating func finish() throws -> String? { try add(decoder.finish(), isLast: true) }

    private mutating func add(_ text: String, isLast: Bool) throws -> String? {
        content += reasoning?.split(text, isLast: isLast).content ?? text
        let before = passed
        passed = try guardrails.check(answer: content, passed: passed, isWhole: isLast)
        return passed == before ? nil : String(decoding: content.utf8.prefix(passed), as: UTF8.self)
    }
}
