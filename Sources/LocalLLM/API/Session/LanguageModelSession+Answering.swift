import Tokenizer

extension LanguageModelSession {
    /// Answers a prompt.
    ///
    /// - Parameter format: Schema of the answer; `nil`: text.
    func answer(
        _ prompt: Prompt, _ options: GenerationOptions, _ format: Transcript.ResponseFormat?
    ) async throws -> Answer {
        guard beginRequest() else { throw GenerationError.isResponding }
        return try await answerBegun(prompt, options, format) { _ in }
    }

    func stream<Content: Generable>(
        _ prompt: Prompt, _ options: GenerationOptions, _ format: Transcript.ResponseFormat?
    ) -> ResponseStream<Content> {
        let isFree = beginRequest()
        return ResponseStream { [self] show in
            guard isFree else { throw GenerationError.isResponding }
            return try await answerBegun(prompt, options, format, show: show)
        }
    }

    /// Runs the request that `beginRequest` started, from the prompt to its answer in the transcript.
    ///
    /// - Parameter show: Called with the answer so far whenever it grows.
    private func answerBegun(
        _ prompt: Prompt, _ options: GenerationOptions, _ format: Transcript.ResponseFormat?,
        show: @Sendable (Progress) -> Void
    ) async throws -> Answer {
        defer { endRequest() }
        return try await GenerationError.naming {
            try model.guardrails.check(prompts: [prompt.text])
            let engine: Answering.Engine =
                if let provider { .provider(provider) } else { .local(try await model.host.model()) }
            let before = transcript
            let entry = Transcript.Prompt(
                segments: try prompt.segments.readingImages(), options: options, responseFormat: format)
            observedTranscript.update { $0.append(.prompt(entry)) }
            do {
                var answering = Answering(session: self, engine: engine, options: options)
                let content = try await answering.run(format, show)
                let response = Transcript.Response(
                    assetIDs: engine.assetIDs, segments: [Transcript.Segment(content, format)])
                observedTranscript.update { $0.append(.response(response)) }
                if case .local(let model) = engine { warm(model, options) }
                return Answer(
                    content: content, entries: Array(transcript)[before.count...], usage: answering.usage)
            } catch {
                observedTranscript.update { $0 = before }
                throw error
            }
        }
    }
}

extension Transcript.Segment {
    /// An answer: text, or a value of the format's type.
    fileprivate init(_ content: GeneratedContent, _ format: Transcript.ResponseFormat?) {
        if let format {
            self = .structure(.init(source: format.name, content: content))
        } else if case .string(let text) = content.kind {
            self = .text(.init(content: text))
        } else {
            self = .text(.init(content: content.jsonString))
        }
    }
}

extension LanguageModelSession.GenerationError {
    fileprivate static let isResponding = Self.concurrentRequests(
        .init(debugDescription: "A session answers one request at a time; wait until isResponding is false."))
}
