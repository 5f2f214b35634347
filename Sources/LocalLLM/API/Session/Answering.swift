import Constraint
import Dialects
import Foundation

/// One answer: fits the conversation into the context, generates, and makes room again when the context fills up.
struct Answering {
    /// What generates the messages.
    enum Engine {
        case local(LocalModel)
        case provider(any Provider)

        /// What the transcript names as the origin of a response.
        var assetIDs: [String] { if case .local(let model) = self { [model.info.name] } else { [] } }
    }

    let session: LanguageModelSession
    let engine: Engine
    let options: GenerationOptions
    /// Token counts so far.
    var usage = Usage.none

    init(session: LanguageModelSession, engine: Engine, options: GenerationOptions) {
        self.session = session
        self.engine = engine
        self.options = options
    }

    /// Answers the last prompt of the session's transcript.
    ///
    /// - Parameters:
    ///   - format: Schema of the answer; `nil`: text.
    ///   - show: Called with the answer so far whenever it grows.
    mutating func run(
        _ format: Transcript.ResponseFormat?, _ show: (LanguageModelSession.Progress) -> Void
    ) async throws -> GeneratedContent {
        let id = GenerationID()
        let tools = try SessionTools(session.tools)
        var images: [String: ModelImage] = [:]
        if case .local(let model) = engine { images = try await model.images(of: session.transcript) }
        var (texts, thoughts): ([String], [String]) = ([], [])
        var callCount = 0
        while true {
            let message = try await generate(format, tools, images) { text, thought in
                var progress = LanguageModelSession.Progress(content: GeneratedContent(text))
                if format != nil {
                    guard let content = try? GeneratedContent(json: text, id: id) else { return }
                    progress.content = content
                }
                progress.reasoning = (thoughts + [thought]).paragraphs
                progress.earlierText = texts.paragraphs
                progress.callCount = callCount
                show(progress)
            }
            thoughts.append(message.reasoning)
            if !message.reasoning.isBlank {
                session.observedTranscript.update {
                    $0.append(.reasoning(.init(segments: .init(text: message.reasoning))))
                }
            }
            if message.calls.isEmpty {
                guard let format else { return GeneratedContent(message.content) }
                let content = try GeneratedContent(json: message.content, id: id)
                guard content.isComplete else {
                    throw content.failure("expected a whole \(format.name), but the answer reached its maximum length")
                }
                return content
            }
            let calls = try message.calls.map { call in
                Transcript.ToolCall(
                    id: call.id ?? .unique("call_"), toolName: call.name ?? "",
                    arguments: try GeneratedContent(json: call.arguments.isEmpty ? "{}" : call.arguments))
            }
            callCount += calls.count
            if format == nil {
                // Readers of the stream learn of the calls after the text that precedes them.
                show(
                    .init(
                        content: GeneratedContent(message.content), reasoning: thoughts.paragraphs,
                        earlierText: texts.paragraphs, callCount: callCount))
            }
            let outputs = try await tools.run(calls)
            texts.append(message.content)
            if !message.content.isBlank {
                let said = Transcript.Response(
                    assetIDs: engine.assetIDs, segments: .init(text: message.content))
                session.observedTranscript.update { $0.append(.response(said)) }
            }
            session.observedTranscript.update { transcript in
                transcript.append(.toolCalls(.init(calls)))
                for output in outputs { transcript.append(.toolOutput(output)) }
            }
        }
    }

    /// Generates the model's next message.
    ///
    /// - Parameters:
    ///   - format: Schema of the message unless it is tool calls; `nil`: text.
    ///   - show: Called with the content and the reasoning so far whenever they grow.
    private mutating func generate(
        _ format: Transcript.ResponseFormat?, _ tools: SessionTools, _ images: [String: ModelImage],
        _ show: (String, String) -> Void
    ) async throws -> ChoiceDelta {
        let content = try format.map { ContentFormat(.jsonSchema(try $0.schema.enforcedSchema), name: $0.name) }
        var window = ConversationWindow(
            session.transcript, for: session.model.useCase, tools: tools, images: images, format: content)
        switch engine {
        case .local(let model): return try await generate(&window, with: model, tools, show)
        case .provider(let provider): return try await ask(provider, &window, show)
        }
    }

    /// Maximum tokens of the answer.
    private var limit: Int? { SamplingOptions(options).maximumTokens }

