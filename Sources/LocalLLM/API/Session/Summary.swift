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
            let prompt = try Self.window(of: turns.suffix(count), after: earlier).prompt(for: model)
            if prompt.tokens.count + limit <= model.contextSize { return try await generate(prompt, limit) }
        }
        return earlier
    }

    /// The same by a provider, whose context size is not known; it gets all turns.
    ///
    /// - Returns: The earlier summary if the provider fails: the conversation goes on without these turns.
    static func make(
        of turns: [ConversationWindow.Turn], after earlier: String?, by provider: any Provider
    ) async throws -> String? {
        var request = window(of: turns[...], after: earlier).request()
        request.sampling.maximumTokens = 512
        do {
            var whole = ChoiceDelta(choice: 0)
            for stream in try await provider.begin(request, guardrail: nil).streams {
                for try await delta in stream { whole += delta }
            }
            return whole.finish == nil ? earlier : whole.content
        } catch {
            try Task.checkCancellation()
            return earlier
        }
    }

    private static func window(
        of turns: ArraySlice<ConversationWindow.Turn>, after earlier: String?
    ) -> ConversationWindow {
        let lines = [earlier].compactMap(\.self) + turns.flatMap { $0 }.compactMap(line)
        return ConversationWindow(
            Transcript(entries: [
                .instructions(.init(segments: .init(text: instructions))),
                .prompt(.init(segments: .init(text: lines.joined(separator: "\n")))),
            ]))
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
        let options = SamplingOptions(temperature: 0, maximumTokens: limit)
        for try await piece in model.generate(prompt.prompt, options: options) {
            _ = try text.add(piece.tokens)
            if let finish = piece.finish { _ = try text.finish(finish) }
        }
        try Task.checkCancellation()
        return text.whole.content
    }
}
