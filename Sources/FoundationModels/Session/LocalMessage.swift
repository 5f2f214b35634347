import LocalLLM
import Tokenizer

/// A message of a model of this machine: fits the conversation into the context, generates, and makes room again when the
/// context fills up.
struct LocalMessage {
    let request: MessageRequest
    let system: SystemLanguageModel
    let model: LocalModel

    /// Maximum tokens of the message.
    private var limit: Int? { SamplingOptions(request.options).maximumTokens }

    func generate(_ show: (GeneratedMessage) -> Void) async throws -> GeneratedMessage {
        var window = try request.window(for: system, images: try await model.images(of: request.transcript))
        var prompt = try await fit(&window, answered: 0)
        let conversation = window.request()
        let tokenizer = try model.tokenizer
        var text = AnswerText(tokenizer, after: prompt, tools: conversation.tools, system.guardrails)
        var sampling = SamplingOptions(request.options)
        sampling.constraint = try model.constraint(for: conversation, after: prompt) { _ in }
        var events = DeltaEvents()
        var message = GeneratedMessage()
        message.assetIDs = [model.info.name]
        func add(_ delta: ChoiceDelta) {
            for event in events.read(delta) { message.apply(event) }
            if !delta.content.isEmpty || !delta.reasoning.isEmpty { show(message) }
        }
        var answer: [Int32] = []
        var finish: GenerationPiece.Finish?
        var usage: LocalLLM.Usage?
        while true {
            sampling.maximumTokens = limit.map { $0 - answer.count }
            finish = nil
            for try await piece in model.generate(prompt.prompt + answer, options: sampling) {
                answer += piece.tokens
                message.probabilities += piece.logprobs.map { TokenProbability($0, tokenizer) }
                finish = piece.finish
                add(try text.add(piece.tokens))
            }
            // A cancelled task's stream ends without a `finish`.
            guard let finish else { throw CancellationError() }
            usage = usage?.continued(by: finish.usage) ?? finish.usage
            // A value is constrained from its beginning, so a cut-off one cannot be continued.
            guard finish.reason == .length, answer.count < limit ?? .max, window.format == nil else { break }
            prompt = try await fit(&window, answered: answer.count)
            // Later calls in such a long text are parsed, but not constrained to their schemas.
            sampling.constraint = nil
        }
        if let finish, let usage {
            let last = try text.finish(finish)
            message.usage = .init(usage, reasoningTokens: last.finish?.reasoningTokens ?? 0)
            add(last)
        }
        return message
    }

    /// Renders the conversation, with room for an answer after it: the limit of the answer, else an eighth of the
    /// context. If turns must be dropped, another eighth is freed so that the next turns fit too.
    ///
    /// - Parameter answered: Tokens of the answer generated so far.
    private func fit(_ window: inout ConversationWindow, answered: Int) async throws -> ConversationPrompt {
        let size = model.contextSize
        let policy = request.session.contextOverflowPolicy
        var prompt = try window.prompt(for: model)
        let room = min(limit.map { $0 - answered } ?? size / 8, size / 2)
        if prompt.tokens.count + answered + room > size, window.turns.count > 1, policy != .fail {
            let spare = policy == .summarize ? size / 4 : size / 8
            let dropped = try window.trim(to: size - answered - room - spare, for: model)
            if policy == .summarize {
                window.summary = try await Summary(model: model).make(of: dropped, after: window.summary)
            }
            prompt = try window.prompt(for: model)
            request.session.omit(dropped, window.summary)
        }
        guard prompt.tokens.count + answered < size else {
            let and = answered == 0 ? "" : " and an answer of \(answered) so far"
            throw LanguageModelError.contextSizeExceeded(
                .init(
                    contextSize: size, tokenCount: prompt.tokens.count + answered,
                    debugDescription:
                        "The conversation has \(prompt.tokens.count) tokens\(and), the model's context \(size)."))
        }
        return prompt
    }
}

extension LocalLLM.Usage {
    /// The sum with the usage of a continuation of the same message, whose prompt is not counted again.
    fileprivate func continued(by more: LocalLLM.Usage) -> Self {
        var more = more
        (more.promptTokens, more.cachedTokens) = (0, 0)
        return adding(more)
    }
}
