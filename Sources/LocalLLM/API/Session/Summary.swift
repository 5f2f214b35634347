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
            let lines = [earlier].compactMap(\.self) + turns.suffix(count).flatMap { $0 }.compactMap(line)
            let request = Transcript(entries: [
                .instructions(.init(segments: .init(text: Self.instructions))),
                .prompt(.init(segments: .init(text: lines.joined(separator: "\n")))),
            ])
            let prompt = try ConversationWindow(request).prompt(for: model)
            if prompt.tokens.count + limit <= model.contextSize { return try await generate(prompt, limit) }
        }
        return earlier
    }

    /// - Returns: `nil` for reasoning, which was not addressed to the user.
    private func line(_ entry: Transcript.Entry) -> String? {
        switch entry {
        case .prompt: "User: \(entry.text)"
        case .reasoning: nil
        default: "Assistant: \(entry.text)"
        }
    }

    private func generate(_ prompt: ConversationPrompt, _ limit: Int) async throws -> String {
        var text = AnswerText(try model.answerDecoder, after: prompt)
        let options = SamplingOptions(temperature: 0, maximumTokens: limit)
        for try await piece in model.generate(prompt.prompt, options: options) {
            _ = try text.add(piece.tokens)
            if let finish = piece.finish { _ = try text.finish(finish) }
        }
        try Task.checkCancellation()
        return text.whole.content
    }
}
