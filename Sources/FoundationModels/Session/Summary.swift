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

    /// - Parameter earlier: Summary of the turns before.
    /// - Returns: At most an eighth of the context. If not all turns fit the context, the oldest are left out; if not
    ///   even one does, or the model writes nothing, the earlier summary is returned.
    func make(of turns: [ConversationWindow.Turn], after earlier: String?) async throws -> String? {
        let limit = model.contextSize / 8
        for count in stride(from: turns.count, to: 0, by: -1) {
            let task = Self.transcript(of: turns.suffix(count), after: earlier)
            let prompt = try ConversationWindow(task).prompt(for: model)
            guard prompt.tokens.count + limit <= model.contextSize else { continue }
            return try Self.text(try await generate(prompt, limit)).map { try cut($0, to: limit) } ?? earlier
        }
        return earlier
    }

    /// The same by an executor, whose context size is not known; it gets all turns.
    ///
    /// - Returns: The earlier summary if the model fails or writes nothing: the conversation goes on without these turns.
    static func make(
        of turns: [ConversationWindow.Turn], after earlier: String?, by model: some LanguageModel,
        _ executors: ExecutorStore
    ) async throws -> String? {
        let request = LanguageModelExecutorGenerationRequest(
            id: UUID(), transcript: transcript(of: turns[...], after: earlier), enabledTools: [],
            generationOptions: .init(maximumResponseTokens: 512), contextOptions: .init(), metadata: [:])
        do {
            return text(try await executors.message(of: model, to: request) { _ in }.text) ?? earlier
        } catch {
            try Task.checkCancellation()
            return earlier
        }
    }

    private static func transcript(of turns: ArraySlice<ConversationWindow.Turn>, after earlier: String?) -> Transcript
    {
        let before = earlier.map { "Summary of what came before: \($0)" }
        let lines = [before].compactMap(\.self) + turns.flatMap { $0 }.compactMap(line)
        return Transcript(entries: [
            .prompt(.init(segments: .init(text: (lines + ["", task]).joined(separator: "\n"))))
        ])
    }

    /// - Returns: `nil` for a summary that says nothing.
    private static func text(_ summary: String) -> String? {
        let text = summary.trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    /// - Returns: `nil` for reasoning, which was not addressed to the user.
    private static func line(_ entry: Transcript.Entry) -> String? {
        switch entry {
        case .prompt: "User: \(entry.text)"
        case .reasoning: nil
        default: "Assistant: \(entry.text)"
        }
    }

    /// The beginning of at most `limit` tokens: a text can be more tokens when it is read than when it was written.
    private func cut(_ summary: String, to limit: Int) throws -> String {
        let tokenizer = try model.tokenizer
        var text = summary
        while case let count = tokenizer.encode(text, addSpecial: false, parseSpecial: false).count, count > limit {
            text = String(text.prefix(text.count * limit / count))
        }
        return text
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
