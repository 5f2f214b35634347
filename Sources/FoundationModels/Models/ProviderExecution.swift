import Constraint
import LocalLLM

/// Answers a request of a session by a provider: a model of this machine, or a service.
struct ProviderExecution {
    let provider: any Provider
    var useCase = SystemLanguageModel.UseCase.general
    var guardrails = SystemLanguageModel.Guardrails.default

    func respond(
        to request: LanguageModelExecutorGenerationRequest, into channel: LanguageModelExecutorGenerationChannel
    ) async throws {
        let answer = try await namingErrors { [self] in
            try await provider.begin(try conversation(request), guardrail: guardrails)
        }
        var events = DeltaEvents()
        var isWhole = false
        do {
            for stream in answer.streams {
                for try await delta in stream {
                    for event in events.read(delta) { await channel.send(event) }
                    guard let finish = delta.finish else { continue }
                    isWhole = true
                    await channel.send(.usage(.init(finish.usage, reasoningTokens: finish.reasoningTokens)))
                }
            }
        } catch {
            throw named(error)
        }
        // A cancelled task's stream ends without a `finish`.
        guard isWhole else { throw CancellationError() }
    }

    private func conversation(_ request: LanguageModelExecutorGenerationRequest) throws -> ConversationRequest {
        let enabled = request.enabledToolDefinitions
        // Instructions that list none of the tools are from before there were any.
        let told = Set((request.transcript.leading?.toolDefinitions ?? []).map(\.name))
        let listed = told.isDisjoint(with: enabled.map(\.name)) ? Set(enabled.map(\.name)) : told
        let tools = try ToolOffer(enabled, listed: listed, request.generationOptions.toolCallingMode)
        let format = try request.schema.map { ContentFormat(.jsonSchema(try $0.enforcedSchema), name: $0.name) }
        let window = ConversationWindow(
            request.transcript, for: useCase, tools: tools, format: format,
            reasoningLevel: request.contextOptions.reasoningLevel)
        var conversation = window.request()
        conversation.sampling = SamplingOptions(request.generationOptions)
        return conversation
    }
}

/// Turns the deltas of a choice into events.
struct DeltaEvents {
    private var calls: [(id: String, name: String)] = []

    mutating func read(_ delta: ChoiceDelta) -> [LanguageModelExecutorGenerationChannel.Event] {
        var events: [LanguageModelExecutorGenerationChannel.Event] = []
        // The tokens of a delta are those of its text; a delta that has both is rare, and counts them once.
        var tokens = delta.ids.count
        func counted() -> Int {
            defer { tokens = 0 }
            return tokens
        }
        if !delta.reasoning.isEmpty {
            events.append(.reasoning(action: .appendText(delta.reasoning, tokenCount: counted())))
        }
        if !delta.content.isEmpty {
            events.append(.response(action: .appendText(delta.content, tokenCount: counted())))
        }
        for call in delta.calls {
            if call.index >= calls.count { calls.append((call.id ?? .unique("call_"), call.name ?? "")) }
            guard calls.indices.contains(call.index) else { continue }
            let known = calls[call.index]
            events.append(
                .toolCalls(
                    action: .toolCall(
                        id: known.id, name: known.name,
                        action: .appendArguments(call.arguments, tokenCount: counted()))))
        }
        return events
    }
}

extension LanguageModelExecutorGenerationChannel.Event {
    /// The counts of a message, which belong to no entry of it.
    static func usage(_ usage: LanguageModelSession.Usage) -> Self {
        .response(
            action: .updateUsage(
                input: .init(
                    totalTokenCount: usage.input.totalTokenCount, cachedTokenCount: usage.input.cachedTokenCount),
                output: .init(
                    totalTokenCount: usage.output.totalTokenCount,
                    reasoningTokenCount: usage.output.reasoningTokenCount)))
    }
}
