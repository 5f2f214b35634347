import LocalLLM
import Tokenizer

/// An answer as it grows: text, reasoning and calls, limited to what the guardrails have passed.
///
/// The tokens may come from several generations, between which the context was cleared.
struct AnswerText {
    private let tokenizer: TextTokenizer
    private var decoder: StreamingDecoder
    private var reader: ChoiceReader

    /// - Parameters:
    ///   - tokenizer: The model's.
    ///   - prompt: What the answer follows.
    ///   - guardrails: Hold back text until they have passed it.
    init(
        _ tokenizer: TextTokenizer, after prompt: ConversationPrompt, tools: ToolOffer = .init(),
        _ guardrails: SystemLanguageModel.Guardrails = .default
    ) {
        self.tokenizer = tokenizer
        decoder = StreamingDecoder(tokenizer, showing: prompt.markup.markerTokens)
        reader = ChoiceReader(choice: 0, countsPrompt: true, prompt: prompt, tools: tools, guardrail: guardrails)
    }

    /// - Returns: What the guardrails have passed since the last call.
    mutating func add(_ tokens: [Int32]) throws(GuardrailViolation) -> ChoiceDelta {
        // The token that ends the answer has no text, even if the template writes it.
        let text = tokens.map { tokenizer.isEndOfGeneration($0) ? "" : decoder.decode($0) }.joined()
        return try reader.read(GenerationPiece(text: text, tokens: tokens))
    }

    /// Ends the answer: no more tokens follow.
    mutating func finish(_ finish: GenerationPiece.Finish) throws(GuardrailViolation) -> ChoiceDelta {
        try reader.read(GenerationPiece(text: decoder.finish(), tokens: [], finish: finish))
    }
}
