import Tokenizer

/// A request on its way: its prompts, and a generation for each choice.
package struct Conversation: Sendable {
    /// The texts and tokens of the prompts, in order.
    package let prompts: [TextPrompt]
    /// The options of the first choice.
    package let options: SamplingOptions
    /// Choices that need no generation.
    package fileprivate(set) var given: [ChoiceDelta] = []
    package fileprivate(set) var choices: [Choice] = []
    /// What is not enforced of the request's schemas.
    package let warnings: [String]

    /// A generation and the reader that turns its pieces into deltas.
    package struct Choice: Sendable {
        package let generation: Generation
        package let reader: ChoiceReader

        package init(generation: Generation, reader: ChoiceReader) {
            (self.generation, self.reader) = (generation, reader)
        }
    }

    package var promptTokens: Int { prompts.reduce(0) { $0 + $1.tokens.count } }
}

extension ConversationModel {
    /// Reviews, renders and tokenizes a request, and begins the generations of its choices.
    ///
    /// - Parameter guardrail: Reviews the user's messages, or the texts, and holds back the text of the choices.
    /// - Throws: `GuardrailViolation`, `ContentFormatError`, `LocalModelError`; `ImageFileError` for an image that cannot be
    ///   decoded.
    package func begin(_ request: ConversationRequest, guardrail: (any Guardrail)? = nil) async throws -> Conversation {
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
        var conversation = Conversation(prompts: prompts, options: options, warnings: warnings)
        let group = GenerationGroup(size: prompts.count * request.choices)
        for index in 0..<prompts.count * request.choices {
            let (prompt, number) = index.quotientAndRemainder(dividingBy: request.choices)
            var reader = reader(prompt, index)
            let count = prompts[prompt].tokens.count
            // An echo has been computed already. The answer to no tokens is empty, as in llama.cpp's server.
            if count == 0 || options.maximumTokens == 0 && request.echoesPrompt {
                conversation.given.append(reader.wholeEcho(promptTokens: count))
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
            conversation.choices.append(
                .init(generation: generate(tokens[prompt], options: options, group: group), reader: reader))
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
