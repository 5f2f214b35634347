extension LanguageModelSession {
    /// Answers a prompt.
    ///
    /// - Throws: `GenerationError`; `CancellationError`; `LocalModelError.invalidOption`.
    @discardableResult
    public func respond(to prompt: Prompt, options: GenerationOptions = .init()) async throws -> Response<String> {
        guard beginRequest() else { throw GenerationError.isResponding }
        return try await answer(prompt, options) { _ in }
    }

    /// Answers a prompt.
    ///
    /// - Throws: `GenerationError`; `CancellationError`; `LocalModelError.invalidOption`.
    @discardableResult
    public func respond(to prompt: String, options: GenerationOptions = .init()) async throws -> Response<String> {
        try await respond(to: Prompt(prompt), options: options)
    }

    /// Answers a prompt.
    ///
    /// - Throws: `GenerationError`; `CancellationError`; `LocalModelError.invalidOption`.
    @discardableResult
    public func respond(
        options: GenerationOptions = .init(), isolation: isolated (any Actor)? = #isolation,
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<String> {
        try await respond(to: try prompt(), options: options)
    }

    /// Answers a prompt, and shows the answer as it grows.
    ///
    /// Iterating the result throws what `respond` throws.
    public func streamResponse(to prompt: Prompt, options: GenerationOptions = .init()) -> ResponseStream<String> {
        let isFree = beginRequest()
        return ResponseStream { [self] show in
            guard isFree else { throw GenerationError.isResponding }
            return try await answer(prompt, options, show: show)
        }
    }

    /// Answers a prompt, and shows the answer as it grows.
    public func streamResponse(to prompt: String, options: GenerationOptions = .init()) -> ResponseStream<String> {
        streamResponse(to: Prompt(prompt), options: options)
    }

    /// Answers a prompt, and shows the answer as it grows.
    public func streamResponse(
        options: GenerationOptions = .init(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<String> {
        streamResponse(to: try prompt(), options: options)
    }

    /// The request that `beginRequest` announced, from the prompt to its answer in the transcript.
    ///
    /// - Parameter show: Called with the answer so far, as often as it grows.
    private func answer(
        _ prompt: Prompt, _ options: GenerationOptions, show: @Sendable (String) -> Void
    ) async throws -> Response<String> {
        defer { endRequest() }
        return try await GenerationError.naming {
            try model.guardrails.check(prompt: prompt.text)
            let local = try await model.host.model()
            let before = transcript
            let entry = Transcript.Prompt(segments: .init(text: prompt.text), options: options)
            observedTranscript.update { $0.append(.prompt(entry)) }
            do {
                var answering = Answering(session: self, model: local, options: options)
                let content = try await answering.run(show)
                let response = Transcript.Response(assetIDs: [local.info.name], segments: .init(text: content))
                observedTranscript.update { $0.append(.response(response)) }
                warm(local, options)
                return Response(
                    content: content, transcriptEntries: [.prompt(entry), .response(response)], usage: answering.usage)
            } catch {
                observedTranscript.update { $0 = before }
                throw error
            }
        }
    }
}

extension LanguageModelSession.GenerationError {
    fileprivate static let isResponding = Self.concurrentRequests(
        .init(debugDescription: "A session answers one request at a time; wait until isResponding is false."))
}
