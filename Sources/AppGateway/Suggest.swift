import HTTP
import JSON
import LocalLLM
import Shim
import Tokenizer
import Wire

/// `POST /api/suggest`: suggests continuations of a text.
@Sendable func suggest(_ context: RequestContext, _ services: Services) async throws -> Response {
    context.trace.engine = .local
    let body = try JSON.decode(SuggestRequest.self, from: context.body).validated()
    let timeout = services.requestTimeout
    let texts = try await services.latestRequests.run(for: .init(context, name: body.user)) {
        try await within(timeout) { try await continuations(body, context, services) }
    }
    return try .json(Suggestions(suggestions: texts.map { .init(text: $0) }))
}

/// One greedy continuation for each of the most likely first tokens.
private func continuations(
    _ body: SuggestRequest, _ context: RequestContext, _ services: Services
) async throws -> [String] {
    let wanted = Int(body.maxSuggestions?.value ?? 3)
    let events = answers(to: context, services, promptField: "text") {
        try await beginSuggestions(body, wanted, context, services)
    }
    let whole = try await collect(events).choices
    var suggestions: [String] = []
    for text in whole.map(suggestion)
    where !text.isEmpty && !suggestions.contains(text) {
        do { try services.guardrail?.check(prompts: [text]) } catch { continue }
        suggestions.append(text)
    }
    return Array(suggestions.prefix(wanted))
}

private func beginSuggestions(
    _ body: SuggestRequest, _ wanted: Int, _ context: RequestContext, _ services: Services
) async throws -> Answer<Void> {
    let lease = try await services.lease(body.model ?? services.models.models.first?.file.id, for: context)
    let model = lease.model
    try services.guardrail?.check(prompts: [body.text])
    let prompt = try TextToContinue(body.text, model)
    context.trace.addPromptTokens(prompt.tokens.count)
    let firsts = try await prompt.likelyTokens(model).prefix(wanted + 2)
    let group = GenerationGroup(size: firsts.count)
    let streams = firsts.enumerated().map { index, first in
        Conversation.Deltas(
            model.generate(
                tokens: prompt.tokens + [first.token],
                options: SamplingOptions(
                    temperature: 0, maximumTokens: TextToContinue.room - 1, stop: ["\n"], continuesText: true),
                group: group),
            ChoiceReader(choice: index, countsPrompt: index == 0, echo: .init(content: first.text)))
    }
    return Answer(lease: lease, form: (), conversation: Conversation(streams))
}

/// The text to continue, tokenized.
private struct TextToContinue {
    /// Maximum tokens of a suggestion.
    static let room = 16
    /// Maximum tokens of the text, to limit prefill time; its beginning is dropped.
    private static let maximumTokens = 512
    /// Number of most likely tokens considered as beginnings of a suggestion.
    private static let candidates = 40

    let tokens: [Int32]
    /// Whether the text ends with a space, which `tokens` omit because models expect it at the start of the next word.
    private let endsWithBlank: Bool

    init(_ text: String, _ model: any LanguageModel) throws {
        let bytes = text.utf8
        endsWithBlank = bytes.last == UInt8(ascii: " ") && bytes.count > 1
        let tokenizer = try model.tokenizer
        var tokens = tokenizer.encode(
            String(decoding: endsWithBlank ? bytes.dropLast() : bytes[...], as: UTF8.self), addSpecial: true,
            parseSpecial: false)
        let limit = min(Self.maximumTokens, max(2, model.contextSize - Self.room))
        if tokens.count > limit {
            // Drop half of the limit at once: the following keystrokes then share a prefix, which the prefix cache has.
            let beginning = tokens.first.flatMap { $0 == tokenizer.beginningOfSequence ? $0 : nil }
            let step = limit / 2
            tokens.removeFirst((tokens.count - limit + step - 1) / step * step)
            if let beginning { tokens.insert(beginning, at: 0) }
        }
        guard !tokens.isEmpty else { throw APIError.invalid("text", "expected at least one token") }
        self.tokens = tokens
    }

    /// Possible next tokens, the most likely first.
    func likelyTokens(_ model: any LanguageModel) async throws -> [(token: Int32, text: String)] {
        let options = SamplingOptions(
            temperature: 0, maximumTokens: 1, topLogprobs: min(Self.candidates, model.info.vocabularySize))
        var alternatives: [TokenLogprob.Alternative] = []
        for try await piece in model.generate(tokens: tokens, options: options, group: nil) {
            alternatives += piece.logprobs.first?.top ?? []
        }
        try Task.checkCancellation()
        let tokenizer = try model.tokenizer
        return alternatives.compactMap { alternative in
            text(of: alternative.token, tokenizer).map { (alternative.token, $0) }
        }
    }

    /// Text that a token adds; `nil` if it cannot begin a suggestion.
    private func text(of token: Int32, _ tokenizer: TextTokenizer) -> String? {
        guard !tokenizer.isEndOfGeneration(token), !tokenizer.isControl(token),
            let text = String(validating: tokenizer.bytes(of: token), as: UTF8.self),
            !text.isEmpty, !text.contains(where: \.isNewline)
        else { return nil }
        guard endsWithBlank else { return text }
        return text.utf8.first == UInt8(ascii: " ") ? String(text.dropFirst()) : nil
    }
}

/// The suggestion: up to the end of the sentence, or without a truncated last word.
private func suggestion(_ choice: ChoiceDelta) -> String {
    var text = choice.content[...]
    let end = text.indices.first { index in
        let next = text.index(after: index)
        return ".!?".contains(text[index]) && (next == text.endIndex || text[next].isWhitespace)
    }
    if let end {
        text = text[...end]
    } else if choice.finish?.reason == .length, let blank = text.lastIndex(of: " "), blank > text.startIndex {
        text = text[..<blank]
    }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
}
