import Foundation
import LocalLLM

/// Has the model summarize turns that it will no longer read.
struct Summary {
    private static let instructions =
        "Sum up the conversation in a few sentences. Keep names, numbers, wishes and what was decided."

    let model: LocalModel

    /// - Parameter earlier: Summary of the turns before.
    /// - Returns: At most an eighth of the context. If not all turns fit the context, the oldest are left out; if not
    ///   even one does, the earlier summary is returned.
    func make(of turns: [ConversationWindow.Turn], after earlier: String?) async throws -> String? {
        let limit = model.contextSize / 8
        for count in stride(from: turns.count, to: 0, by: -1) {
            let task = Self.transcript(of: turns.suffix(count), after: earlier)
            let prompt = try ConversationWindow(task).prompt(for: model)
            if prompt.tokens.count + limit <= model.contextSize { return try await generate(prompt, limit) }
        }
        return earlier
    }

    /// The same by an executor, whose context size is not known; it gets all turns.
    ///
    /// - Returns: The earlier summary if the model fails: the conversation goes on without these turns.
    static func make(
        of turns: [ConversationWindow.Turn], after earlier: String?, by model: some LanguageModel,
        _ executors: ExecutorStore
    ) async throws -> String? {
        let request = LanguageModelExecutorGenerationRequest(
            id: UUID(), transcript: transcript(of: turns[...], after: earlier), enabledTools: [],
            generationOptions: .init(maximumResponseTokens: 512), contextOptions: .init(), metadata: [:])
        do {
            return try await executors.message(of: model, to: request) { _ in }.text
        } catch {
            try Task.checkCancellation()
            return earlier
        }
    }

    private static func transcript(of turns: ArraySlice<ConversationWindow.Turn>, after earlier: String?) -> Transcript
    {
        let lines = [earlier].compactMap(\.self) + turns.flatMap { $0 }.compactMap(line)
        return Transcript(entries: [
            .instructions(.init(segments: .init(text: instructions))),
            .prompt(.init(segments: .init(text: lines.joined(separator: "\n")))),
        ])
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
