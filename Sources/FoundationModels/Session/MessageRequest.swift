import Constraint
import Foundation
import LocalLLM

/// One message that a session asks its model for.
struct MessageRequest: Sendable {
    let session: LanguageModelSession
    let model: any LanguageModel
    /// What the model is to read, before turns are left out for lack of space.
    var transcript: Transcript
    let tools: SessionTools
    /// Schema of the message unless it is calls; `nil`: text.
    let format: Transcript.ResponseFormat?
    let options: GenerationOptions
    let context: ContextOptions
    let metadata: [String: GeneratedContent]

    /// Generates the message. Where the conversation is too long, older turns are left out as the session's policy says.
    ///
    /// - Parameter show: Called with the message so far whenever it grows.
    #if compiler(>=6.2)
        @concurrent
    #endif
    func message(_ show: @Sendable (GeneratedMessage) -> Void) async throws -> GeneratedMessage {
        guard let system = model as? SystemLanguageModel else { return try await ask(model, show) }
        let local = try await system.host.model()
        if context.reasoningLevel != nil, !system.capabilities.contains(.reasoning) {
            throw LanguageModelError.unsupportedCapability(
                .init(capability: .reasoning, debugDescription: "\(local.info.name) does not reason."))
        }
        return try await LocalMessage(request: self, system: system, model: local).generate(show)
    }

    /// Prefills the prefix that every next prompt shares, in the background, if the model is in memory.
    ///
    /// The cache holds the last answer as it was decoded, one token at a time, which rounds differently from prefill;
    /// and for reasoning models the template renders that answer differently in the next turn. Where this matters, the
    /// prefix is computed again while the user still reads.
    ///
    /// - Parameter prefix: Known beginning of the next prompt.
    #if compiler(>=6.2)
        @concurrent
    #endif
    func warm(prefix: String = "") async {
        guard let system = model as? SystemLanguageModel else { return session.executors.prewarm(model, transcript) }
        guard let local = try? await system.host.model(), let window = try? window(for: system) else { return }
        // Images are computed when a prompt is answered, and found in the prefix cache by the next.
        guard !window.hasImages, let tokens = try? window.beginning(for: local, prefix: prefix), !tokens.isEmpty else {
            return
        }
        var sampling = SamplingOptions(options)
        sampling.maximumTokens = 1
        session.keep(local.generate(tokens: tokens, options: sampling))
    }

    func window(for system: SystemLanguageModel, images: [String: ModelImage] = [:]) throws -> ConversationWindow {
        let content = try format.map { ContentFormat(.jsonSchema(try $0.schema.enforcedSchema), name: $0.name) }
        return ConversationWindow(
            transcript, for: system.useCase, tools: try tools.offer(options.toolCallingMode), images: images,
            format: content, reasoningLevel: context.reasoningLevel)
    }

    /// Asks an executor. If the conversation is too long for it, the older half of the turns is dropped, and so on.
    private func ask(
        _ model: some LanguageModel, _ show: @Sendable (GeneratedMessage) -> Void
    ) async throws -> GeneratedMessage {
        var window = ConversationWindow(transcript)
        while true {
            let request = LanguageModelExecutorGenerationRequest(
                id: UUID(), transcript: window.transcript,
                enabledTools: options.toolCallingMode == .disallowed ? [] : tools.definitions, schema: format?.schema,
                generationOptions: options, contextOptions: context, metadata: metadata)
            try model.capabilities.check(request)
            do {
                return try await session.executors.message(of: model, to: request, show)
            } catch {
                let error = named(error)
                guard case LanguageModelError.contextSizeExceeded = error, window.turns.count > 1,
                    session.contextOverflowPolicy != .fail
                else { throw error }
                let dropped = window.dropOlderHalf()
                if session.contextOverflowPolicy == .summarize {
                    window.summary = try await Summary.make(
                        of: dropped, after: window.summary, by: model, session.executors)
                }
                session.omit(dropped, window.summary)
            }
        }
    }
}

extension LanguageModelSession {
    /// Notes in the transcript that turns are no longer read.
    func omit(_ turns: [ConversationWindow.Turn], _ summary: String?) {
        let omission = Transcript.Omission(entryIDs: turns.flatMap { $0 }.map(\.id), summary: summary)
        observedTranscript.update { $0.record(omission) }
    }
}

extension ExecutorStore {
    func prewarm(_ model: some LanguageModel, _ transcript: Transcript) {
        try? executor(for: model).prewarm(model: model, transcript: transcript)
    }
}
