import Foundation
import LocalLLM
import Tokenizer

/// Has the model summarize turns that it will no longer read.
struct Summary {
    /// Follows the conversation in the user's message: small models overlook it in the instructions, and answer the
    /// conversation's last line instead.
    private static let task =
        "Sum up the conversation above in a few sentences. Keep names, numbers, wishes and what was decided."

    let model: LocalModel

    /// - Parameter earlier: Summary of the turns before, to which this one is added.
    /// - Returns: At most an eighth of the context. If not all turns fit the context, the oldest are left out; if not
    ///   even one does, or the model writes nothing, the earlier summary is returned.
    func make(of turns: [ConversationWindow.Turn], after earlier: String?) async throws -> String? {
        let limit = model.contextSize / 8
        let tokenizer = try model.tokenizer
        for count in stride(from: turns.count, to: 0, by: -1) {
            let prompt = try ConversationWindow(Self.transcript(of: turns.suffix(count))).prompt(for: model)
            guard prompt.tokens.count + limit <= model.contextSize else { continue }
            return Self.add(try await generate(prompt, limit), to: earlier) {
                tokenizer.encode($0, addSpecial: false, parseSpecial: false).count <= limit
            }
        }
        return earlier
    }

    /// The context size of an executor is not known: maximum tokens of a summary that it writes, and maximum characters of
    /// all summaries together.
    private static let executorLimit = (tokens: 512, characters: 4096)

    /// The same by an executor; it gets all turns.
    ///
    /// - Returns: The earlier summary if the model fails or writes nothing: the conversation goes on without these turns.
    static func make(
        of turns: [ConversationWindow.Turn], after earlier: String?, by model: some LanguageModel,
        _ executors: ExecutorStore
    ) async throws -> String? {
        let request = LanguageModelExecutorGenerationRequest(
            id: UUID(), transcript: transcript(of: turns[...]), enabledTools: [],
            generationOptions: .init(maximumResponseTokens: executorLimit.tokens), contextOptions: .init(),
            metadata: [:])
        do {
            let summary = try await executors.message(of: model, to: request) { _ in }.text
            // An executor may write more than it is asked for.
            return add(String(summary.prefix(executorLimit.characters)), to: earlier) {
                $0.count <= executorLimit.characters
            }
        } catch {
            try Task.checkCancellation()
            return earlier
        }
    }

    private static func transcript(of turns: ArraySlice<ConversationWindow.Turn>) -> Transcript {
        let lines = turns.flatMap { $0 }.compactMap(line)
        return Transcript(entries: [
            .prompt(.init(segments: .init(text: (lines + ["", task]).joined(separator: "\n"))))
        ])
    }

    /// A summary after the earlier ones, which stay as they are: a small model that sums them up again loses what they say.
    ///
    /// - Parameter fits: Whether a text is short enough. Until it is, the longest paragraphs lose their last sentences.
    /// - Returns: The earlier ones if this one says nothing.
    static func add(_ summary: String, to earlier: String?, fits: (String) -> Bool) -> String? {
        var paragraphs = [earlier ?? "", summary].flatMap { $0.split(separator: "\n") }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        while !fits(paragraphs.joined(separator: "\n")) {
            let several = paragraphs.indices.filter { firstSentences(paragraphs[$0]) != nil }
            guard
                let longest = (several.isEmpty ? Array(paragraphs.indices) : several)
                    .max(by: { paragraphs[$0].count < paragraphs[$1].count })
            else { break }
            let text = paragraphs.remove(at: longest)
            let shorter = firstSentences(text) ?? String(text.prefix(text.count / 2))
            if !shorter.isEmpty { paragraphs.insert(shorter, at: longest) }
        }
        return paragraphs.isEmpty ? nil : paragraphs.joined(separator: "\n")
    }

    /// A paragraph without its last sentence; `nil` if it has no other.
    private static func firstSentences(_ text: String) -> String? {
        let end = text.indices.dropLast().last {
            "。！？".contains(text[$0]) || ".!?".contains(text[$0]) && text[text.index(after: $0)].isWhitespace
        }
        return end.map { String(text[...$0]) }
    }

    /// - Returns: `nil` for reasoning, which was not addressed to the user.
    private static func line(_ entry: Transcript.Entry) -> String? {
        switch entry {
        case .prompt: "User: \(entry.text)"
        case .reasoning: nil
        default: "Assistant: \(entry.text)"
        }
    }

    private func generate(_ prompt: ConversationPrompt, _ limit: Int) async throws -> String {
        var text = AnswerText(try model.tokenizer, after: prompt)
        var said = ""
        let options = SamplingOptions(temperature: 0, maximumTokens: limit)
        for try await piece in model.generate(prompt.prompt, options: options) {
            said += try text.add(piece.tokens).content
            if let finish = piece.finish { said += try text.finish(finish).content }
        }
        try Task.checkCancellation()
        return said
    }
}
