import Tokenizer

/// An answer that has begun: the streams of its choices.
public struct Conversation: Sendable {
    /// The texts and tokens of the prompts, in order; empty if a service answers.
    package let prompts: [TextPrompt]
    /// The options of the first choice.
    package let options: SamplingOptions
    /// Choices that need no generation.
    package fileprivate(set) var given: [ChoiceDelta] = []
    package fileprivate(set) var streams: [Deltas] = []
    /// Number of choices, the given ones included.
    package let count: Int
    /// What of the request has no effect on the answer.
    package let warnings: [String]

    fileprivate init(_ prompts: [TextPrompt], _ options: SamplingOptions, count: Int, warnings: [String]) {
        (self.prompts, self.options, self.count, self.warnings) = (prompts, options, count, warnings)
    }

    /// An answer that `body` sends piece by piece. Returns when it has sent the first one.
    ///
    /// - Parameter body: Sends the deltas of all choices; cancelled when nobody reads them any more.
    /// - Throws: The error of `body` before its first delta; `CancellationError`.
    package init(
        _ options: SamplingOptions, count: Int, warnings: [String],
        _ body: @escaping @Sendable (_ send: @escaping @Sendable (ChoiceDelta) -> Void) async throws -> Void
    ) async throws {
        let (deltas, continuation) = AsyncThrowingStream<ChoiceDelta, any Error>.makeStream()
        let (beginning, begun) = AsyncThrowingStream<Void, any Error>.makeStream()
        let task = Task {
            do {
                try await body { delta in
                    continuation.yield(delta)
                    begun.yield()
                }
                continuation.finish()
                begun.finish()
            } catch {
                continuation.finish(throwing: error)
                begun.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        try await withTaskCancellationHandler {
            for try await _ in beginning { break }
            try Task.checkCancellation()
        } onCancel: {
            task.cancel()
        }
        self.init([], options, count: count, warnings: warnings)
        streams = [Deltas(received: deltas)]
    }

    /// Generations that were begun in another way than from a request.
    package init(_ streams: [Deltas]) {
        self.init([], .init(), count: streams.count, warnings: [])
        self.streams = streams
    }

    package var promptTokens: Int { prompts.reduce(0) { $0 + $1.tokens.count } }

    /// The deltas of a choice, or of all choices of a service's answer. Iterate them once.
    package struct Deltas: AsyncSequence, Sendable {
        private var generation: Generation?
        private var reader: ChoiceReader?
        private var received: AsyncThrowingStream<ChoiceDelta, any Error>?

        package init(_ generation: Generation, _ reader: ChoiceReader) {
            (self.generation, self.reader) = (generation, reader)
        }

        fileprivate init(received: AsyncThrowingStream<ChoiceDelta, any Error>) { self.received = received }

        package func makeAsyncIterator() -> Iterator {
            Iterator(
                pieces: generation?.makeAsyncIterator(), reader: reader, received: received?.makeAsyncIterator())
        }

        package struct Iterator: AsyncIteratorProtocol {
            fileprivate var pieces: Generation.AsyncIterator?
            fileprivate var reader: ChoiceReader?
            fileprivate var received: AsyncThrowingStream<ChoiceDelta, any Error>.AsyncIterator?

            package mutating func next() async throws -> ChoiceDelta? {
                guard pieces != nil else { return try await received?.next() }
                guard let piece = try await pieces?.next() else { return nil }
                return try reader?.read(piece)
            }
        }
    }
}

extension ConversationModel {
    /// Reviews, renders and tokenizes a request, and begins the generations of its choices.
    ///
    /// - Parameter guardrail: Reviews the user's messages, or the texts, and holds back the text of the choices.
    /// - Throws: `GuardrailViolation`, `ContentFormatError`, `LocalModelError`; `ImageFileError` for an image that cannot be
    ///   decoded.
    public func begin(_ request: ConversationRequest, guardrail: (any Guardrail)?) async throws -> Conversation {
        switch request.input {
        case .messages(let messages):
            try guardrail?.check(prompts: messages.filter { $0.role == .user }.map(\.content))
            return try begin(request, try await prompt(for: request), guardrail)
        case .texts(let prompts):
            try guardrail?.check(prompts: prompts.map(\.text))
            return try await begin(request, prompts, guardrail)
        }
    }

    private func begin(
        _ request: ConversationRequest, _ prompt: ConversationPrompt, _ guardrail: (any Guardrail)?
    ) throws -> Conversation {
        var options = request.sampling
        options.shownTokens = prompt.markup.markerTokens
        options.thoughtLimit = request.maximumThoughts.flatMap {
            SamplingOptions.ThoughtLimit(tokens: $0, prompt.markup.dialect, after: prompt.text + prompt.beginning)
        }
        var warnings: [String] = []
        options.constraint = try constraint(for: request, after: prompt) { warnings.append($0) }
        if let prediction = request.prediction {
            let tokens = try tokenizer.encode(prediction, addSpecial: false, parseSpecial: false)
            options.expectedTokens = Array(tokens.prefix(contextSize))
        }
        let list = try options.topLogprobs.map { _ in TokenList(try tokenizer, showing: prompt.markup.markerTokens) }
        return begin(
            request, [.init(text: prompt.text, tokens: prompt.tokens)], [prompt.prompt], options, warnings
        ) { _, index in
            ChoiceReader(
                choice: index, countsPrompt: index == 0, prompt: prompt, tools: request.tools, list: list,
                omitsReasoning: request.omitsReasoning, guardrail: guardrail)
        }
    }

    private func begin(
        _ request: ConversationRequest, _ prompts: [TextPrompt], _ guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        var options = request.sampling
        var warnings: [String] = []
        options.constraint = try constraint(request.format) { warnings.append($0) }
        let echoes = request.echoesPrompt ? try await echoes(of: prompts, top: options.topLogprobs) : nil
        let tokenizer = try tokenizer
        return begin(request, prompts, prompts.map { ModelPrompt(tokens: $0.tokens) }, options, warnings) {
            prompt, index in
            let echo = echoes?[prompt]
            let list = options.topLogprobs.map { _ in
                TokenList(
                    tokenizer, offset: echo?.content.unicodeScalars.count ?? 0, continuesText: prompts[prompt].hasText)
            }
            return ChoiceReader(
                choice: index, countsPrompt: index % request.choices == 0, echo: echo, list: list, guardrail: guardrail)
        }
    }

    /// - Parameter reader: Makes the reader of a choice, given the indices of its prompt and its own.
    private func begin(
        _ request: ConversationRequest, _ prompts: [TextPrompt], _ tokens: [ModelPrompt], _ options: SamplingOptions,
        _ warnings: [String], reader: (Int, Int) -> ChoiceReader
    ) -> Conversation {
        let count = prompts.count * request.choices
        var conversation = Conversation(prompts, options, count: count, warnings: warnings)
        let group = GenerationGroup(size: count)
        for index in 0..<count {
            let (prompt, number) = index.quotientAndRemainder(dividingBy: request.choices)
            var reader = reader(prompt, index)
            let tokenCount = prompts[prompt].tokens.count
            // An echo has been computed already. The answer to no tokens is empty, as in llama.cpp's server.
            if tokenCount == 0 || options.maximumTokens == 0 && request.echoesPrompt {
                conversation.given.append(reader.wholeEcho(promptTokens: tokenCount))
                continue
            }
            var options = options
            if case .texts = request.input { options.continuesText = prompts[prompt].hasText }
            // Each choice has a seed of its own; the first one's is the request's.
            options.seed = options.seed.map { $0 &+ UInt64(number) }
            reader.reportsUsage = request.reportsUsage
            if options.maximumTokens == 0 {
                // The prompt is only computed, so that the prefix cache has it. The engine generates at least one token.
                options.maximumTokens = 1
                reader.dropsText()
            }
            conversation.streams.append(.init(generate(tokens[prompt], options: options, group: group), reader))
        }
        return conversation
    }

    /// The prompts as beginnings of their choices.
    ///
    /// - Parameter top: Number of alternatives to list at each token; `nil`: tokens are not listed.
    private func echoes(of prompts: [TextPrompt], top: Int?) async throws -> [ChoiceReader.Echo] {
        guard let top else { return prompts.map { ChoiceReader.Echo(content: $0.text) } }
        var echoes: [ChoiceReader.Echo] = []
        for prompt in prompts {
            let logprobs = try await logprobs(of: prompt.tokens, top: top)
            let tokens = TokenList.tokens(of: prompt.tokens, logprobs, in: prompt.text, try tokenizer)
            echoes.append(.init(content: prompt.text, tokens: tokens))
        }
        return echoes
    }
}