    private mutating func generate(
        _ window: inout ConversationWindow, with model: LocalModel, _ tools: SessionTools,
        _ show: (String, String) -> Void
    ) async throws -> ChoiceDelta {
        var prompt = try await fit(&window, answered: 0, model)
        var text = AnswerText(try model.tokenizer, after: prompt, tools: tools.offer, session.model.guardrails)
        var sampling = SamplingOptions(options)
        sampling.constraint = try model.constraint(for: window.request(), after: prompt) { _ in }
        var answer: [Int32] = []
        var finish: GenerationPiece.Finish?
        while true {
            sampling.maximumTokens = limit.map { $0 - answer.count }
            finish = nil
            for try await piece in model.generate(prompt.prompt + answer, options: sampling) {
                answer += piece.tokens
                finish = piece.finish
                if try text.add(piece.tokens) { show(text.whole.content, text.whole.reasoning) }
            }
            // A cancelled task's stream ends without a `finish`.
            guard let finish else { throw CancellationError() }
            usage = usage == .none ? finish.usage : usage.adding(finish.usage)
            // A value is constrained from its beginning, so a cut-off one cannot be continued.
            guard finish.reason == .length, answer.count < limit ?? .max, window.format == nil
            else {
                break
            }
            prompt = try await fit(&window, answered: answer.count, model)
            // Later calls in such a long text are parsed, but not constrained to their schemas.
            sampling.constraint = nil
        }
        if let finish, try text.finish(finish) { show(text.whole.content, text.whole.reasoning) }
        return text.whole
    }

    /// Renders the conversation, with room for an answer after it: the limit of the answer, else an eighth of the
    /// context. If turns must be dropped, another eighth is freed so that the next turns fit too.
    ///
    /// - Parameter answered: Tokens of the answer generated so far.
    private func fit(
        _ window: inout ConversationWindow, answered: Int, _ model: LocalModel
    ) async throws -> ConversationPrompt {
        let size = model.contextSize
        let policy = session.contextOverflowPolicy
        var prompt = try window.prompt(for: model)
        let room = min(limit.map { $0 - answered } ?? size / 8, size / 2)
        if prompt.tokens.count + answered + room > size, window.turns.count > 1, policy != .throwError {
            let spare = policy == .summarize ? size / 4 : size / 8
            let dropped = try window.trim(to: size - answered - room - spare, for: model)
            if policy == .summarize {
                window.summary = try await Summary(model: model).make(of: dropped, after: window.summary)
            }
            prompt = try window.prompt(for: model)
            omit(dropped, window.summary)
        }
        guard prompt.tokens.count + answered < size else {
            let and = answered == 0 ? "" : " and an answer of \(answered) so far"
            throw LanguageModelSession.GenerationError.exceededContextWindowSize(
                .init(
                    "The conversation has \(prompt.tokens.count) tokens\(and), the model's context \(size).",
                    contextSize: size, tokenCount: prompt.tokens.count + answered))
        }
        return prompt
    }
}

extension Answering {
    /// Asks a provider for the next message. If the conversation is too long for it, the older half of the turns is
    /// dropped, and so on.
    private mutating func ask(
        _ provider: any Provider, _ window: inout ConversationWindow, _ show: (String, String) -> Void
    ) async throws -> ChoiceDelta {
        while true {
            var request = window.request()
            request.sampling = SamplingOptions(options)
            do {
                let answer = try await provider.begin(request, guardrail: session.model.guardrails)
                var whole = ChoiceDelta(choice: 0)
                for stream in answer.streams {
                    for try await delta in stream {
                        whole += delta
                        if !delta.content.isEmpty || !delta.reasoning.isEmpty { show(whole.content, whole.reasoning) }
                    }
                }
                // A cancelled task's stream ends without a `finish`.
                guard let finish = whole.finish else { throw CancellationError() }
                usage = usage == .none ? finish.usage : usage.adding(finish.usage)
                return whole
            } catch  where isTooLong(error) {
                let policy = session.contextOverflowPolicy
                guard window.turns.count > 1, policy != .throwError else {
                    throw LanguageModelSession.GenerationError.exceededContextWindowSize(
                        .init(debugDescription: "The conversation is too long for the provider: \(error)"))
                }
                let dropped = window.dropOlderHalf()
                if policy == .summarize {
                    window.summary = try await Summary.make(of: dropped, after: window.summary, by: provider)
                }
                omit(dropped, window.summary)
            }
        }
    }

    /// Notes in the transcript that turns are no longer read.
    private func omit(_ turns: [ConversationWindow.Turn], _ summary: String?) {
        let omission = Transcript.Omission(entryIDs: turns.flatMap { $0 }.map(\.id), summary: summary)
        session.observedTranscript.update { $0.append(omission) }
    }
}

/// Whether a provider refused a conversation for its length.
private func isTooLong(_ error: any Error) -> Bool {
    switch error {
    case let error as any ProviderError: error.isConversationTooLong
    case LocalModelError.contextSizeExceeded: true
    case LanguageModelSession.GenerationError.exceededContextWindowSize: true
    default: false
    }
}

extension [String] {
    /// The non-empty texts, joined as paragraphs.
    fileprivate var paragraphs: String { filter { !$0.isEmpty }.joined(separator: "\n\n") }
}

extension String {
    fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }
}

extension Usage {
    /// The sum with the usage of the continuation.
    fileprivate func adding(_ more: Usage) -> Usage {
        var sum = self
        sum.completionTokens += more.completionTokens
        sum.decodeSeconds += more.secondsToFirstToken + more.decodeSeconds
        sum.samplingSeconds += more.samplingSeconds
        return sum
    }
}
