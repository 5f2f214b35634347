import LocalLLM
import Tokenizer

/// An answer as it grows: text, reasoning and calls, limited to what the guardrails have passed.
///
/// The tokens may come from several generations, between which the context was cleared.
struct AnswerText {
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
        decoder = StreamingDecoder(tokenizer, showing: prompt.markup.markerTokens)
        reader = ChoiceReader(choice: 0, countsPrompt: true, prompt: prompt, tools: tools, guardrail: guardrails)
    }

    /// - Returns: What the guardrails have passed since the last call.
    mutating func add(_ tokens: [Int32]) throws(GuardrailViolation) -> ChoiceDelta {
        try reader.read(GenerationPiece(text: tokens.map { decoder.decode($0) }.joined(), tokens: tokens))
    }

    /// Ends the answer: no more tokens follow.
    mutating func finish(_ finish: GenerationPiece.Finish) throws(GuardrailViolation) -> ChoiceDelta {
        try reader.read(GenerationPiece(text: decoder.finish(), tokens: [], finish: finish))
    }
}
